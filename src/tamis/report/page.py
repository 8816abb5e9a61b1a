"""A page: what a report says, before it is known whether it becomes HTML, Markdown or JSON.

A page is a list of sections of a few kinds. Every kind can be drawn and can be read as a table, so
that nothing is told by a picture alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

#: What a number in a table is: shown as it is, with thousands, or in four digits.
Kind = Literal["text", "count", "number", "feature"]


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading and what its cells are."""

    label: str
    kind: Kind = "text"
    #: Digits after the point, where all cells should have as many.
    digits: int | None = None


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading and a sentence on what it shows."""

    kind: ClassVar[str]
    title: str
    note: str = field(default="", kw_only=True)

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """The same as columns and rows."""
        raise NotImplementedError

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, words and lists, for the page's script and for programs."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class Facts(Section):
    """A few labelled values, the ones people look for first."""

    kind: ClassVar[str] = "facts"
    items: list[tuple[str, str]]

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """A row a fact."""
        return [Column(""), Column("")], [list(item) for item in self.items]


@dataclass(frozen=True)
class Table(Section):
    """Rows that can be sorted and searched."""

    kind: ClassVar[str] = "table"
    columns: list[Column]
    rows: list[list[Any]]
    #: Which column's words are explained by the explorer when clicked, if any.
    opens: int | None = None
    #: Whether the highest number of each row stands out.
    best: Literal["", "highest"] = ""

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """Itself."""
        return self.columns, self.rows


@dataclass(frozen=True)
class Lines(Section):
    """Curves over one axis."""

    kind: ClassVar[str] = "lines"
    x_label: str
    x: list[float]
    series: dict[str, list[float | None]]
    y_label: str = ""
    #: Colour names of the series, in order; the palette's order when empty.
    colours: list[str] = field(default_factory=list)
    #: Steps instead of straight lines: the value holds until the next point.
    steps: bool = False

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """A row a point."""
        columns = [Column(self.x_label, "number")]
        columns += [Column(label, "number") for label in self.series]
        return columns, [list(row) for row in zip(self.x, *self.series.values(), strict=True)]


@dataclass(frozen=True)
class Bars(Section):
    """Stacked bars: one for each label, one colour for each series."""

    kind: ClassVar[str] = "bars"
    labels: list[str]
    series: dict[str, list[float]]
    colours: list[str] = field(default_factory=list)
    #: A square-root scale, where one bar would hide all others.
    root_scale: bool = False

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """A row a bar."""
        columns = [Column(""), *[Column(label, "number") for label in self.series]]
        return columns, [list(row) for row in zip(self.labels, *self.series.values(), strict=True)]


@dataclass(frozen=True)
class Flow(Section):
    """Where features went: stages from left to right, with the numbers that passed."""

    kind: ClassVar[str] = "flow"
    #: Name, how many, stage (0, 1, 2, ...), colour name.
    nodes: list[tuple[str, int, int, str]]
    #: From node, to node, how many.
    links: list[tuple[int, int, int]]

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """A row a link."""
        columns = [Column("from"), Column("to"), Column("features", "count")]
        return columns, [[self.nodes[a][0], self.nodes[b][0], n] for a, b, n in self.links]


@dataclass(frozen=True)
class Explorer(Section):
    """Features with the sentence about each and the features that decided, to click through."""

    kind: ClassVar[str] = "explorer"
    names: list[str]
    verdicts: list[str]
    relevance: list[float]
    sentences: list[str]
    #: For each feature, those that decided about it, by place in `names`.
    because: list[list[int]]
    #: For each feature, how many it has displaced, shown here or not.
    displaced: list[int]
    #: Colour name of each verdict.
    colours: dict[str, str]
    #: How to ask about a feature that is not here.
    elsewhere: str = ""

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """A row a feature."""
        columns = [
            Column("feature"), Column("verdict"), Column("relevance", "number"),
            Column("displaced", "count"), Column("why"),
        ]  # fmt: skip
        rows = zip(
            self.names, self.verdicts, self.relevance, self.displaced, self.sentences, strict=True
        )
        return columns, [list(row) for row in rows]


@dataclass(frozen=True)
class Ranks(Section):
    """A critical-difference diagram: average ranks, and who cannot be told apart."""

    kind: ClassVar[str] = "ranks"
    names: list[str]
    ranks: list[float]
    critical_difference: float | None
    #: Groups of places in `names` whose ranks differ by less than that.
    groups: list[list[int]] = field(default_factory=list)

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """A row a method, best first."""
        order = sorted(range(len(self.names)), key=lambda i: self.ranks[i])
        columns = [Column("method"), Column("average rank", "number")]
        return columns, [[self.names[i], self.ranks[i]] for i in order]


@dataclass(frozen=True)
class Scatter(Section):
    """Points on two axes, a size for a third number; the best trade-offs are joined."""

    kind: ClassVar[str] = "scatter"
    x_label: str
    y_label: str
    size_label: str
    #: Name, x, y, size.
    points: list[tuple[str, float, float, float]]
    #: Places in `points` that no other one beats on both axes.
    best: list[int] = field(default_factory=list)
    log_x: bool = False

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """A row a point."""
        columns = [
            Column(""), Column(self.x_label, "number"), Column(self.y_label, "number"),
            Column(self.size_label, "number"),
        ]  # fmt: skip
        return columns, [list(point) for point in self.points]


@dataclass(frozen=True)
class Code(Section):
    """Something to copy: a command, versions."""

    kind: ClassVar[str] = "code"
    text: str

    def table(self) -> tuple[list[Column], list[list[Any]]]:
        """A row a line."""
        return [Column("")], [[line] for line in self.text.splitlines()]


@dataclass(frozen=True)
class Page:
    """A title, a sentence that says it all, and sections."""

    title: str
    summary: str
    sections: list[Section]

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, words and lists."""
        return {
            "title": self.title,
            "summary": self.summary,
            "sections": [section.as_json() for section in self.sections],
        }
