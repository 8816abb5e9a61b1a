"""Reading the state of a selection: the log alone, or all that it takes to go on.

A folder may come from a stranger: what it says is looked at, and only what tamis knows by name is
made.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
from sklearn.base import clone

from tamis.core.decisions import DecisionLog
from tamis.core.errors import SourceError, TamisError
from tamis.core.log_arrays import Mark, append_names, extend
from tamis.core.target import Target
from tamis.engine.archive import ENCODED_VERSION, FORMAT, STATE, VERSION, Archive
from tamis.engine.durable import DAMAGE, Record, read_file, read_head, read_lines, unpack
from tamis.engine.encoded import Encoding
from tamis.engine.folders import reason
from tamis.engine.known_selectors import selector_from
from tamis.engine.log_files import read_log
from tamis.engine.run import Run
from tamis.engine.stock import Stock
from tamis.engine.views import RUN_FIELDS
from tamis.selectors import FeatureStreamSelector


def _checked_head(folder: Path) -> Record:
    head = read_head(folder / STATE)
    if head["format"] != FORMAT or head["version"] not in (VERSION, ENCODED_VERSION):
        raise TamisError(
            f"{folder} was written in format {head['version']!r} and this tamis reads formats "
            f"{VERSION} and {ENCODED_VERSION}; use the tamis that wrote it"
        )
    return head


def _read_whole_log(folder: Path, head: Record) -> DecisionLog:
    state = folder / STATE
    files = [io.BytesIO(read_file(state, head[key])) for key in ("log", "events")]
    log = read_log(files[0], files[1], head)
    for record in head["segments"]:
        segment = unpack(read_file(state, record))
        width = len(segment["log"]["reason"])
        extend(log, segment["log"])
        append_names(log, segment["names"], width)
    return log


def read_living_run(folder: Path) -> Run:
    """A selection as a run: its log and what is told about it, without what it takes to go on."""
    head = _checked_head(folder)
    return Run(log=_read_whole_log(folder, head), **{key: head["run"][key] for key in RUN_FIELDS})


def read_archive(folder: Path, selector: FeatureStreamSelector | None = None) -> Archive:
    """Read a selection and restore its selector."""
    try:
        return _read(folder, selector)
    except TamisError as error:
        if isinstance(error, SourceError):
            raise _damaged(folder, error) from error
        raise
    except (*DAMAGE, pa.ArrowException) as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: BaseException) -> SourceError:
    return SourceError(
        f"{folder} is damaged ({reason(error)}); take it from a backup, or run tamis select again"
    )


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


def _read(folder: Path, selector: FeatureStreamSelector | None) -> Archive:
    state, head = folder / STATE, _checked_head(folder)
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
    log = _read_whole_log(folder, head)
    if selector is None:
        chosen = selector_from(head["method"], head["selector_parameters"])
    else:
        chosen = clone(selector)
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
