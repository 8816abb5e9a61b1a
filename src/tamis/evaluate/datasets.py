"""Data sets of a comparison: read once, checked, and saved as arrays that workers memory-map.

A data set is a file that ``tamis.open`` reads, a pair ``TRAIN:TEST`` of such files, a folder with
X.npz or X.npy, y.npy and meta.json (whose "split" gives row ranges), or arrays. Workers map the
arrays from disk, so all of them share one copy.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tamis.core.errors import InputError, SourceError
from tamis.core.masking import masked
from tamis.core.names import Names
from tamis.core.target import Target
from tamis.kernels.scan import LARGEST, scan
from tamis.sources import Source, format_of, open_source, reader
from tamis.sources.axis import to_columns
from tamis.sources.base import refuse_without_target

Ints = npt.NDArray[np.int64]
Naming = tuple[Names | None, str, int]

#: Names of the test part of an official split.
_TEST_PARTS = ("test", "valid")


@dataclass(eq=False)
class DataSet:
    """One data set in memory.

    Attributes
    ----------
    name : str
        Its name in tables.
    X : scipy CSR matrix or ndarray
        The features.
    codes, classes : ndarray
        The class code of each row, and the original classes.
    official : (train rows, test rows) or None
        The official split, if there is one.
    naming : (Names or None, str, int)
        Names of the features; None means the prefix, and their number plus the base.
    """

    name: str
    X: Any
    codes: Ints
    classes: npt.NDArray[Any]
    official: tuple[Ints, Ints] | None = None
    naming: Naming = (None, "x", 0)

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of the numbers and classes."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.X.shape, sp.issparse(self.X))).encode())
        for array in (*_arrays(self.X).values(), self.codes):
            digest.update(str(array.dtype.kind).encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def name_of(self, feature: int) -> str:
        """Return the name of a feature."""
        names, prefix, base = self.naming
        return f"{prefix}{feature + base}" if names is None else names[feature]

    def write(self, folder: Path) -> None:
        """Save the arrays for `map_data`."""
        folder.mkdir()
        for name, array in _arrays(self.X).items():
            np.save(folder / f"{name}.npy", array)
        np.save(folder / "codes.npy", self.codes)
        (folder / "shape.json").write_text(json.dumps(self.X.shape))


def map_data(place: str | Path) -> tuple[Any, Ints]:
    """Return the features and class codes that `DataSet.write` saved, mapped from disk."""
    folder = Path(place)
    codes = np.load(folder / "codes.npy")
    if (folder / "dense.npy").is_file():
        return np.load(folder / "dense.npy", mmap_mode="r"), codes
    parts = [np.load(folder / f"{n}.npy", mmap_mode="r") for n in ("data", "indices", "indptr")]
    matrix = sp.csr_matrix(
        tuple(parts), shape=tuple(json.loads((folder / "shape.json").read_text()))
    )
    matrix.has_sorted_indices = matrix.has_canonical_format = True  # written this way
    return matrix, codes


def _arrays(X: Any) -> dict[str, npt.NDArray[Any]]:
    if sp.issparse(X):
        return {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    return {"dense": X}


def read_datasets(
    data: Any, reading: Mapping[str, Any] = MappingProxyType({}), task: str = "auto"
) -> list[DataSet]:
    """Read the data sets: a path, several, or a mapping of names to paths or arrays.

    Without a mapping, a file is called by its name, with its folder if another has the same.
    `reading` holds options of ``tamis.open``. Options that a format does not have are ignored, so
    that files of several formats can be given together. `task` says what the targets hold.
    """
    if isinstance(data, Mapping):
        return [read_dataset(given, str(name), reading, task) for name, given in data.items()]
    if isinstance(data, (str, os.PathLike, DataSet, Source)):
        data = [data]
    if not isinstance(data, Sequence) or not len(data):
        raise InputError("give data as paths, or as a mapping such as {'name': (X, y)}")
    sets = [read_dataset(given, None, reading, task) for given in data]
    names = Counter(one.name for one in sets)
    for one, given in zip(sets, data, strict=True):  # files of the same name: with their folder
        if names[one.name] > 1 and isinstance(given, (str, os.PathLike)):
            folder = os.path.basename(os.path.dirname(os.path.abspath(masked(os.fspath(given)))))
            one.name = f"{one.name} ({folder})" if folder else one.name
    seen: Counter[str] = Counter()
    for one in sets:  # those that still have the same name are numbered
        seen[one.name] += 1
        if seen[one.name] > 1:
            one.name = f"{one.name} ({seen[one.name]})"
    return sets


def read_dataset(
    given: Any,
    name: str | None = None,
    reading: Mapping[str, Any] = MappingProxyType({}),
    task: str = "auto",
) -> DataSet:
    """Read one data set."""
    if isinstance(given, DataSet):
        return given
    if isinstance(given, (str, os.PathLike)):
        path = os.path.expanduser(os.fspath(given))
        if not os.path.exists(path) and ":" in path and "://" not in path:
            train, test = path.rsplit(":", 1)
            return _pair(train, test, name, reading, task)
        if os.path.isfile(os.path.join(path, "y.npy")):
            return _folder(Path(path), name, task)
        return _of_source(_open(path, reading), name or _stem(path), task)
    if isinstance(given, Source):
        return _of_source(given, name or given.format, task)
    if isinstance(given, tuple) and len(given) == 2:
        return _of_source(open_source(given[0], y=given[1]), name or "data", task)
    raise InputError(f"{name or 'data'}: give a path, a source, or a pair (X, y) of arrays")


def _open(path: str, reading: Mapping[str, Any]) -> Source:
    """Open a file with the options that its reader has."""
    format = reading.get("format") or format_of(path)
    known = inspect.signature(reader(format)).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in known.values())
    options = {k: v for k, v in reading.items() if k != "format" and (takes_all or k in known)}
    return open_source(path, format, **options)


def _of_source(source: Source, name: str, task: str) -> DataSet:
    if source.path is not None:
        refuse_without_target(source)  # before it is read
    naming = _names(source, name)
    X, y = source.load()
    if y is None:
        raise InputError(f"{name} has no target; comparing needs the class of every row")
    return _checked(name, X, y, naming, task)


def _names(source: Source, data: str) -> Naming:
    """Return the names of all columns; raise an error for text columns, which have no order."""
    parts: list[str] = []
    if source.axis != "columns":
        parts.extend(source.names() or ())
    else:
        for block in to_columns(source).columns():
            if block.names is None:
                break
            if block.is_text is not None and block.is_text.any():
                word = block.names[int(np.argmax(block.is_text))]
                raise InputError(
                    f"{data}: column {word} holds words, and classifiers need numbers; make a "
                    "column of each word (pandas.get_dummies, sklearn's OneHotEncoder), or leave "
                    "it out"
                )
            parts.extend(block.names)
    return Names.of(parts) if parts else None, source.name_prefix, source.name_base or 0


def _pair(
    train: str, test: str, name: str | None, reading: Mapping[str, Any], task: str
) -> DataSet:
    """Read a training and a test file as one data set with an official split."""
    for path in (train, test):
        if not os.path.exists(path):
            raise SourceError(f"{path}: there is no such file or folder (in {train}:{test})")
    # What the target holds is decided for both together.
    first, second = (read_dataset(p, None, reading, "classification") for p in (train, test))
    name = name or _stem(train).removesuffix(".train").removesuffix("_train")
    widths = [part.X.shape[1] for part in (first, second)]
    wider = first if widths[0] >= widths[1] else second
    if sp.issparse(first.X) and sp.issparse(second.X):
        # An svmlight file ends with its last nonzero column; the wider of the two decides.
        for part in (first, second):
            part.X.resize((part.X.shape[0], max(widths)))
        X: Any = sp.vstack([first.X, second.X], format="csr")
    elif widths[0] == widths[1]:
        X = np.vstack([p.X.toarray() if sp.issparse(p.X) else p.X for p in (first, second)])
    else:
        raise InputError(
            f"{train} has {widths[0]} columns and {test} has {widths[1]}; give two files with the "
            "same columns"
        )
    y = np.concatenate([first.classes[first.codes], second.classes[second.codes]])
    both = _checked(name, X, y, (wider.naming[0], *first.naming[1:]), task)
    both.official = np.arange(len(first.codes)), np.arange(len(first.codes), len(y))
    return both


def _folder(path: Path, name: str | None, task: str) -> DataSet:
    """Read a folder with X.npz or X.npy, y.npy and perhaps meta.json."""
    matrix = path / ("X.npz" if (path / "X.npz").is_file() else "X.npy")
    found = _of_source(open_source(matrix, y=path / "y.npy"), name or path.name, task)
    if (path / "meta.json").is_file():
        found.official = _split_of(path / "meta.json", len(found.codes))
    return found


def _split_of(file: Path, n_rows: int) -> tuple[Ints, Ints] | None:
    """Return the row ranges of meta.json as rows; None if there is no test part."""
    try:
        split = json.loads(file.read_text(encoding="utf-8")).get("split") or {}
        part = next((p for p in _TEST_PARTS if p in split), None)
        if part is None or "train" not in split:
            return None
        train, test = (np.arange(*map(int, split[which])) for which in ("train", part))
    except (AttributeError, TypeError, ValueError) as error:
        raise SourceError(f"{file}: the split is not given as row ranges") from error
    if any(len(rows) == 0 or rows[0] < 0 or rows[-1] >= n_rows for rows in (train, test)):
        raise SourceError(f"{file}: the split goes beyond the {n_rows} rows")
    return train, test


def _checked(name: str, X: Any, y: npt.NDArray[Any], naming: Naming, task: str) -> DataSet:
    """Return a data set with canonical arrays; raise an error if it cannot be used."""
    target = Target.of(y, task)
    target.refuse_constant()
    if target.codes is None or target.classes is None:
        why = "" if task == "regression" else f": {target.reason}"
        raise InputError(
            f"{name}: the target is a number to predict{why}; comparing needs classes, because "
            "classifiers judge what is kept; if they are classes, say so with "
            "task='classification' (--task classification)"
        )
    if X.shape[0] != target.n_rows:
        raise InputError(f"{name}: X has {X.shape[0]} rows but y has {target.n_rows}")
    if sp.issparse(X):
        X = sp.csr_matrix(X, dtype=np.float64)
        X.sum_duplicates()
        X.eliminate_zeros()
        values = X.data
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
        values = X.ravel()
    if scan(values, LARGEST)[0] >= 0:
        raise InputError(
            f"{name} holds NaN or infinity; impute them, or drop such rows or columns first"
        )
    codes = np.asarray(target.codes, dtype=np.int64)
    return DataSet(name, X, codes, np.asarray(target.classes), naming=naming)


def _stem(path: str) -> str:
    """Return the name of a file without its extensions."""
    name = os.path.basename(os.path.normpath(masked(path)))
    return name.split(".")[0] or name
