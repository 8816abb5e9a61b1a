"""Runs: parameters, data and results of a selection, and the folder that holds them.

``selected.csv``    feature, name, relevance, arrival of each kept feature
``log.parquet``     one row per feature: verdict, reason, numbers, what decided
``events.parquet``  every decision of the rule, in order, exactly
``run.json``        parameters, data, versions, cost
``state.sqlite``    the state to resume from (see `tamis.engine.persistent`), if the method has one

Reading a run needs no selector and no pickle: a folder from someone else cannot run code.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis._registry import BATCH_METHODS, load
from tamis.core.certificate import Certificate, p_values_of
from tamis.core.decisions import DecisionLog
from tamis.core.errors import DAMAGE, InputError, SourceError
from tamis.core.false_keeps import FalseKeeps
from tamis.core.files import (
    MARKERS,
    atomic_folder,
    check_record,
    file_checksum,
    reason,
    recover_missing,
    refuse_unreadable,
    with_checksum,
)
from tamis.core.judged import Judged
from tamis.core.masking import masked
from tamis.core.notebook import card, listed
from tamis.core.sentences import counted, join
from tamis.core.stand_ins import StandIn
from tamis.engine.log_tables import describe_log, read_log, write_events, write_log

FORMAT_VERSION = 1

RUN_FIELDS = (
    "method", "parameters", "measure", "measure_reason", "source", "work", "seconds",
    "peak_megabytes", "versions", "command", "trust", "procedure",
)  # fmt: skip

#: Facts about the data that are shown elsewhere, or nowhere: the others are notes.
PLACED = {
    "format", "axis", "n_rows", "n_columns", "stored", "layout", "target", "fingerprint", "details",
    "missing", "encoded", "name", "task", "target_name", "given",
}  # fmt: skip
#: The share of luck among certified features, if nobody asked for another.
SURE = 0.1
#: The files of the log.
LOG_FILES = ("log.parquet", "events.parquet")
#: Columns of selected.csv.
SELECTED = ("feature", "name", "relevance", "arrival")


@dataclass(repr=False)
class Run:
    """One run: parameters, data, decisions and cost. Reports read only this.

    Attributes
    ----------
    log : DecisionLog
        What happened to every feature, and why.
    method, parameters, measure, measure_reason : str, dict, str, str
        The selector, as it was set up, and the measure it used, with the reason for it;
        both empty for methods without one.
    source : dict
        Format, shape, target and fingerprint of the data.
    work, seconds, peak_megabytes : dict, dict, float
        Counted work, times by stage, and the most memory the process held.
    versions : dict
        tamis, Python and the libraries that computed.
    command : str
        The command of the run.
    trust : dict
        What is known about how far the selection can be trusted, as plain values.
    procedure : dict
        How it selected, as plain values; empty if these cannot say it.
    selector : selector or None
        The fitted selector; None for a run read from a folder.
    state : SelectionState or None
        What is needed to feed more columns; only with ``tamis.select(..., keep_state=True)``.
    """

    log: DecisionLog
    method: str
    parameters: dict[str, str]
    measure: str
    measure_reason: str
    source: dict[str, Any]
    work: dict[str, int]
    seconds: dict[str, float]
    peak_megabytes: float
    versions: dict[str, str]
    command: str = ""
    trust: dict[str, Any] = field(default_factory=dict)
    procedure: dict[str, Any] = field(default_factory=dict)
    #: The procedure itself, if the run is not from a folder.
    repeatable: Any = field(default=None, compare=False)
    selector: Any = field(default=None, compare=False)
    state: Any = field(default=None, compare=False)

    @classmethod
    def of(cls, log: DecisionLog, record: Mapping[str, Any]) -> Run:
        """Return a run from what run.json says about it, perhaps of an earlier version."""
        known = {"trust": {}, "procedure": {}, **record}  # earlier versions did not have them
        return cls(log=log, **{key: known[key] for key in RUN_FIELDS})

    @property
    def false_keeps_(self) -> FalseKeeps:
        """How many of the kept features are expected to be false, with ``shadows=3``."""
        if "false_keeps" not in self.trust:
            raise AttributeError("the run has no shadow worlds; select with shadows=3")
        return FalseKeeps.of(self.trust["false_keeps"])

    def certificate(self, alpha: float = 0.1) -> Certificate:
        """Return the largest part of the kept features that is certified at `alpha`.

        On average at most a share `alpha` of these are independent of the target, however the
        columns depend on each other and however they were selected.
        """
        return certificate_of(self, alpha, by_arrival=False)

    @property
    def choices(self) -> dict[str, str]:
        """What was chosen for the task and the measure, and why: one sentence for each."""
        found = {"task": (self.source.get("task", ""), self.source.get("task_reason", ""))}
        found["measure"] = (self.measure, self.measure_reason)
        return {
            name: f"{choice}, because {why}" if why else choice
            for name, (choice, why) in found.items() if choice
        }  # fmt: skip

    @property
    def kept_names(self) -> list[str]:
        """Names of the kept features, in order of arrival."""
        return [self.log.names[feature] for feature in self.log.replay()]

    def kept_rows(self) -> list[dict[str, Any]]:
        """Return feature number, name, relevance and arrival of each kept feature."""
        return kept_rows(self.log)

    @property
    def scores_(self) -> npt.NDArray[np.float64]:
        """Relevance of each feature to the target; NaN where it was not measured."""
        return self.log.scores

    @property
    def support_(self) -> npt.NDArray[np.bool_]:
        """Whether each feature is kept."""
        return self.log.support

    @property
    def ranking_(self) -> npt.NDArray[np.int64]:
        """Kept features, best first: in the order of a batch method, else by relevance."""
        ranking = getattr(self.selector, "ranking_", None)
        if ranking is not None:
            return np.asarray(ranking)
        in_batch = self.method in BATCH_METHODS or not self.log.is_in_order
        return self.log.ranking(as_kept=in_batch)

    def to_frame(self) -> Any:
        """Return what happened to each feature, as a pandas data frame with one row each."""
        return self.log.to_pandas()

    def judge(self, data: Any, y: Any = None, **how: Any) -> Judged:
        """Score the whole procedure of the run on rows that it did not see.

        Parameters
        ----------
        data, y
            The data that was selected from, as for `tamis.select`.
        **how
            ``cv``, ``model``, ``row_groups`` and so on, as for `tamis.judge`.

        Examples
        --------
        >>> import numpy as np, tamis
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 100)
        >>> X = rng.normal(size=(100, 30)) + y[:, np.newaxis] * (np.arange(30) < 3)
        >>> run = tamis.select(X, "saola", y)
        >>> print(f"{run.judge(X, y).kept.mean:.2f}")
        0.79
        """
        found: Judged = load("tamis.evaluate.honest_score:judge")(data, self, y, **how)
        self.trust["judged"] = found.record()
        return found

    def stability(self, data: Any, y: Any = None, **how: Any) -> Any:
        """Return how far halves of the rows lead to the same features.

        Parameters
        ----------
        data, y
            The data that was selected from, as for `tamis.select`.
        **how
            ``pairs``, ``row_groups`` and so on, as for `tamis.stability`.
        """
        found = load("tamis.evaluate.halves:stability")(data, self, y, **how)
        self.trust["stability"] = found.record()
        return found

    def transform(self, X: Any) -> Any:
        """Return the kept columns of a table, as a table of the same kind.

        Parameters
        ----------
        X : pandas, polars or Arrow table, array or scipy sparse matrix
            Columns with the names that the run selected by, or all its columns in their order.
        """
        from tamis.engine.kept_columns import kept_columns  # which knows tables

        return kept_columns(self.log, X, self.source.get("arranged"))

    def apply(self, data: Any, out: str | os.PathLike[str], **options: Any) -> Any:
        """Write the kept columns of data to a file or a store, as ``tamis apply`` does.

        Parameters
        ----------
        data : path, Source, array, data frame or Arrow table
            New data, or the data of the run, of any size.
        out : path
            NAME.parquet, .arrow, .csv, .tsv, .npy, .npz, .svm, .cols or .rows.
        **options
            ``force=True`` replaces an existing file, ``progress=`` is called during the work;
            the others say how data is read, as in ``tamis.open``.
        """
        from tamis.engine.applying import apply_run  # which knows sources

        return apply_run(self, data, out, **options)

    @property
    def notes(self) -> list[str]:
        """How the data was taken: the target, the measure, and any note about the data."""
        called = self.source.get("target_name")
        target = f"The target{f' {called!r}' if called else ''} holds {self.source['target']}"
        notes = [target if target.endswith("...") else f"{target}."]
        notes += [f"The {name} is {choice}." for name, choice in self.choices.items()]
        if given := self.source.get("given"):
            notes.append(f"Adjusted for {', '.join(given)}.")
        if words := missing_words(self.source):
            notes.append(f"Missing: {words}.")
        if dates := self.source.get("details", {}).get("dates_left_out"):
            notes.append(f"Dates were left out: {', '.join(dates)}.")
        if self.log.stopped:
            notes.append(f"It {self.log.stopped}.")
        for key, value in self.source.items():
            if key in PLACED or key.endswith("_reason") or value in (None, "", [], {}):
                continue
            if key in ("note", "notes"):
                found = [value] if isinstance(value, str) else map(str, value)
                notes += [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in found]
                continue
            if isinstance(value, dict):
                value = ", ".join(f"{name}={given}" for name, given in value.items())
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            why = _because(self.source.get(f"{key}_reason"))
            notes.append(f"{key.replace('_', ' ')}: {text}{why}")
        return notes

    def _repr_html_(self) -> str:
        """Return a card for a notebook: counts, the strongest kept features, and the notes."""
        name = self.source.get("name") or f"{self.source['format']} data"
        title = (
            f"{self.method} kept {self.log.counts()['kept']:,} of "
            f"{counted(len(self.log), 'feature')} on {counted(self.source['n_rows'], 'row')} "
            f"of {name}"
        )
        ask = "Ask <code>.why(name)</code> about any feature; <code>.to_frame()</code> lists them."
        return card(title, *self.log.card_parts(), listed(self.notes), ask)

    def __repr__(self) -> str:
        about = f" on {self.source['name']}" if self.source.get("name") else ""
        counts = ", ".join(f"{n:,} {word}" for word, n in self.log.counts().items() if n)
        of = counted(len(self.log), "feature")
        return f"<Run of {self.method}{about}, {of}: {counts or 'none yet'}>"

    def why(self, feature: int | str) -> str:
        """Explain in one sentence what happened to a feature, or why a column is none."""
        if isinstance(feature, str) and (left_out := self.left_out(feature)):
            return left_out
        return self.with_encoding(self.log.number(feature), self.log.why(feature))

    def left_out(self, column: str) -> str:
        """Return why a column of the data is not a feature; "" if it is one, or is not known."""
        source = self.source
        details = source.get("details") or {}
        roles = {
            "it is the target": [source.get("target_name")],
            "it is the key, which says which row is which": [source.get("key")],
            "it holds the weights of the rows": [source.get("weights")],
            "it says which rows belong together": [source.get("row_groups")],
            "it is a covariate, which the others are adjusted for": source.get("given") or [],
            "it holds dates; --dates number (dates='number') takes them as days": (
                details.get("dates_left_out") or []
            ),
            "it was ignored on request (--ignore, ignore=)": details.get("ignored") or [],
        }
        why = next((why for why, names in roles.items() if column in names), "")
        if f", {column!r}," in f", {details.get('row_labels_passed_over', '')},":
            why = "it labels the rows"
        is_feature = not why or self.log.names.find(column) is not None
        return "" if is_feature else f"{column} is not among the features: {why}"

    def instead(self, feature: int | str) -> list[StandIn]:
        """Return the features that could take the place of a feature, the most relevant first.

        These are the features of its class: those that fell to the same kept feature, directly or
        one through the other. Each has its relevance, what would be lost, and its dependence on the
        feature to which it fell.
        """
        return self.log.instead(feature)

    def with_encoding(self, feature: int, sentence: str) -> str:
        """Add how a feature was encoded, if it was, to a sentence about it."""
        facts = self.source.get("encoded", {}).get(str(feature))
        added = "" if facts is None else encoded_words(facts, self.source["missing"])
        return f"{sentence}; {added}" if added else sentence


def certificate_of(run: Run, alpha: float, *, by_arrival: bool) -> Certificate:
    """Return the certificate of a run; by arrival if more columns may follow."""
    if str(run.source.get("encode", "")).startswith("MDLP"):
        raise InputError(
            "columns were cut where the class changes (encode='mdlp'), so their p-values are too "
            "small to certify anything; select with another encoder, or without one"
        )
    columns = run.trust.get("gate", {}).get("reachable")
    given = run.source.get("given") or ()
    return Certificate.of(run.log, alpha, by_arrival=by_arrival, columns=columns, given=given)


def trust_words(trust: Mapping[str, Any]) -> dict[str, str]:
    """Return what is known about how far a selection can be trusted: a name, then a sentence."""
    found = {}
    if "false_keeps" in trust:
        found["luck"] = str(FalseKeeps.of(trust["false_keeps"]))
    if "gate" in trust:
        found["gate"] = gate_words(trust["gate"])
    if "stability" in trust:
        found["stability"] = str(trust["stability"]["sentence"])
    if "judged" in trust:
        found["judged"] = str(Judged.of(trust["judged"]))
    return found


def unasked_words(run: Run, folder: str = "RUN") -> dict[str, str]:
    """Return what p-values say about luck if neither a gate nor shadow worlds were asked for.

    Of columns that have nothing to do with the target, a share of alpha passes the test. Nothing is
    said without valid p-values (also after cuts where the class changes), or if a method keeps what
    does not pass.
    """
    features, can = run.log.replay(), run.parameters.keys()
    asked = run.trust.keys() & {"gate", "false_keeps"}
    # Rows that belong together have no valid p-values, and columns after a stop were not tested.
    if not features or "fdr" not in can or asked or run.source.get("row_groups"):
        return {}
    try:
        found = certificate_of(run, SURE, by_arrival=False)
    except InputError:  # there are no valid p-values
        return {}
    n = len(run.log) - run.log.counts().get("unexamined", 0)
    alpha, kept = float(run.log.template_fields["alpha"]), len(features)
    if p_values_of(run.log, features).max() > 1.01 * alpha:
        return {}
    passing = f"{n * alpha:,.0f}" if n * alpha >= 0.95 else f"{n * alpha:.1g}"
    more = f"--fdr {SURE:g} limits their share"
    if "shadows" in can:
        more = f"--shadows 3 estimates how many of the {kept:,} kept did"
    return {
        "luck": f"chance alone lets about {passing} of {counted(n, 'column')} pass the test at "
        f"{alpha:g}; {more}",
        "certified": f"{len(found.features):,} of {counted(kept, 'kept feature')}, at most "
        f"{100 * SURE:g} % of them luck; tamis status {folder} --certify {SURE:g} names them",
    }


def gate_words(gate: Mapping[str, Any]) -> str:
    """Return where a gate stands, in one sentence."""
    found = counted(gate["finds"], "find")
    text = f"{gate['title']} at a false discovery rate of {gate['fdr']:g}: {found} in "
    text += counted(gate["tests"], "test")
    if not gate["wealth"]:
        return text
    return f"{text}; the next level is at most {gate['level']:.3g}, wealth {gate['wealth']:.3g}"


def _because(reason: Any) -> str:
    return f", because {reason}" if reason else ""


def missing_words(source: dict[str, Any]) -> str:
    """Return how many values are missing, and what became of them; empty if none may be."""
    missing = source.get("missing", {"policy": "error"})
    if missing["policy"] == "error" or (missing["policy"] == "auto" and not missing["gaps"]):
        return ""
    owner = "its" if missing["gaps"] == 1 else "their"
    auto = f"a bin of {owner} own, or the middle rank if there are few"
    if source.get("given") or source.get("weights"):
        auto = f"the mean of {owner} column, and a bin of {owner} own if there are many"
    became = {
        "auto": auto,
        "delete": "left out of each comparison", "category": f"a category of {owner} own",
    }[missing["policy"]]  # fmt: skip
    values, columns = counted(missing["gaps"], "value"), counted(missing["columns"], "column")
    return f"{values} in {columns}, {became}"


def unencoded(gaps: int, columns: int) -> dict[str, Any]:
    """Return what a run records if columns pass unchanged: the missing values that were allowed."""
    policy = "auto" if gaps else "error"
    return {"missing": {"policy": policy, "gaps": int(gaps), "columns": int(columns)}}


def encoded_how(source: dict[str, Any]) -> dict[str, str]:
    """Return the encoder and the policy for missing values, if they are not the defaults."""
    missing = source.get("missing", {"policy": "error"})
    settings = {"encode": source.get("encode", ""), "missing": missing["policy"]}
    return {key: str(word) for key, word in settings.items() if word not in ("", "error")}


def encoded_words(facts: dict[str, Any], missing: dict[str, Any]) -> str:
    """Return how one feature was encoded, as the end of a sentence; empty if it was not.

    >>> encoded_words({"cuts": [2.45, 4.75], "gaps": 3}, {"policy": "category"})
    'its values were cut at 2.45 and 4.75, and 3 missing values are a category of their own'
    """
    parts = []
    if facts["cuts"]:
        cuts = join([f"{cut:.6g}" for cut in facts["cuts"]])
        parts.append(f"its values were cut at {cuts}")
    if facts["gaps"]:
        owner = "its" if facts["gaps"] == 1 else "their"
        became = {
            "category": f"a category of {owner} own", "delete": "left out of each comparison",
        }[missing["policy"]]  # fmt: skip
        gaps = counted(facts["gaps"], "missing value is", "missing values are")
        parts.append(f"{gaps} {became}")
    return ", and ".join(parts)


# --- the folder ------------------------------------------------------------------------------


def save_run(run: Run, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a run to a folder, completely or not at all.

    Columns can be fed later to a run of ``tamis.select(..., keep_state=True)``.
    """
    with atomic_folder(folder, "run", force=force) as work:
        if run.state is not None:
            run.state.create(work, run)
        else:
            with (work / "log.parquet").open("wb") as file:
                write_log(run.log, file)
            with (work / "events.parquet").open("wb") as file:
                write_events(run.log, file)
            sums = {name: file_checksum(work / name) for name in LOG_FILES}
            facts = {key: getattr(run, key) for key in RUN_FIELDS}
            for name, text in readable_files(run.log, facts, files=sums).items():
                (work / name).write_bytes(text)
    return Path(folder)


