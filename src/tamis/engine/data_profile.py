"""Profiles: what a file or a table holds, all its problems at once, and the command that works."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamis.core.notebook import card, html_table, listed
from tamis.core.sentences import counted
from tamis.engine.profiled_columns import ColumnKind, Columns


@dataclass(frozen=True)
class Finding:
    """Something about some columns: a problem, or a suspicion.

    Attributes
    ----------
    kind : str
        What it is, in a word: "gaps", "words", "identifiers", ...
    columns, count : list of str, int
        The first few columns, and how many there are.
    sentence, remedy : str
        What it is, and what to do about it.
    """

    kind: str
    columns: list[str]
    count: int
    sentence: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.sentence}: {self.remedy}" if self.remedy else self.sentence


@dataclass(repr=False)
class Profile:
    """What some data holds; made by `tamis.profile`.

    Attributes
    ----------
    name, format : str
        The name of the data and its format.
    n_rows, n_columns : int
        Rows, and columns that could be features.
    kinds : dict
        Number of columns of each kind, and of those with missing values ("gaps").
    target, target_name : str, str or None
        The target in a few words, and its column.
    reading : str
        How a text file is read, if not in the usual way.
    problems, suspicious : list of Finding
        What keeps a selection from running, and what may not be a feature.
    command, python : str or None
        A command, and the same in Python, that works on the data as it is; None if there is none.
    columns : Columns
        What is known about every column, as arrays.
    """

    name: str
    format: str
    n_rows: int
    n_columns: int
    kinds: dict[str, int]
    target: str
    target_name: str | None
    reading: str
    problems: list[Finding]
    suspicious: list[Finding]
    command: str | None
    python: str | None
    columns: Columns = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single columns as plain values, for JSON."""
        plain = {k: v for k, v in vars(self).items() if k not in ("columns", "python")}
        for key in ("problems", "suspicious"):
            plain[key] = [vars(finding) for finding in plain[key]]
        return plain

    def to_frame(self) -> Any:
        """Return one row per column as a pandas data frame: name, kind, missing, distinct."""
        import pandas as pd

        found = self.columns
        kinds = pd.Categorical.from_codes(found.kinds, [kind.label for kind in ColumnKind])
        names = range(len(found.kinds)) if found.names is None else list(found.names)
        distinct = pd.array(found.levels, dtype="Int64")
        distinct[np.asarray(found.levels) < 0] = pd.NA
        values = {"name": names, "kind": kinds, "missing": found.gaps, "distinct": distinct}
        return pd.DataFrame(values)

    def lines(self) -> list[str]:
        """Return the profile as lines of text."""
        shape = f"{counted(self.n_rows, 'row')}, {counted(self.n_columns, 'column')}"
        shape += "" if self.target_name is None else " besides the target"
        found = dict(self.kinds)
        gaps = found.pop("gaps", 0)
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in found.items() if n)
        kinds += f"; {gaps:,} with missing values" if gaps else ""
        lines = [f"{self.name}: {shape}", f"columns: {kinds or 'none'}"]
        if self.reading:
            lines.append(f"read with {self.reading}")
        lines.append(f"target: {self.target}")
        lines += [f"suspicious: {finding}" for finding in self.suspicious]
        lines += [f"problem: {finding}" for finding in self.problems]
        ready = self.command or self.python
        return [*lines, f"this works: {ready}"] if ready else lines

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        """Return a card for a notebook."""
        head, _, *lines = self.lines()
        kinds = [[kind, n] for kind, n in self.kinds.items() if n]
        return card(head, html_table(["kind", "columns"], kinds), listed(lines))
