"""What each column of a table is for: a feature, the target, the key of the rows, or nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tamis.core.errors import SourceError

#: Names that a sentence lists before it says "and more".
_LISTED = 5
#: What pandas calls the labels of its rows when they have no name and are written as a column.
_ROW_LABELS = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class Roles:
    """Columns by name, as the user gives them.

    Attributes
    ----------
    target, key : str or None
        The column to predict, and the one that names the rows; neither is a feature.
    ignore : tuple of str
        Columns that are not features.
    categorical : tuple of str
        Columns of numbers that are names of categories.
    """

    target: str | None = None
    key: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        target: str | None,
        key: str | None,
        ignore: str | Iterable[str],
        categorical: str | Iterable[str],
    ) -> Roles:
        """Take names one by one or in any collection."""
        return cls(target, key, names_of(ignore), names_of(categorical))

    @property
    def aside(self) -> set[str]:
        """Every column that is not a feature."""
        return {name for name in (self.target, self.key, *self.ignore) if name is not None}

    def options(self) -> dict[str, Any]:
        """Return the roles as a text, for the record of a store made from it."""
        given = {"target": self.target, "key": self.key}
        lists = {"ignore": list(self.ignore), "categorical": list(self.categorical)}
        return {k: v for k, v in (given | lists).items() if v}

    def passed_over(self, row_labels: Iterable[str]) -> dict[str, str]:
        """Return what `tamis info` says about row labels that are not used."""
        used = self.aside | set(self.categorical)
        unused = [repr(name) for name in row_labels if name not in used]
        return {"row_labels_passed_over": ", ".join(unused)} if unused else {}

    def features(
        self, where: str, names: Sequence[str], row_labels: Collection[str] = ()
    ) -> list[str]:
        """Return names of the features in order, or one sentence about a name that does not fit.

        Columns of row labels are features only where `categorical` names them.
        """
        known = set(names)
        if len(known) < len(names):
            seen: set[str] = set()
            twice = next(n for n in names if n in seen or seen.add(n))  # type: ignore[func-returns-value]
            raise SourceError(f"{where} has two columns named {twice!r}; rename one of them")
        requested: dict[str, tuple[str | None, ...]]
        requested = {"target": (self.target,), "key": (self.key,)}
        requested |= {"ignore": self.ignore, "categorical": self.categorical}
        for role, given in requested.items():
            for name in given:
                if name is not None and name not in known:
                    raise SourceError(no_such(where, role, name, names))
        aside = self.aside | (set(row_labels) - set(self.categorical))
        found = [n for n in names if n not in aside]
        if not found:
            raise SourceError(f"{where} has no column left that could be a feature; it has "
                              f"{listed(names) or 'none at all'}")  # fmt: skip
        return found


def row_labels(names: Sequence[str], metadata: Mapping[bytes, bytes] | None = None) -> list[str]:
    """Return columns that hold labels of rows: the index of a pandas table, or the row names of R.

    They are told by what pandas says in the metadata of an Arrow schema, by the name that pandas
    gives an index without one, or by no name at all, first in a line of names.
    """
    try:
        in_metadata = json.loads((metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    except (ValueError, AttributeError):  # written by who knows what; the names tell enough
        in_metadata = []
    in_metadata = in_metadata if isinstance(in_metadata, list) else []
    labels = {name for name in in_metadata if isinstance(name, str)}  # a range is a dict: no column
    if names and not names[0]:
        labels.add("")
    return [n for n in names if n in labels or _ROW_LABELS.fullmatch(n)]


def listed(names: Sequence[str]) -> str:
    """Return the first few names, quoted."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(repr(name) for name in names[:_LISTED]) + more


def no_such(where: str, role: str, name: str, names: Sequence[str]) -> str:
    """Say that a column is not there, and which are."""
    close = [other for other in names if other.strip().lower() == name.strip().lower()]
    hint = f"did you mean {close[0]!r}?" if close else f"it has {listed(names)}"
    return f"{where} has no column {name!r}, which {role} names; {hint}"


def name_one(path: str, names: Sequence[str], table: str = "it") -> str:
    """Say how a target is named, and which columns could be one."""
    what = "the column to predict" if table == "it" else f"a column of {table}"
    example = f"tamis.open({os.path.basename(path)!r}, target=...)"
    there = listed(names) or "none"
    if len(names) > _LISTED:  # where most tables have it
        there += f", the last {names[-1]!r}"
    return f"name {what} with --target, in Python {example}; {table} has {there}"


def names_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return names given one by one or in any collection."""
    return (given,) if isinstance(given, str) else tuple(given)


def need_columns(path: str, names: Sequence[str], wanted: dict[str, str | None]) -> None:
    """Raise one sentence if a column that was named is not there."""
    for role, name in wanted.items():
        if name is not None and name not in names:
            raise SourceError(no_such(path, role, name, names))