#: Matches names that need no escape.
_PLAIN_NAME = re.compile(r"\w+", re.ASCII).fullmatch


def safe_name(name: str) -> str:
    """Return a name that a spreadsheet shows, and does not run as a formula.

    A name that begins with ``=``, ``+``, ``-`` or ``@`` gets an apostrophe in front, as people
    type it; control characters are escaped. `log.parquet` has the names as they are.
    """
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
    return "'" + shown if shown.startswith(("=", "+", "-", "@")) else shown


def kept_rows(log: DecisionLog) -> list[dict[str, Any]]:
    """Return feature number, name, relevance and arrival of each kept feature."""
    kept = log.replay()
    relevance = log.relevances_of(np.array(kept, dtype=np.int64)).tolist()
    return [
        {"feature": f, "name": log.names[f], "relevance": r, "arrival": f}
        for f, r in zip(kept, relevance, strict=True)
    ]


def readable_files(
    log: DecisionLog, facts: Mapping[str, Any], *, finished: bool = True, **more: Any
) -> dict[str, bytes]:
    """Return selected.csv and run.json of a run, in the order in which they are written.

    `facts` are the `RUN_FIELDS` of the run. There is no selected.csv while the run is not finished,
    or if no feature is kept: a table without rows would look like an answer.
    """
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, SELECTED)
    writer.writeheader()
    kept = kept_rows(log)
    writer.writerows(
        row if _PLAIN_NAME(row["name"]) else row | {"name": safe_name(row["name"])} for row in kept
    )
    record: dict[str, Any] = {"format_version": FORMAT_VERSION}
    record |= {key: facts[key] for key in RUN_FIELDS if key in facts}  # not all of earlier ones
    record["verdicts"] = log.counts()
    record |= describe_log(log) | more
    text = json.dumps(with_checksum(masked(record)), indent=1, ensure_ascii=False) + "\n"
    # Text that is not UTF-8 (a file name in another encoding) is written as a JSON escape.
    files = {"selected.csv": table.getvalue()} if kept and finished else {}
    files["run.json"] = text
    return {name: text.encode("utf-8", "backslashreplace") for name, text in files.items()}


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Read a run that `save_run` wrote."""
    path = Path(folder)
    recover_missing(path)
    if not (path / MARKERS["run"]).is_file():
        raise SourceError(f"{path} is not a run folder; it has no run.json written by tamis select")
    if os.path.isfile(path / "state.sqlite"):
        from tamis.engine.persistent.saved_selection import read_saved  # which knows what a run is

        return read_saved(path, history=False).run()
    try:
        record = json.loads((path / "run.json").read_text(encoding="utf-8"))
        if record["format_version"] == FORMAT_VERSION:
            record = check_record(record)
            for name in LOG_FILES:  # earlier versions did not record them
                if record.get("files", {}).get(name, "") not in ("", file_checksum(path / name)):
                    raise ValueError(f"{name} has changed since it was written")
            log = read_log(path / "log.parquet", path / "events.parquet", record)
            if log.counts() != record["verdicts"] or len(log.replay()) != log.counts()["kept"]:
                raise ValueError("its files do not belong together")
            return Run.of(log, record)
    except (*DAMAGE, pa.ArrowException) as e:
        refuse_unreadable(path)
        raise SourceError(f"{path} is damaged ({reason(e)}); run tamis select again") from e
    raise SourceError(
        f"{path} was written in format {record['format_version']!r} and this tamis reads format "
        f"{FORMAT_VERSION}; use the tamis that wrote it"
    )
