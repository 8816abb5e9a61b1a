"""A page: the content of a report, independent of HTML, Markdown or JSON.

A page is a list of sections of a few kinds. Every kind can be drawn and can be read as a table, so
that no information is in a plot alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

#: The kind of a table's cells: text, counts with thousands separators, numbers in four digits, or
#: names of features, which are links to the features on the page.
Kind = Literal["text", "count", "number", "feature"]


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading and the kind of its cells."""

    label: str
    kind: Kind = "text"
    #: Digits after the point, if all cells should have the same number.
    digits: int | None = None
    #: Whether each number also has a bar, in proportion to the largest of the column.
    bar: bool = False


def _rows(*columns: list[Any]) -> list[list[Any]]:
    return [list(row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Section:
    """A part of a page, with a heading and a sentence on what it shows."""

    title: str
    note: str = field(default="", kw_only=True)

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return the content as columns and rows."""
        raise NotImplementedError

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values, for the script of the page and for programs."""
        return {"kind": type(self).__name__.lower(), **asdict(self)}


@dataclass(frozen=True)
class Facts(Section):
    """A few labelled values, the most important ones."""

    items: list[tuple[str, str]]
    #: Sentences that qualify them, such as what was left out.
    remarks: list[str] = field(default_factory=list)

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return one row per fact and per remark."""
        rows = [*self.items, *(("note", remark) for remark in self.remarks)]
        return [Column(""), Column("")], [list(row) for row in rows]


@dataclass(frozen=True)
class Table(Section):
    """Rows that can be sorted and searched."""

    columns: list[Column]
    rows: list[list[Any]]
    #: Whether the highest number of each row is highlighted.
    best: Literal["", "highest"] = ""

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return its own columns and rows."""
        return self.columns, self.rows


@dataclass(frozen=True)
class Lines(Section):
    """Curves over one axis."""

    x_label: str
    x: list[float]
    series: dict[str, list[float | None]]
    y_label: str = ""
    #: Colour names of the series, in order; the order of the palette if empty.
    colours: list[str] = field(default_factory=list)
    #: Steps instead of straight lines: the value holds until the next point.
    steps: bool = False
    #: Mark each point, if there are few.
    points: bool = False
    #: Series that are drawn only when the reader asks for them.
    hidden: list[str] = field(default_factory=list)
    log_x: bool = False
    #: A shade around the first series, from `low` to `high`; none if they are empty.
    low: list[float | None] = field(default_factory=list)
    high: list[float | None] = field(default_factory=list)

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return one row per point."""
        series = {**self.series} | ({"low": self.low, "high": self.high} if self.low else {})
        columns = [Column(label, "number") for label in (self.x_label, *series)]
        return columns, _rows(self.x, *series.values())


@dataclass(frozen=True)
class Bars(Section):
    """Bars: one row of them per series, each on its own linear scale, over the same labels."""

    labels: list[str]
    series: dict[str, list[float]]
    colours: list[str] = field(default_factory=list)

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return one row per bar."""
        columns = [Column(""), *[Column(label, "number") for label in self.series]]
        return columns, _rows(self.labels, *self.series.values())


@dataclass(frozen=True)
class Flow(Section):
    """What happened to the features: stages from left to right, with counts."""

    #: Name, count, stage (0, 1, 2, ...), colour name.
    nodes: list[tuple[str, int, int, str]]
    #: From node, to node, count.
    links: list[tuple[int, int, int]]

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return one row per link."""
        columns = [Column("from"), Column("to"), Column("features", "count")]
        return columns, [[self.nodes[a][0], self.nodes[b][0], n] for a, b, n in self.links]


@dataclass(frozen=True)
class Explorer(Section):
    """Features with an explanation of each and links to the features that decided about it."""

    names: list[str]
    verdicts: list[str]
    relevance: list[float | None]
    sentences: list[str]
    #: For each feature, those that decided about it, by index in `names`.
    because: list[list[int]]
    #: For each feature, the number of features it displaced, whether shown or not.
    displaced: list[int]
    #: Colour name of each verdict.
    colours: dict[str, str]
    #: The command that explains a feature that is not on the page.
    elsewhere: str = ""

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return one row per feature."""
        columns = [
            Column("feature"), Column("verdict"), Column("relevance", "number"),
            Column("displaced", "count"), Column("why"),
        ]  # fmt: skip
        return columns, _rows(
            self.names, self.verdicts, self.relevance, self.displaced, self.sentences
        )


@dataclass(frozen=True)
class Ranks(Section):
    """A critical-difference diagram: average ranks, and which do not differ significantly."""

    names: list[str]
    ranks: list[float]
    critical_difference: float | None
    #: Groups of indices in `names` whose ranks differ by less than that.
    groups: list[list[int]] = field(default_factory=list)

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return one row per method, best first."""
        order = sorted(range(len(self.names)), key=lambda i: self.ranks[i])
        columns = [Column("method"), Column("average rank", "number")]
        return columns, [[self.names[i], self.ranks[i]] for i in order]


@dataclass(frozen=True)
class Scatter(Section):
    """A scatter plot with a third number as size; the best trade-offs are connected."""

    x_label: str
    y_label: str
    size_label: str
    #: Name, x, y, size.
    points: list[tuple[str, float, float, float]]
    #: Indices in `points` that no other point beats on both axes.
    best: list[int] = field(default_factory=list)
    log_x: bool = False

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return one row per point."""
        labels = self.x_label, self.y_label, self.size_label
        columns = [Column(""), *(Column(label, "number") for label in labels)]
        return columns, [list(point) for point in self.points]


@dataclass(frozen=True)
class Code(Section):
    """Text to copy: a command, versions."""

    text: str

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Return one row per line."""
        return [Column("")], [[line] for line in self.text.splitlines()]


@dataclass(frozen=True)
class Page:
    """A title, a one-sentence summary, and sections."""

    title: str
    summary: str
    sections: list[Section]

    @classmethod
    def of(
        cls,
        title: str,
        summary: str,
        sections: list[Section | None],
        command: str,
        versions: dict[str, str],
        *facts: str,
    ) -> Page:
        """Return a page of the sections that are not None and, at its end, how to reproduce it."""
        lines = [command, "", *facts, *(f"{name} {number}" for name, number in versions.items())]
        last = Code("How to reproduce", "\n".join(lines))
        return cls(title, summary, [s for s in (*sections, last) if s is not None])

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**vars(self), "sections": [section.as_json() for section in self.sections]}
