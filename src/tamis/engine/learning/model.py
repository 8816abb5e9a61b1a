"""Save a model as a folder of plain files, small enough to ship, and open it again.

``model.json``      the learner, its parameters, its data and errors; classes; checksums
``features.npy``    the kept features by number, in increasing order
``weights.npy``     their weights, one column for two classes, else one per class
``confidence.npy``  how sure the learner is of each
``names.json``      their names, if they have any

There is no pickle: opening a folder from someone else cannot run code. Called by `learn`, the
commands `learn` and `predict`, and the report.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis._version import versions
from tamis.core.errors import DAMAGE, InputError, SourceError
from tamis.core.files import (
    MARKERS,
    atomic_folder,
    check_record,
    read_whole,
    reason,
    recover_missing,
    refuse_unreadable,
    with_checksum,
)
from tamis.core.masking import masked
from tamis.core.notebook import card, html_table, listed
from tamis.core.sentences import counted
from tamis.engine.learning.table_rows import Preparation
from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.regressors import NumberLearner
from tamis.methods.online.scorer import Columns, LinearScorer
from tamis.methods.online.weights import Floats, Ints, ListedWeights

FORMAT_VERSION = 1
MODEL = MARKERS["model"]

#: Features, and classes with their weights, that a notebook shows.
LISTED, MOST_CLASSES = 10, 4

#: Features whose comings and goings model.json lists, the latest first.
MOST_TURNOVER = 1_000

_ARRAYS = ("features", "weights", "confidence")


class SavedModel(LinearScorer):
    """A model read from a folder; predicts like the learner that was saved.

    Memory depends on the number of kept features, not on the number of columns.

    Attributes
    ----------
    kept_, weights_, confidence_ : ndarray
        The kept features by number, in increasing order, their weights, and how sure the learner
        was of each.
    names_ : list of str
        Their names: for svmlight the indices in the file.
    classes_ : ndarray
        The classes; none for numbers.
    task : str
        What it predicts: "classification" or "regression".
    record : dict
        The content of model.json: method, parameters, rows, error curve, data, versions.
    """

    kept_: Ints
    weights_: Floats
    confidence_: Floats

    def __init__(
        self,
        record: dict[str, Any],
        arrays: dict[str, npt.NDArray[Any]],
        classes: npt.NDArray[Any] | None,
        names: list[str] | None,
    ) -> None:
        self.record = record
        if classes is None:
            self.task = "regression"
        else:
            self.classes_ = classes
        self.kept_, self.confidence_ = arrays["features"], arrays["confidence"]
        weights = arrays["weights"]
        self.weights_ = weights[:, 0] if weights.shape[1] == 1 else weights
        self.intercept_ = record.get("intercept")
        self.model = ListedWeights(self.kept_, weights, self.intercept_)
        self.normalize, self.n_bits = record["normalize"], record["n_bits"]
        self.n_columns = record["n_columns"]
        self.columns = Columns(
            record["n_features_in"], record["open"],
            vocabulary=dict(zip(names or (), self.kept_.tolist(), strict=names is not None)),
            prefix=record["names"]["prefix"], base=record["names"]["base"],
        )  # fmt: skip
        self.names_ = self.columns.names_of(self.kept_)
        if record.get("table") is not None:
            self.preparation = Preparation.from_json(record["table"])

    def as_matrix(self, X: Any) -> Any:
        """Return a matrix or table whose columns have the same names as in training."""
        table = super().as_matrix(X)
        if self.preparation is not None:
            return table
        if names := list(getattr(X, "columns", ())):
            self.columns.check_names(names, "X")
        return table

    def _repr_html_(self) -> str:
        """Return a card for a notebook: how training went, and the features it is surest of."""
        work, record = self.record["work"], self.record
        title = (
            f"{record['method']} kept {len(self.kept_):,} of "
            f"{counted(record['n_features_in'], 'feature')} after {counted(work['rows'], 'row')}"
        )
        facts = [f"{how_wrong(record)}."]
        if (on_test := test_score(record)) is not None:
            facts.append(f"{on_test[0].capitalize()} on test rows: {on_test[1]}.")
        weights = self.weights_.reshape(len(self.kept_), -1)
        order = np.argsort(-self.confidence_, kind="stable")[:LISTED].tolist()
        named = [] if self.task == "regression" else self.classes_.tolist()
        of_class = [f"weight for {c}" for c in named[:MOST_CLASSES]]
        heads = ["surest of", "confidence", *(of_class if weights.shape[1] > 1 else ["weight"])]
        cells = [
            [self.names_[i], float(self.confidence_[i]), *weights[i, :MOST_CLASSES].tolist()]
            for i in order
        ]
        return card(title, listed(facts), html_table(heads, cells))

    def __repr__(self) -> str:
        return f"<SavedModel of {self.record['method']}, {len(self.kept_):,} features kept>"


def how_wrong(record: dict[str, Any], rows: str = "the rows") -> str:
    """Return a sentence, without its full stop, about predictions made before rows were learned."""
    work = record["work"]
    if record["classes"] is None:
        found = record["progressive_r2"]
        r2 = "not defined" if found is None else f"{found:.4f}"
        return f"R² of predictions that were made before each row was learned is {r2}"
    error = work["mistakes"] / max(work["rows"], 1)
    return f"{error:.2%} of {rows} were predicted wrongly before they were learned"


def test_score(record: dict[str, Any]) -> tuple[str, str] | None:
    """Return the name and the value of the score on test rows, if there were any with labels."""
    test = record.get("test")
    if not isinstance(test, dict):
        return None
    if test.get("accuracy") is not None:
        return "accuracy", f"{test['accuracy']:.2%}"
    return None if test.get("r2") is None else ("R²", f"{test['r2']:.4f}")


def save_model(
    learner: Any, folder: str | os.PathLike[str], *, force: bool = False, **facts: Any
) -> Path:
    """Save a fitted learner as a model folder, completely or not at all.

    Parameters
    ----------
    learner : estimator or OnlineLearner
        RowSieve, SOFS, PET, FOFS, OGD, AROW, a merged learner or a regressor, fitted.
    folder : str or path
        The folder; must not exist, unless `force` is True and it is a model.
    **facts
        Further entries of model.json; plain numbers and text.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from tamis import PET
    >>> X = np.random.default_rng(0).normal(size=(200, 30))
    >>> clf = PET(2).fit(X, X[:, 7] > 0)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     model = open_model(save_model(clf, f"{place}/model"))
    >>> bool((model.predict(X) == clf.predict(X)).all()), 7 in model.kept_
    (True, True)
    """
    plain_learner = learner if isinstance(learner, OnlineLearner) else learner.learner_
    record, arrays, names = _content(plain_learner)
    with atomic_folder(folder, "model", force=force) as work:
        for name, array in arrays.items():
            np.save(work / f"{name}.npy", array, allow_pickle=False)
        if names is not None:
            (work / "names.json").write_bytes(_json(names))
        sums = {path.name: zlib.crc32(path.read_bytes()) for path in sorted(work.iterdir())}
        whole = masked({**record, **facts, "crc32": sums})
        (work / MODEL).write_bytes(_json(with_checksum(whole)))
    return Path(folder)


def open_model(folder: str | os.PathLike[str]) -> SavedModel:
    """Open a model that `save_model` or `tamis learn` wrote; it predicts like the learner."""
    path = Path(folder)
    recover_missing(path)
    if not (path / MODEL).is_file():
        raise SourceError(f"{path} is not a model; it has no {MODEL} written by tamis learn")
    try:
        record = json.loads((path / MODEL).read_text(encoding="utf-8"))
        version = record["format_version"]
        if version == FORMAT_VERSION:
            return _read(path, check_record(record))
    except DAMAGE as error:
        refuse_unreadable(path)
        raise SourceError(f"{path} is damaged ({reason(error)}); run tamis learn again") from error
    raise SourceError(
        f"{path} was written in format {version!r} and this tamis reads format {FORMAT_VERSION}; "
        "use the tamis that wrote it"
    )


def snapshot(learner: OnlineLearner) -> SavedModel:
    """Return the present state of a learner as a saved model."""
    record, arrays, names = _content(learner)
    classes = None if learner.task == "regression" else learner.classes_
    return SavedModel(record, arrays, classes, names)


def _content(
    learner: OnlineLearner,
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], list[str] | None]:
    """Return the content of the folder."""
    kept, weights, _ = learner.model.learned()
    arrays = {"features": kept, "weights": weights, "confidence": learner.confidence_}
    columns, hashed = learner.columns, learner.n_bits is not None
    known = {number: name for name, number in columns.numbers.items()}
    names = [known.get(j, str(j)) for j in kept.tolist()] if known and not hashed else None
    names = columns.names_of(kept) if columns.hashed_names else names
    about: dict[str, Any] = {"classes": None}
    if isinstance(learner, NumberLearner):
        r2 = learner.progressive_r2_
        about |= {"intercept": learner.intercept_}
        about |= {"progressive_r2": r2 if math.isfinite(r2) else None}  # JSON has no NaN
    else:
        about["classes"] = classes_to_json(learner.classes_)
    record = {
        "format_version": FORMAT_VERSION,
        "method": learner.public_name,
        "parameters": {k: plain(v) for k, v in learner.get_params().items()},
        **about,  # without classes it predicts numbers
        "names": {"prefix": columns.prefix, "base": columns.base},
        "normalize": bool(learner.normalize),
        "n_bits": learner.n_bits,
        "n_columns": None if learner.n_columns is None else int(learner.n_columns),
        "n_features_in": int(columns.width),
        "open": bool(columns.is_open),
        "kept": len(kept),
        "n_features": getattr(learner, "n_features_", None),
        "work": learner.work_,
        "table": None if learner.preparation is None else learner.preparation.to_json(),
        "curve": getattr(learner, "curve_", None),
        "size_curve": getattr(learner, "size_curve_", None),
        "bad_lines": getattr(learner, "bad_lines_", {}),
        "changes": getattr(learner, "changes_", []),
        "turnover": _turnover(learner),
        "versions": versions(),
    }
    return record, arrays, names


def _turnover(learner: OnlineLearner) -> list[list[Any]]:
    """Return name, first and last row, and entries of features that came or left recently."""
    entries = getattr(learner, "turnover_", {})
    latest = sorted(entries, key=lambda j: -max(entries[j][:2]))[:MOST_TURNOVER]
    names = learner.columns.names_of(np.array(latest, dtype=np.int64))
    return [[name, *entries[j]] for name, j in zip(names, latest, strict=True)]


def _read(path: Path, record: dict[str, Any]) -> SavedModel:
    sums = record["crc32"]
    for name, wanted in sums.items():
        if name != os.path.basename(name) or zlib.crc32(read_whole(path / name)) != wanted:
            raise ValueError(f"{name} has changed since it was written")
    arrays = {name: np.load(path / f"{name}.npy", allow_pickle=False) for name in _ARRAYS}
    names = None
    if "names.json" in sums:
        names = [str(name) for name in json.loads((path / "names.json").read_text("utf-8"))]
    classes, blocks = None, 1
    if record["classes"] is not None:
        classes = classes_from_json(record["classes"])
        blocks = 1 if len(classes) == 2 else len(classes)
    elif type(record["intercept"]) is not float:
        raise ValueError("it has no intercept")
    kept = len(arrays["features"])
    fits = arrays["weights"].shape == (kept, blocks) and arrays["confidence"].shape == (kept,)
    types = [arrays[name].dtype for name in _ARRAYS] == [np.int64, np.float64, np.float64]
    rising = bool(np.all(np.diff(arrays["features"]) > 0))
    numbers = [record["names"]["base"], record["n_features_in"]]
    numbers += [n for n in (record["n_bits"], record["n_columns"]) if n is not None]
    types = types and all(type(n) is int for n in numbers) and type(record["open"]) is bool
    types = types and type(record["names"]["prefix"]) is str and type(record["normalize"]) is bool
    if not (fits and types and rising and record["kept"] == kept):
        raise ValueError("its files do not belong together")
    return SavedModel(record, arrays, classes, names)


def classes_to_json(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Return classes for JSON; they must be numbers, booleans or text."""
    values = classes.tolist()
    if classes.dtype.kind not in "biufU" and not all(isinstance(v, str) for v in values):
        raise InputError(f"the classes {values} are neither numbers nor text; make them text")
    return {"kind": "U" if classes.dtype.kind == "O" else classes.dtype.kind, "values": values}


def classes_from_json(found: dict[str, Any]) -> npt.NDArray[Any]:
    """Return classes from JSON."""
    kinds = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64, "U": np.str_}
    classes: npt.NDArray[Any] = np.array(found["values"], dtype=kinds[found["kind"]])
    if len(classes) < 2:
        raise ValueError("it has fewer than two classes")
    return classes


def plain(value: Any) -> Any:
    """Return a parameter for JSON: numbers and text unchanged, anything else as its repr."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def _json(content: Any) -> bytes:
    # Text that is not UTF-8 (a file name in another encoding) is written as a JSON escape.
    text = json.dumps(masked(content), indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")
