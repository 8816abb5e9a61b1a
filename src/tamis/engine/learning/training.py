"""Train a learner from a stream of rows: the loop behind `learn`, `tune` and `fit_stream`.

Reading runs ahead of learning. Each batch of rows carries the position at which reading would
resume after it. So a training can be saved between any two batches, and a resumed training ends
with the same model, bit for bit (`checkpoint.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import Compressed, RowBlock
from tamis.core.errors import InputError, ParameterError
from tamis.core.params import Number, check
from tamis.core.target import TASKS, look_like_numbers, numbers_in_labels
from tamis.kernels import binary
from tamis.kernels import row_scoring as kernel
from tamis.methods.online import row_input
from tamis.methods.online.kept_learner import KeptLearner
from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.progressive import Curve, Recent, RecentLosses, Turnover
from tamis.methods.online.regressors import NOT_A_NUMBER, numbers_of, regressor_of
from tamis.methods.online.scorer import LinearScorer
from tamis.methods.online.weights import Goals, Ints
from tamis.sources.base import BadLines, NoClassesError, Progress, RowSource, silent
from tamis.sources.rebatch import join
from tamis.sources.text.svmlight_rows import SKIP

#: The comings and goings of more kept features than this are not recorded.
MOST_WATCHED = 5_000

#: Descriptions of rows whose label is not a class, or no number, for counts of skipped lines.
NO_CLASS = "with a label that is not among the classes"
NO_NUMBER = "with a target that is not a number"


@dataclass(frozen=True)
class Schedule:
    """How a training iterates over its rows.

    Attributes
    ----------
    passes : int
        Number of passes over the rows.
    shuffle : int
        How many rows to shuffle at a time; 0 keeps their order.
    random_state : int
        The seed of the shuffling.
    skip_bad_lines : bool
        Count lines that cannot be learned from, and continue.
    """

    passes: int = 1
    shuffle: int = 0
    random_state: int = 0
    skip_bad_lines: bool = False

    def __post_init__(self) -> None:
        check("fit_stream", "passes", self.passes, Number(1, integer=True))
        check("fit_stream", "shuffle", self.shuffle, Number(0, integer=True))
        check("fit_stream", "random_state", self.random_state, Number(0, integer=True))


@dataclass(frozen=True)
class Position:
    """Where reading resumes: in which pass and file, after which mark, and how many rows later.

    `row` counts the rows learned in this pass, and `bad` the lines skipped in it up to the mark.
    """

    number: int = 0
    file: int = 0
    mark: str | None = None
    drop: int = 0
    row: int = 0
    bad: BadLines = field(default_factory=BadLines)


@dataclass(frozen=True)
class Batch:
    """Checked rows, what to predict (codes of classes, numbers), the positions around them."""

    rows: Compressed
    goals: Goals
    width: int | None
    before: Position
    after: Position

    def first(self, n: int) -> Batch:
        """Return a batch of the first `n` rows."""
        rows = self.rows.part(0, min(n, len(self.rows)))
        return replace(self, rows=rows, goals=self.goals[: len(rows)])


def for_task(learner: OnlineLearner, task: str) -> OnlineLearner:
    """Return an untrained learner for a task: of numbers if they were asked for."""
    check("learn", "task", task, TASKS)
    if task == "regression":
        return regressor_of(learner)
    if task == "classification" and learner.task != task:
        raise ParameterError(
            f"{learner.public_name} predicts numbers, and the task is classification; use "
            f"{learner.public_name.removesuffix('Regressor')}, or another learner of classes"
        )
    return learner


class Training:
    """A learner, the sources of its rows, and its position in them.

    Parameters
    ----------
    learner : OnlineLearner
        The learner.
    sources : sequence of RowSource
        Where rows are read from, in order.
    schedule : Schedule
        How to iterate over them.
    rivals : sequence of OnlineLearner, optional
        Other learners that use the same rows; `recent` then counts the mistakes of all.
    """

    def __init__(
        self,
        learner: OnlineLearner,
        sources: Sequence[RowSource],
        schedule: Schedule = Schedule(),
        rivals: Sequence[OnlineLearner] | None = None,
    ) -> None:
        self.learner, self.sources, self.schedule = learner, sources, schedule
        self.learners = [learner, *(rivals or ())]
        self.position = Position()
        self.curve, self.turnover = Curve(), Turnover()
        self.recent = None if rivals is None else Recent(len(self.learners))
        #: Lines skipped so far in the current pass.
        self.bad = BadLines()
        #: The last mark of each file that was read.
        self.marks: dict[int, str] = {}
        #: What svmlight indices count from, once that is known.
        self.base: int | None = None
        once = [source.name for source in sources if not source.rereadable]
        if once and schedule.passes > 1:
            raise InputError(f"{once[0]} can be read only once; give passes=1, or a file")

    @property
    def rows(self) -> int:
        """How many rows were learned, in all passes."""
        return self.learner.work_["rows"]

    def start(
        self,
        classes: Any = None,
        progress: Progress = silent,
        task: str = "auto",
        *,
        may_change: bool = False,
    ) -> str:
        """Begin a model with its classes and the names of its columns.

        Labels that look like numbers to predict are refused by a learner of classes, unless `task`
        is "classification"; with `may_change` it becomes one of numbers, and why is returned.
        """
        given = self.learner.classes if classes is None else classes
        if self.learner.task == "regression":
            if given is not None:
                raise ParameterError(
                    f"{self.learner.public_name} predicts numbers, so it takes no classes "
                    "(--classes); leave them out"
                )
            self._begin(None)
            return ""
        found, as_numbers = [], may_change and task == "auto"
        if_classes = (
            "if they are classes, say so with task='classification' (--task classification)"
        )
        for source in self.sources if given is None else ():
            # Data that can be read only once shows just its first labels.
            try:
                labels = source.classes(progress)
            except NoClassesError as error:
                if not as_numbers:
                    raise
                self.predict_numbers()
                self._begin(None)
                return f"task: regression, because {error.what}, which are numbers to predict"
            if labels is None:
                raise InputError(
                    f"the classes of {source.name} are unknown; give them with classes= (--classes)"
                )
            found.append(labels)
        known = np.unique(np.concatenate(found) if given is None else np.asarray(given))
        is_text = given is None and task == "auto" and known.dtype.kind == "U"
        if is_text and (why := numbers_in_labels(known)):
            raise InputError(f"{self.sources[0].name}: {why}")
        if given is None and task == "auto" and look_like_numbers(known):
            reason = (
                f"{self.sources[0].name} has {len(known):,} different labels from {known[0]} to "
                f"{known[-1]}, which look like numbers to predict"
            )
            if not may_change:
                raise InputError(
                    f"{reason}, and {self.learner.public_name} learns classes; use a learner of "
                    f"numbers, such as RowSieveRegressor, or {if_classes}"
                )
            self.predict_numbers()
            self._begin(None)
            return f"task: regression, because {reason}; {if_classes}"
        if not len(known):  # no line can be read: raise the error of the first one
            for source in self.sources:
                deque(source.batches(), maxlen=0)
        whose = self.sources[0].name if given is None else f"classes={known.tolist()}"
        self._begin(known, whose)
        return ""

    def predict_numbers(self) -> None:
        """Replace the learners, which have not begun, by those that predict numbers."""
        self.learners = [regressor_of(learner) for learner in self.learners]
        self.learner = self.learners[0]

    def _begin(self, classes: Any, whose: str = "") -> None:
        for learner in self.learners:
            learner.begin(classes, whose)
            learner.columns = self.learner.columns
        of_numbers = self.learner.task == "regression"
        self.curve = Curve(of_numbers=of_numbers)
        if self.recent is not None:
            self.recent = (RecentLosses if of_numbers else Recent)(len(self.learners))
        self._name_columns()

    def run(
        self,
        progress: Progress = silent,
        after_batch: Callable[[Training], object] = lambda training: None,
    ) -> None:
        """Learn from all remaining batches; `after_batch` is called after each."""
        for batch in self.batches(progress):
            self.take(batch)
            after_batch(self)

    def batches(self, progress: Progress = silent) -> Iterator[Batch]:
        """Yield the batches that remain after the current position."""
        begin, passes = self.position, self.schedule.passes
        self.bad = begin.bad.copy()
        for number in range(begin.number, passes):
            what = "learning" if passes == 1 else f"learning, pass {number + 1} of {passes}"

            def learning(_: str, done: int, total: int | None, what: str = what) -> None:
                progress(what, done, total)

            position = begin if number == begin.number else Position(number)
            batches = self._read_pass(position, learning)
            yield from self._shuffled(batches, position) if self.schedule.shuffle else batches

    def take(self, batch: Batch) -> None:
        """Learn from a batch, which must be the next one."""
        for learner in self.learners:
            learner.expect(batch.rows, batch.width)
        for lo, hi in (self.recent or self.curve).cuts(self.rows, len(batch.rows)):
            part, goals = batch.rows.part(lo, hi), batch.goals[lo:hi]
            for learner in self.learners:
                learner.update(learner.prepare(part), goals)
            work = self.learner.work_
            if self.recent is None and isinstance(self.learner, KeptLearner):
                self._note_kept(work["rows"])
            fit = self.learner.model.fit
            wrong = float(fit[binary.ERRORS]) if len(fit) else work["mistakes"]
            self.curve.record(work["rows"], wrong, work["entered"])
            if self.recent is not None:
                totals = self.recent.totals([learner.model for learner in self.learners])
                self.recent.record(work["rows"], totals)
        self.position = batch.after

    def finish(self) -> None:
        """Store the skipped lines and the error curve in the learner."""
        if not self.rows:
            raise InputError(f"{self.sources[0].name} holds no row to learn from; give some")
        self.learner.bad_lines_ = dict(sorted(self.bad.counts.items()))
        self.learner.curve_ = self.curve.table()
        if self.turnover.entries:
            self.turnover.record(self.rows, self.learner.kept_)
        self.learner.turnover_ = self.turnover.entries

    def set_base(self, base: int | None) -> None:
        """Set what svmlight indices count from."""
        self.base, self.learner.columns.base = base, base or 0

    def _note_kept(self, rows: int) -> None:
        """Record which features are kept, at the points of the curve, unless they are too many."""
        assert isinstance(self.learner, KeptLearner)
        if rows % self.curve.every == 0 and self.learner.n_features_ <= MOST_WATCHED:
            self.turnover.record(rows, self.learner.kept_)

    # --- small steps -------------------------------------------------------------------------

    def _name_columns(self) -> None:
        """Name columns as the first source does; the others must have the same names."""
        first, columns = self.sources[0], self.learner.columns
        columns.prefix, columns.base = first.name_prefix, first.name_base or 0
        if (names := first.names()) is None:
            return
        columns.fix(len(names), list(names))
        for other in self.sources[1:]:
            if list(other.names() or ()) != list(names):
                raise InputError(
                    f"{other.name} has other columns than {first.name}; give files with the same "
                    "columns"
                )

    def _read_pass(self, begin: Position, progress: Progress) -> Iterator[Batch]:
        """Yield checked rows as they are read, without those that were learned before."""
        fresh = (begin.file, begin.mark, begin.drop) == (0, None, 0)
        self.bad = BadLines() if fresh else begin.bad.copy()
        bad = self.bad if self.schedule.skip_bad_lines else None
        row, drop = begin.row, begin.drop
        for file in range(begin.file, len(self.sources)):
            anchor = replace(begin, drop=0)
            if file > begin.file:
                anchor = Position(begin.number, file, row=row, bad=self.bad.copy())
            since, source = 0, self.sources[file]
            if source.name_base is None:  # count as the first file does
                source.name_base = self.base
            for block in source.batches(after=anchor.mark, bad=bad, progress=progress):
                if self.base is None:
                    self.set_base(source.name_base)
                rows, goals = self._usable(block, bad)
                known = min(drop, len(rows))
                drop -= known
                before = replace(anchor, drop=since + known, row=row)
                since, row = since + len(rows), row + len(rows) - known
                if block.mark is not None:
                    self.marks[file] = block.mark
                    anchor = Position(begin.number, file, block.mark, bad=self.bad.copy())
                    since = 0
                after = replace(anchor, drop=since, row=row)
                rows = rows.part(known, len(rows)) if known else rows
                yield Batch(rows, goals[known:], block.n_columns, before, after)

    def _usable(self, block: RowBlock, bad: BadLines | None) -> tuple[Compressed, Goals]:
        """Return the usable rows of a block and what to predict for them."""
        if block.y is None:
            raise InputError(
                f"{block.where(0)} has no label; name the column that holds the target"
            )
        y, of_numbers = np.asarray(block.y), self.learner.task == "regression"
        goals: Goals
        if of_numbers:
            goals, wrong = numbers_of(y)
        else:
            goals = row_input.codes_of(self.learner.classes_, y)
            wrong = np.flatnonzero(goals < 0)
        if bad is None and len(wrong):
            row = int(wrong[0])  # an earlier bad row is reported first
            self.learner.check(row_input.block_rows(block).part(0, row), block.where)
            label = y.tolist()[row]
            whole = isinstance(label, float) and label.is_integer()  # 7 rather than 7.0
            has = f"{block.where(row)} has the label {int(label) if whole else label!r}, "
            if label is None or label != label:
                raise InputError(
                    f"{block.where(row)} has no label; leave such rows out with "
                    f"missing_target='drop' (--missing-target drop), or skip them {SKIP}"
                )
            if of_numbers:
                raise InputError(f"{has}{NOT_A_NUMBER}; skip such lines {SKIP}")
            raise InputError(
                f"{has}which is not among the classes {self.learner.classes_.tolist()}; give all "
                f"classes with classes= (--classes), or skip such lines {SKIP}"
            )
        without = NO_NUMBER if of_numbers else NO_CLASS
        rows, kept = usable_rows(self.learner, block, bad, wrong, without)
        return rows, goals if kept is None else goals[kept]

    def _shuffled(self, batches: Iterator[Batch], begin: Position) -> Iterator[Batch]:
        """Shuffle runs of `shuffle` rows, each independently; the first may have any length."""
        size = self.schedule.shuffle
        first = int(self._draw(begin.number, 0).integers(1, size, endpoint=True))
        run = 1 if begin.row == 0 else 2 + (begin.row - first) // size
        held: list[tuple[Any, Compressed]] = []
        height, last, width = 0, begin, None

        def mixed(after: Position) -> Batch:
            goals, rows = join(held)
            assert goals is not None
            order = self._draw(begin.number, run).permutation(len(rows))
            return Batch(rows.pick(order), goals[order], width, last, after)

        for batch in batches:
            done, width = 0, batch.width
            length = first if run == 1 else size
            while height + len(batch.rows) - done >= length:
                cut = done + length - height
                held.append((batch.goals[done:cut], batch.rows.part(done, cut)))
                at = batch.before
                after = replace(at, drop=at.drop + cut, row=at.row + cut)
                yield mixed(after)
                held, height, done, length = [], 0, cut, size
                last, run = after, run + 1
            held.append((batch.goals[done:], batch.rows.part(done, len(batch.rows))))
            height += len(batch.rows) - done
        if height:
            yield mixed(Position(begin.number + 1, bad=self.bad.copy()))

    def _draw(self, number: int, run: int) -> np.random.Generator:
        """Return a generator that depends only on the random state, the pass and the run."""
        return np.random.default_rng([self.schedule.random_state, number, run])


def usable_rows(
    scorer: LinearScorer,
    block: RowBlock,
    bad: BadLines | None,
    wrong: Sequence[int] | npt.NDArray[np.intp] = (),
    reason: str = NO_CLASS,
) -> tuple[Compressed, Ints | None]:
    """Return the usable rows of a block and their positions (None: all rows).

    Without `bad`, a bad row raises an error. With it, bad rows and rows whose label is `wrong`, for
    this reason, are counted there and skipped.
    """
    rows = row_input.block_rows(block)
    if bad is None:
        return scorer.check(rows, block.where), None
    hashed = scorer.n_bits is not None
    rows = row_input.signed(rows, hashed)
    faults = np.zeros(len(rows), dtype=np.uint8)
    limit = scorer.width_limit
    kernel.find_faults(rows.indptr, rows.indices, rows.data, limit, not hashed, faults)
    found = {reason: np.asarray(wrong, dtype=np.intp)}
    faults[found[reason]] = kernel.FINE  # counted once, for its label
    found |= {text: np.flatnonzero(faults == fault) for fault, text in row_input.FAULTS.items()}
    for text, which in found.items():
        if len(which):
            bad.add(text, len(which), block.where(int(which[0])))
    out = np.concatenate(list(found.values()))
    if not len(out):
        return rows, None
    kept = np.setdiff1d(np.arange(len(rows)), out)
    return rows.pick(kept), kept
