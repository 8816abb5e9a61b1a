"""A model as a folder of plain files, small enough to ship: only the kept features.

``model.json``      what learned, how, on what data, how it went; classes; checksums
``features.npy``    the kept features by number, rising
``weights.npy``     their weights, one column for two classes, else one a class
``confidence.npy``  how sure the learner is of each
``names.json``      their names, where they have any

No pickle: opening a folder from someone else can run no code.
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import InputError, SourceError
from tamis.core.files import MARKERS, atomic_folder, reason, recover_missing
from tamis.core.masking import without_secrets
from tamis.engine.select import versions
from tamis.methods.online.learner import InstanceLearner
from tamis.methods.online.saved import SavedModel

FORMAT_VERSION = 1
MODEL = MARKERS["model"]

_ARRAYS = ("features", "weights", "confidence")


def save_model(
    learner: InstanceLearner,
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    **facts: Any,
) -> Path:
    """Write what a learner has learned to a folder, completely or not at all.

    Parameters
    ----------
    learner : InstanceLearner
        SOFS, PET, FOFS, OGD or AROW, fitted.
    folder : str or path
        Where to; must not exist, unless `force` is True and it is a model.
    **facts
        What else is to be recorded in model.json; plain numbers and words.

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
    record, arrays, names = _content(learner)
    with atomic_folder(folder, "model", force=force) as work:
        sums = {}
        for name, array in arrays.items():
            np.save(work / f"{name}.npy", array, allow_pickle=False)
            sums[f"{name}.npy"] = _sum(work / f"{name}.npy")
        if names is not None:
            (work / "names.json").write_bytes(_json(names))
            sums["names.json"] = _sum(work / "names.json")
        (work / MODEL).write_bytes(_json({**record, **facts, "crc32": sums}))
    return Path(folder)


def open_model(folder: str | os.PathLike[str]) -> SavedModel:
    """Read a model that `save_model` or `tamis learn` wrote; it predicts as the learner did."""
    path = Path(folder)
    recover_missing(path)
    if not (path / MODEL).is_file():
        raise SourceError(f"{path} is not a model; it has no {MODEL} written by tamis learn")
    try:
        record = json.loads((path / MODEL).read_text(encoding="utf-8"))
        version = record["format_version"]
        if version == FORMAT_VERSION:
            return _read(path, record)
    except (LookupError, ValueError, TypeError, AttributeError, OSError, EOFError) as error:
        raise SourceError(f"{path} is damaged ({reason(error)}); run tamis learn again") from error
    raise SourceError(
        f"{path} was written in format {version!r} and this tamis reads format {FORMAT_VERSION}; "
        "use the tamis that wrote it"
    )


def snapshot(learner: InstanceLearner) -> SavedModel:
    """What a saved model would be now, without saving it."""
    record, arrays, names = _content(learner)
    return SavedModel.of(record, arrays, learner.classes_, names)


def _content(
    learner: InstanceLearner,
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], list[str] | None]:
    """What goes into the folder."""
    kept, weights = learner.kept_, learner.weights_
    arrays = {
        "features": kept,
        "weights": weights.reshape(len(kept), -1),
        "confidence": learner.confidence_,
    }
    words = {number: word for word, number in learner._known_words().items()}
    hashed = learner.n_bits is not None
    names = [words.get(j, str(j)) for j in kept.tolist()] if words and not hashed else None
    record = {
        "format_version": FORMAT_VERSION,
        "method": type(learner).__name__,
        "parameters": {k: plain(v) for k, v in learner.get_params(deep=False).items()},
        "classes": classes_out(learner.classes_),
        "names": {"prefix": learner._name_prefix, "base": learner._name_base},
        "normalize": bool(learner.normalize),
        "n_bits": learner.n_bits,
        "n_columns": None if learner.n_columns is None else int(learner.n_columns),
        "n_features_in": int(learner.n_features_in_),
        "open": bool(learner._open),
        "kept": len(kept),
        "n_features": getattr(learner, "n_features_", None),
        "work": learner.work_,
        "curve": getattr(learner, "curve_", None),
        "size_curve": getattr(learner, "size_curve_", None),
        "bad_lines": getattr(learner, "bad_lines_", {}),
        "versions": versions(),
    }
    return record, arrays, names


def _read(path: Path, record: dict[str, Any]) -> SavedModel:
    sums = record["crc32"]
    for name, wanted in sums.items():
        if name != os.path.basename(name) or _sum(path / name) != wanted:
            raise ValueError(f"{name} is not what was written")
    arrays = {name: np.load(path / f"{name}.npy", allow_pickle=False) for name in _ARRAYS}
    names = None
    if "names.json" in sums:
        names = [str(name) for name in json.loads((path / "names.json").read_text("utf-8"))]
    classes = classes_in(record["classes"])
    kept, blocks = len(arrays["features"]), 1 if len(classes) == 2 else len(classes)
    fits = arrays["weights"].shape == (kept, blocks) and arrays["confidence"].shape == (kept,)
    types = [arrays[name].dtype for name in _ARRAYS] == [np.int64, np.float64, np.float64]
    rising = bool(np.all(np.diff(arrays["features"]) > 0))
    if not (fits and types and rising and record["kept"] == kept):
        raise ValueError("its files do not belong together")
    return SavedModel.of(record, arrays, classes, names)


def classes_out(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Classes for JSON; they must be numbers, truths or words."""
    values = classes.tolist()
    if classes.dtype.kind not in "biufU" and not all(isinstance(v, str) for v in values):
        raise InputError(f"the classes {values} are no numbers and no words; make them words")
    return {"kind": "U" if classes.dtype.kind == "O" else classes.dtype.kind, "values": values}


def classes_in(found: dict[str, Any]) -> npt.NDArray[Any]:
    """Classes from JSON."""
    kinds = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64, "U": np.str_}
    classes: npt.NDArray[Any] = np.array(found["values"], dtype=kinds[found["kind"]])
    if len(classes) < 2:
        raise ValueError("it has fewer than two classes")
    return classes


def plain(value: Any) -> Any:
    """A parameter for JSON: numbers and words as they are, else as Python would write it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return (
        [plain(v) for v in value] if isinstance(value, list | tuple | np.ndarray) else repr(value)
    )


def _json(content: Any) -> bytes:
    # What has no UTF-8 (a file name in another encoding) becomes the escape that JSON has for it.
    text = json.dumps(without_secrets(content), indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


def _sum(path: Path) -> int:
    return zlib.crc32(path.read_bytes())
