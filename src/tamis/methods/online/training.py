"""Training a learner from a stream: where it stands, what comes next, what it has passed over.

Reading goes ahead of learning. Each batch of rows says where reading would go on after it, so that
a training can be put away between any two batches and go on to the same model, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError
from tamis.core.params import Number, check
from tamis.kernels import heap
from tamis.kernels import rows as kernel
from tamis.methods.online import intake
from tamis.methods.online.curve import Curve
from tamis.methods.online.weights import Ints
from tamis.sources._svmlight_text import SKIP
from tamis.sources.base import Report, silent
from tamis.sources.readers.row_reader import BadLines, Part, RowReader
from tamis.sources.shared.rebatch import join

if TYPE_CHECKING:
    from tamis.methods.online.learner import InstanceLearner

#: Rows whose label is none of the classes, in the words of a count.
NO_CLASS = "with a label that is not among the classes"


@dataclass(frozen=True)
class Position:
    """Where reading goes on: in which pass and file, after which mark, and how many rows later.

    `row` counts the rows learned in this pass, and `bad` what was passed over in it up to the mark.
    """

    number: int = 0
    file: int = 0
    mark: str | None = None
    drop: int = 0
    row: int = 0
    bad: BadLines = field(default_factory=BadLines)


@dataclass(frozen=True)
class Batch:
    """Rows to learn from, their classes by number, and where reading goes on before and after."""

    rows: Compressed
    codes: Ints
    width: int | None
    before: Position
    after: Position


class Training:
    """A learner, the readers of its rows, and how far it has got.

    Parameters
    ----------
    learner : InstanceLearner
        What learns.
    readers : sequence of RowReader
        Where rows come from, one after the other.
    passes, shuffle, seed : int
        How often to go over the rows, and how many of them to shuffle at a time.
    skip : bool
        Count bad lines and go on.
    """

    def __init__(
        self,
        learner: InstanceLearner,
        readers: Sequence[RowReader],
        *,
        passes: int = 1,
        shuffle: int = 0,
        seed: int = 0,
        skip: bool = False,
    ) -> None:
        check("fit_stream", "passes", passes, Number(1, integer=True))
        check("fit_stream", "shuffle", shuffle, Number(0, integer=True))
        check("fit_stream", "seed", seed, Number(0, integer=True))
        self.learner, self.readers = learner, readers
        self.passes, self.shuffle, self.seed, self.skip = passes, shuffle, seed, skip
        self.position = Position()
        self.curve = Curve()
        #: What was passed over so far in the pass that reading is in.
        self.bad = BadLines()
        #: The last mark of each file that was read.
        self.marks: dict[int, str] = {}
        #: What svmlight indices count from, once that is known.
        self.base: int | None = None
        once = [reader.name for reader in readers if not reader.again]
        if once and passes > 1:
            raise InputError(f"{once[0]} can be gone over once only; give passes=1, or a file")

    @property
    def rows(self) -> int:
        """How many rows were learned from, in all passes."""
        return int(self.learner._model.counts[heap.ROWS])

    @property
    def mistakes(self) -> int:
        """How many of them were predicted wrongly just before."""
        return int(self.learner._model.counts[heap.MISTAKES])

    def start(self, classes: Any = None, report: Report = silent) -> None:
        """Begin a model that knows its classes and the names of its columns."""
        given = self.learner.classes if classes is None else classes
        known = self._find_classes(report) if given is None else np.unique(np.asarray(given))
        if len(known) < 2:
            whose = f"classes={known.tolist()}" if given is not None else self.readers[0].name
            raise InputError(
                f"{whose} holds one class only, {known.tolist()}; give all classes with classes= "
                "(--classes)"
            )
        self.learner._forget()
        self.learner._begin(known)
        self._name_columns()

    def batches(self, report: Report = silent) -> Iterator[Batch]:
        """The rows that are still to be learned from."""
        begin = self.position
        self.bad = begin.bad.copy()
        for number in range(begin.number, self.passes):
            position = begin if number == begin.number else Position(number)
            sound = self._sound_parts(position, _named(report, number, self.passes))
            yield from self._shuffled(sound, position) if self.shuffle else sound

    def take(self, batch: Batch) -> None:
        """Learn from a batch, which must be the next one."""
        learner = self.learner
        learner._grow(batch.rows, batch.width)
        rows = learner._ready(batch.rows)
        for lo, hi in self.curve.cuts(self.rows, len(rows)):
            learner._take(rows.part(lo, hi), batch.codes[lo:hi])
            counts = learner._model.counts
            self.curve.note(*(int(counts[n]) for n in (heap.ROWS, heap.MISTAKES, heap.SERIAL)))
        self.position = batch.after

    def finish(self) -> None:
        """Leave with the learner what is to be known about its training."""
        if self.rows == 0:
            raise InputError(f"{self.readers[0].name} holds no row to learn from; give some")
        self.learner.bad_lines_ = dict(sorted(self.bad.counts.items()))
        self.learner.curve_ = self.curve.table()

    # --- small steps -------------------------------------------------------------------------

    def _find_classes(self, report: Report) -> npt.NDArray[Any]:
        """The labels in all files or, of what can be read once, those that come first."""
        found: list[npt.NDArray[Any]] = []
        for reader in self.readers:
            labels = reader.classes(report)
            labels = reader.first_classes() if labels is None else labels
            if labels is None:
                raise InputError(
                    f"{reader.name} does not tell its classes; give them with classes= (--classes)"
                )
            found.append(labels)
        return np.unique(np.concatenate(found))

    def _name_columns(self) -> None:
        """Call columns as the first reader does; the others must not call them otherwise."""
        learner, first = self.learner, self.readers[0]
        learner._name_prefix = first.name_prefix
        learner._name_base = first.name_base or 0
        names = first.names()
        if names is None:
            return
        learner.feature_names_in_ = np.array(list(names), dtype=object)
        learner.n_features_in_ = len(names)
        learner._open = False
        for other in self.readers[1:]:
            if list(other.names() or ()) != list(names):
                raise InputError(
                    f"{other.name} has other columns than {first.name}; give files of the same"
                )

    def _sound_parts(self, begin: Position, report: Report) -> Iterator[Batch]:
        """Rows as they are read, checked; those that were learned from before are dropped."""
        fresh = (begin.file, begin.mark, begin.drop) == (0, None, 0)
        self.bad = BadLines() if fresh else begin.bad.copy()
        bad = self.bad if self.skip else None
        row, drop = begin.row, begin.drop
        for file in range(begin.file, len(self.readers)):
            anchor = replace(begin, drop=0)
            if file > begin.file:
                anchor = Position(begin.number, file, row=row, bad=self.bad.copy())
            since = 0
            for part in self._parts(file, anchor.mark, bad, report):
                rows, codes = self._sound(part, bad)
                known = min(drop, len(rows))
                drop -= known
                before = replace(anchor, drop=since + known, row=row)
                since, row = since + len(rows), row + len(rows) - known
                if part.block.mark is not None:
                    self.marks[file] = part.block.mark
                    anchor = Position(begin.number, file, part.block.mark, bad=self.bad.copy())
                    since = 0
                after = replace(anchor, drop=since, row=row)
                rows = rows.part(known, len(rows)) if known else rows
                yield Batch(rows, codes[known:], part.block.n_columns, before, after)

    def _parts(
        self, file: int, mark: str | None, bad: BadLines | None, report: Report
    ) -> Iterator[Part]:
        """The parts of a file, which counts from where the first one does."""
        reader = self.readers[file]
        if reader.name_base is None:
            reader.name_base = self.base
        for part in reader.parts(mark, bad, report):
            if self.base is None:
                self.base = reader.name_base
                self.learner._name_base = self.base or 0
            yield part

    def _sound(self, part: Part, bad: BadLines | None) -> tuple[Compressed, Ints]:
        """The rows of a part that can be learned from; with `bad` others are counted."""
        learner, block = self.learner, part.block
        if block.y is None:
            raise InputError(f"{part.where(0)} has no label; name the column that holds the target")
        codes = intake.codes_of(learner.classes_, np.asarray(block.y))
        rows = intake.of_block(block)
        if bad is None:
            wrong = np.flatnonzero(codes < 0)
            if len(wrong):
                row = int(wrong[0])  # what is wrong with an earlier row is said first
                learner._checked(rows.part(0, row), block.first, None, part.where)
                raise InputError(
                    f"{part.where(row)} has the label {_short(np.asarray(block.y)[row].item())}, "
                    f"which is not among the classes {learner.classes_.tolist()}; give all classes "
                    f"with classes= (--classes), or pass over such lines {SKIP}"
                )
            return learner._checked(rows, block.first, None, part.where), codes
        hashed = learner.n_bits is not None
        rows = intake.signed(rows, hashed)
        faults = intake.faults_of(rows, learner._width(), hashed)
        good = (codes >= 0) & (faults == kernel.FINE)
        if good.all():
            return rows, codes
        self._count(bad, part, codes, faults)
        kept = np.flatnonzero(good)
        return rows.pick(kept), codes[kept]

    @staticmethod
    def _count(bad: BadLines, part: Part, codes: Ints, faults: npt.NDArray[np.uint8]) -> None:
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            bad.add(NO_CLASS, len(unknown), part.where(int(unknown[0])))
        intake.count_faults(bad, np.where(codes < 0, kernel.FINE, faults), part.where)

    def _shuffled(self, batches: Iterator[Batch], begin: Position) -> Iterator[Batch]:
        """Stretches of `shuffle` rows, each in an order of its own; the first is of any length."""
        first = self._draw(begin.number, 0).integers(1, self.shuffle, endpoint=True)
        stretch = 1 if begin.row == 0 else 2 + (begin.row - int(first)) // self.shuffle
        held: list[tuple[Any, Compressed]] = []
        height, last, width = 0, begin, None
        for batch in batches:
            done, width = 0, batch.width
            size = int(first) if stretch == 1 else self.shuffle
            while height + len(batch.rows) - done >= size:
                cut = done + size - height
                held.append((batch.codes[done:cut], batch.rows.part(done, cut)))
                at = batch.before
                after = replace(at, drop=at.drop + cut, row=at.row + cut)
                yield self._mixed(held, begin.number, stretch, width, last, after)
                held, height, done, size = [], 0, cut, self.shuffle
                last, stretch = after, stretch + 1
            held.append((batch.codes[done:], batch.rows.part(done, len(batch.rows))))
            height += len(batch.rows) - done
        if height:
            after = Position(begin.number + 1, bad=self.bad.copy())
            yield self._mixed(held, begin.number, stretch, width, last, after)

    def _mixed(
        self,
        held: list[tuple[Any, Compressed]],
        number: int,
        stretch: int,
        width: int | None,
        before: Position,
        after: Position,
    ) -> Batch:
        codes, rows = join(held)
        order = self._draw(number, stretch).permutation(len(rows))
        assert codes is not None
        return Batch(rows.pick(order), codes[order], width, before, after)

    def _draw(self, number: int, stretch: int) -> np.random.Generator:
        """Draws that depend on the seed, the pass and the stretch, on nothing else."""
        return np.random.default_rng([self.seed, number, stretch])


def _named(report: Report, number: int, passes: int) -> Report:
    """Report reading as learning, in which pass."""
    what = "learning" if passes == 1 else f"learning, pass {number + 1} of {passes}"
    return lambda _, done, total: report(what, done, total)


def _short(label: Any) -> str:
    """A label for a sentence: 7 rather than 7.0."""
    whole = isinstance(label, float) and label.is_integer()
    return repr(int(label)) if whole else repr(label)
