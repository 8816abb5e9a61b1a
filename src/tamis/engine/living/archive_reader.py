"""Reading the state of a selection: all that it takes to go on.

A folder may come from a stranger: what it says is looked at, and only what tamis knows by name is
made.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tamis.core.errors import SourceError
from tamis.core.log_arrays import Mark
from tamis.core.target import Target
from tamis.engine.files.durable import Record, read_file, read_lines, unpack
from tamis.engine.known_selectors import as_selector, selector_from
from tamis.engine.living.archive import Archive
from tamis.engine.living.record import (
    ENCODED_VERSION,
    STATE,
    checked_head,
    read_whole_log,
    told_as_damage,
)
from tamis.engine.living.stock import Stock
from tamis.engine.wrappers.encoded import Encoding

#: A selector that the user gives, or its class, to be made with the parameters in the folder.
#: A rule, an estimator or a selector, or the class of one of the first two.
Given = Any


def read_archive(folder: Path, selector: Given = None) -> Archive:
    """Read a selection and restore its selector."""
    with told_as_damage(folder):
        return _read(folder, selector)


def _empty_stock(head: Record, target: Target, keys: Any) -> Stock:
    """A stock that knows what the rows are called, and how columns are encoded."""
    encoding = None
    if head["version"] == ENCODED_VERSION:
        encoding = Encoding.from_settings(head["encoding"])
    stock = Stock.of(target, keys, head["key"], encoding)
    stock.target_name = head["target_name"]
    if stock.encoded is not None:
        stock.encoded.take_back(head["run"]["source"])
    return stock


def _read(folder: Path, selector: Given) -> Archive:
    state, head = folder / STATE, checked_head(folder)
    rows = unpack(read_file(state, head["rows"]))
    target = Target.of(rows["labels"])
    if target.fingerprint != head["target"]:
        raise SourceError("the target is not the one that the selection was made with")
    stock = _empty_stock(head, target, rows["keys"])
    stock.ledger.add_arrays(unpack(read_file(state, head["ledger"])))
    stored = []
    for record in head["columns"]:
        arrays = unpack(read_file(state, record))
        stock.columns.add_arrays(arrays)
        stored.append((record, arrays["column_features"].tolist()))
    for record in head["segments"]:
        segment = unpack(read_file(state, record))
        stock.ledger.forget(segment["forgotten"])
        stock.ledger.add_arrays(segment["ledger"])
    log = read_whole_log(folder, head)
    chosen: Any
    if selector is None or isinstance(selector, type):
        chosen = selector_from(
            head["method"], head["selector_parameters"], head.get("class"), selector
        )
    else:
        chosen = as_selector(selector)
        if stock.encoded is not None:
            stock.encoded.encoding.prepare(chosen, target)
    if head["selector"] is None:
        chosen.start(target, name_prefix=log.names.prefix, name_base=log.names.base)
        if hasattr(chosen, "measure_"):
            chosen.measure_reason_ = head["run"]["measure_reason"]
    else:
        put_away = unpack(read_file(state, head["selector"]))
        kept = put_away["features"].tolist()
        if kept != log.replay():
            raise SourceError("the log and the kept features do not belong together")
        stock.columns.keep_only(kept)
        chosen.restore(target, put_away, stock.columns.block(kept), log)
    history = read_lines(state, head["history"])
    return Archive(folder, head, chosen, stock, history, stored, [], Mark.of(log))
