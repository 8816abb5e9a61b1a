"""Groups of columns, for selectors that take them: labels, a table of names, or a file of names."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, refuse_missing_labels
from tamis.core.errors import InputError, ParameterError, SourceError, warn
from tamis.core.files import reason
from tamis.core.names import NameBook, Names
from tamis.core.sentences import join
from tamis.engine.log_tables import numbered_names
from tamis.engine.seen_columns import SeenColumns, name_hashes
from tamis.methods import ColumnSelector
from tamis.sources.base import ColumnSource, ColumnWrapper

#: The label of each column.
Labels = npt.NDArray[np.object_]

#: Names that a sentence lists.
LISTED = 5

FEATURE, GROUP = "feature", "group"


@dataclass(frozen=True, eq=False)
class GroupTable:
    """The group of each feature, by name; if read from a file, also its path and a hash of it.

    >>> table = GroupTable.of({"age": "person", "height": "person", "dose": "drug"})
    >>> table.labels(Names.of(["dose", "age"]), "the data").tolist()
    ['drug', 'person']
    """

    names: Names
    groups: Labels
    where: str = "groups"
    path: str | None = None
    fingerprint: str = ""

    @classmethod
    def of(cls, groups: Mapping[str, Any]) -> GroupTable:
        """Return a table from a mapping in memory."""
        return cls(Names.of(groups), as_labels(list(groups.values())))

    def labels(self, names: Names, data: str, *, exact: bool = False) -> Labels:
        """Return the group of each column, or raise an error that lists columns without one.

        With `exact`, a name in the table that is not one of the columns is an error too.
        """
        known = SeenColumns()
        every = np.arange(len(self.names))
        known.add(every, name_hashes(self.names), np.zeros(len(every), np.uint64))
        found, _ = known.find(names)
        without = np.flatnonzero(found < 0)
        if len(without):
            raise InputError(
                f"{self.where} gives no group to {_listed(names, without)} of {data}; add a line "
                "for each"
            )
        unknown = np.setdiff1d(every, found)
        if exact and len(unknown):
            raise InputError(
                f"{self.where} names {_listed(self.names, unknown)}, which {data} does not have as "
                "a feature; check the names, or leave them out"
            )
        return self.groups[found]


def read_groups(path: str | os.PathLike[str]) -> GroupTable:
    """Read a CSV or TSV file with the columns feature and group."""
    import pyarrow as pa
    from pyarrow import csv

    where = os.fspath(path)
    separator = "\t" if where.lower().partition(".gz")[0].endswith(".tsv") else ","
    types = {FEATURE: pa.large_string(), GROUP: pa.large_string()}
    try:
        with open(where, "rb") as file:
            fingerprint = hashlib.blake2b(file.read(), digest_size=16).hexdigest()
        table = csv.read_csv(
            where,
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )
    except (OSError, pa.ArrowException) as error:
        raise SourceError(
            f"{where} cannot be read as a table of groups ({reason(error)}); give a CSV or TSV "
            f"file whose first line is {FEATURE},{GROUP}"
        ) from error
    lacking = [name for name in (FEATURE, GROUP) if table.column_names.count(name) != 1]
    if lacking:
        raise SourceError(
            f"{where} has no column {lacking[0]!r} of its own; its first line must be "
            f"{FEATURE},{GROUP}"
        )
    names = Names.of(table[FEATURE].to_pylist())
    groups = as_labels(table[GROUP].to_pylist())
    empty = np.flatnonzero(groups == "")
    if len(empty):
        raise SourceError(f"{where} gives no group to {_listed(names, empty)}; fill it in")
    _, first = np.unique(np.array(list(names), dtype=object), return_index=True)
    if len(first) < len(names):
        again = np.setdiff1d(np.arange(len(names)), first)
        raise SourceError(
            f"{where} names {_listed(names, again)} more than once; a feature has one group"
        )
    return GroupTable(names, groups, where, os.path.abspath(where), fingerprint)


def as_labels(groups: Any) -> Labels:
    """Return labels as an array of text and numbers."""
    return np.asarray(groups).astype(object)


def labels_of(
    groups: Any, names: Names | None, width: int, data: str, *, exact: bool = False
) -> Labels:
    """Return the label of each of `width` columns, however groups were given."""
    if isinstance(groups, Mapping):
        groups = GroupTable.of(groups)
    if isinstance(groups, GroupTable):
        assert names is not None
        labels = groups.labels(names, data, exact=exact)
    elif np.ndim(groups) == 0:
        labels = np.full(width, as_labels(groups).item(), dtype=object)
    else:
        labels = as_labels(groups)
    refuse_missing_labels(labels)
    if labels.shape != (width,):
        raise InputError(
            f"groups of shape {labels.shape} were given for {width} columns; give one label for "
            "each column, or one for all"
        )
    begins = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]])[: len(labels)])
    parts = Counter(labels[begins].tolist())
    for label in (label for label, count in parts.items() if count > 1):
        warn(
            f"the columns of the group {label!r} are not next to each other in {data}; a label "
            "that comes back is a new group"
        )
        break
    return labels


def refuse_groups(selector: ColumnSelector) -> None:
    """Raise an error if a selector does not take groups."""
    if not selector.rule.takes_groups:
        raise ParameterError(
            f"{selector.method} takes no groups; use group-saola, or leave out --groups (groups=)"
        )


def grouped(source: ColumnSource, groups: Any) -> ColumnSource:
    """Return a source whose columns carry their group labels."""
    if groups is None:
        return source
    data = os.path.basename(source.path or "") or "the data"
    names = names_of(source) if isinstance(groups, GroupTable | Mapping) else None
    width = len(names) if names is not None else int(source.n_columns or 0)
    return GroupedSource(source, labels_of(groups, names, width, data, exact=True))


def names_of(source: ColumnSource) -> Names:
    """Return the feature names of all columns of a source."""
    names = source.names()
    if names is not None:
        return names
    found: list[Names] = []
    for block in source.columns():
        if block.names is None:
            break
        found.append(block.names)
    else:
        return Names.joined(found)
    book = NameBook(source.name_prefix, source.name_base)
    return numbered_names(book, 0, int(source.n_columns or 0))


def _listed(names: Sequence[str], indices: npt.NDArray[np.intp]) -> str:
    """Return the first few of some names, as text."""
    shown = [repr(names[int(i)]) for i in indices[:LISTED]]
    more = len(indices) - len(shown)
    return join([*shown, f"{more:,} more"] if more else shown)


class GroupedSource(ColumnWrapper):
    """Columns with the label of each."""

    def __init__(self, source: ColumnSource, labels: Labels) -> None:
        super().__init__(source)
        self._labels = labels

    def change(self, block: ColumnBlock) -> ColumnBlock:
        """Return the block with the group of each column."""
        return replace(block, group=self._labels[block.first : block.first + block.width])
