"""Judge a run in a folder, and select again from halves of its rows, so that both can be resumed.

``tamis select --checkpoint`` records what is to be repeated. When all columns are decided, one part
of the rows after the other is done, and its result is saved. After a kill, `finish` takes the
results that are there and does the other parts, so what it finds is the same, bit for bit.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

from tamis.engine.persistent.resuming import begun_with, data_again
from tamis.engine.persistent.saved_selection import read_history, repeats_of
from tamis.engine.persistent.selection import Selection
from tamis.engine.persistent.selection_state import Given
from tamis.engine.procedure import procedure_of
from tamis.engine.runs import Run
from tamis.evaluate.halves import SPLITTING, Halves, counted_votes, halves
from tamis.evaluate.honest_score import CV, JUDGING, Folds
from tamis.evaluate.repeating import Work, repeated, results_of
from tamis.kernels.threads import threads
from tamis.sources.base import Progress, silent


def finish(
    folder: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    *,
    cluster: Any = None,
    n_jobs: int | None = None,
    progress: Progress = silent,
    say: Callable[[str], object] = lambda sentence: None,
    selector: Given = None,
) -> Run | None:
    """Do what is still to be repeated for a run, and return it; None if there is nothing.

    The parameters are those of `tamis.engine.persistent.resuming.resume`.
    """
    if not repeats_of(read_history(folder)):
        return None
    selection = Selection.open(folder, selector)
    line, request = begun_with(selection.history, folder)
    with contextlib.ExitStack() as stack:
        if n_jobs is not None:
            stack.enter_context(threads(n_jobs))
        state = stack.enter_context(selection._writing(False, say))
        run, asked, found = state.run(), state.repeats(), dict[str, Any]()
        run.repeatable = procedure_of(run, type(state.selector.rule))
        columns = data_again(folder, line, request, data)
        repeats = stack.enter_context(repeated(columns, run, None, {}, progress=progress))

        def results(name: str, what: str, work: Work, parts: Sequence[Any]) -> Any:
            before = state.repeated(name)
            if before:
                say(f"resuming {what} after {len(before)} of {len(parts)}")
            return results_of(
                work, parts, what, cluster=cluster, before=before, progress=progress,
                note=functools.partial(state.note_repeated, name),
            )  # fmt: skip

        if "stability" in asked:
            parts = halves(repeats.target, asked["stability"], 0, repeats.groups)
            votes = counted_votes(run, results("stability", SPLITTING, Halves(repeats), parts))
            found["stability"] = votes.record()
        if "judge" in asked:
            work = Folds(repeats, asked["judge"], 0)
            folds = work.folds(CV)
            scores = results("judge", JUDGING, work, folds)
            found["judged"] = work.over(folds, scores, CV).record()
        state.end_repeats(found)
        run = state.run()
        run.selector = state.selector
    return run
