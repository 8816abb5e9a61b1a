"""Phenotypes as PLINK writes them: missing-value codes, and files of phenotypes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.errors import SourceError, one_sentence
from tamis.sources.base import whole_numbers
from tamis.sources.text_files import TextFile

_NONE = ("-9", "NA", "nan", "NaN", "")


def phenotype(words: npt.NDArray[Any], path: str) -> npt.NDArray[Any] | None:
    """Return a column of phenotypes as numbers or text; None if all are missing.

    -9 and NA mean missing, and so does 0 if all others are 1 (control) or 2 (case).

    >>> phenotype(np.array(["1", "2", "2"]), "a.fam").tolist()
    [1, 2, 2]
    """
    words = np.asarray(words).astype(np.str_)
    missing = np.isin(words, _NONE)
    try:
        values: npt.NDArray[Any] = np.where(missing, "0", words).astype(np.float64)
    except ValueError:
        values = words
    else:
        missing |= ~np.isfinite(values)
        if np.all(np.isin(values, (0.0, 1.0, 2.0))) and np.any(values == 2.0):
            missing |= values == 0.0
        values = whole_numbers(values)
    if missing.all() or (values.dtype.kind != "U" and not np.any(values)):
        return None
    if missing.any():
        raise SourceError(
            f"{path}: {int(missing.sum())} of {len(words)} individuals have no phenotype (-9, NA, "
            "or 0 among 1 and 2); leave them out, with plink --prune, or give y="
        )
    return values


def read_phenotypes(
    path: str, individuals: npt.NDArray[Any], column: str | None
) -> npt.NDArray[Any] | None:
    """Read the target from an .npy file, or from a text file in the order of the individuals."""
    if path.endswith(".npy"):
        from tamis.sources.matrix import load_y

        return load_y(path)
    lines = _table(path)
    names = [str(i + 1) for i in range(lines.shape[1] - 2)]
    if lines[0, 0].lstrip("#") == "FID":
        names, lines = lines[0, 2:].tolist(), lines[1:]
    if column is not None and column not in names:
        there = ", ".join(names)
        raise SourceError(f"{path} has no phenotype {column!r}; it has {there}")
    at = 2 + (0 if column is None else names.index(column))
    keys = np.char.add(np.char.add(lines[:, 0], "\t"), lines[:, 1])
    order = np.argsort(keys, kind="stable")
    found = np.searchsorted(keys[order], individuals)
    found = order[np.minimum(found, len(order) - 1)]
    lacking = np.flatnonzero(keys[found] != individuals)
    if len(lacking):
        who = str(individuals[lacking[0]]).replace("\t", " ")
        raise SourceError(
            f"{path} has no line for individual {who!r}, and {len(lacking) - 1} others of the .fam "
            "file; add them, or leave them out with plink --keep"
        )
    return phenotype(lines[found, at], path)


def _table(path: str) -> npt.NDArray[Any]:
    """Return the fields of a text file that has the same number of fields in each line."""
    text = b"".join(piece.tobytes() for piece in TextFile(path).chunks(1 << 22))
    with one_sentence(f"{path} is not a file of phenotypes", "give FID IID value", (ValueError,)):
        table = np.loadtxt(io.StringIO(text.decode("utf-8")), dtype=np.str_, ndmin=2, comments=None)
    if table.shape[1] < 3:
        raise SourceError(
            f"{path} has {table.shape[1]} columns; give FID, IID and a value at least"
        )
    return table
