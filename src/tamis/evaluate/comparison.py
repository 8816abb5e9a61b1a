"""Compare selectors: data sets x methods x folds, evaluated by classifiers, with a cache.

``compare`` reads the data, makes the folds, looks up which cells are finished, runs the others in
worker processes, and collects everything in a `Results`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from tamis._registry import CV
from tamis._version import versions
from tamis.core.errors import ParameterError, warn
from tamis.core.files import make_folder, scratch_folder
from tamis.core.masking import masked
from tamis.core.params import Number, OneOf, check
from tamis.core.sentences import suggestion
from tamis.evaluate.cells import Caps, Cell, CellCache, judge_key, missing
from tamis.evaluate.classifiers import check_classifiers
from tamis.evaluate.compared_methods import parse_methods, words
from tamis.evaluate.datasets import DataSet, read_datasets
from tamis.evaluate.paired import LEAST_FOLDS, PAIRED_TESTS, PairedTest
from tamis.evaluate.pool import ENDED, Task, run_here, run_on_cluster
from tamis.evaluate.protocol import Fold, Split, fold_seed, make_folds, parse_cv
from tamis.evaluate.result_tables import Line, interim_lines, results_of
from tamis.evaluate.results import Results, check_place
from tamis.kernels.threads import thread_count
from tamis.sources.base import Progress, silent

#: Called after every cell with a function that returns the results so far.
Watch = Callable[[Callable[[], list[Line]]], None]

#: The default classifiers: those of the papers.
DEFAULT_CLASSIFIERS = ("knn", "svm", "tree", "nb")


@dataclass(eq=False)
class CellState:
    """A cell, what is known about it, and the rows of its fold."""

    cell: Cell
    fold: Fold
    record: dict[str, Any] = field(default_factory=dict)


def compare(
    data: Any,
    methods: Any,
    classifiers: Sequence[str] | str = DEFAULT_CLASSIFIERS,
    *,
    cv: str | int = CV,
    split: Split = "official",
    random_state: int = 0,
    control: str | None = None,
    paired: PairedTest = "corrected-t",
    task: str = "auto",
    out: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    cluster: Any = None,
    cell_seconds: float | None = None,
    cell_cpu_seconds: float | None = None,
    cell_megabytes: float | None = None,
    shares: Sequence[float] = (1.0,),
    reading: Mapping[str, Any] | None = None,
    progress: Progress = silent,
    watch: Watch | None = None,
    command: str = "",
) -> Results:
    """Compare selectors on data sets, with selection inside each training fold.

    Parameters
    ----------
    data : path, sequence of paths, or mapping of names to paths or pairs (X, y)
        A file that ``tamis.open`` reads, ``TRAIN:TEST`` for two of them, or a folder with X.npz or
        X.npy, y.npy and meta.json.
    methods : str, sequence or mapping
        ``"saola,mrmr:n_features=50"``, selectors, or a mapping of labels to either. A class of
        your own is ``package.module:Class``. ``alpha=`` and ``threshold=`` set the level of the
        measure.
    classifiers : sequence of str, or str with commas
        The classifiers: knn1, knn, svm, rbf, tree, nb, lr.
    cv : str or int, default="5x10"
        REPEATSxFOLDS, stratified, for data without an official split.
    split : {"official", "never"}
        Whether the official split of a data set is used, if it has one.
    random_state : int, default=0
        Seed of the folds, and of random methods.
    control : str, optional
        The method the others are tested against; default: the first.
    paired : {"corrected-t", "t", "wilcoxon"}
        The test behind win, tie and loss on one data set.
    task : {"auto", "classification"}, default="auto"
        "classification": the targets hold classes, even if they look like numbers to predict,
        which "auto" refuses, because classifiers judge what is kept.
    out : path, optional
        Folder for the results; the cells are saved in its ``cells``. Without it nothing is saved.
    cache : path, optional
        Folder of the cells, if several results share one.
    n_jobs : int, optional
        Worker processes; default: one per core.
    cluster : str or dask.distributed.Client, optional
        Run the cells there instead: ``"tcp://host:8786"``, a client, or ``"local:2"``. `out` must
        be a folder that all hosts share. A cell is saved when all its steps are finished.
    cell_seconds, cell_cpu_seconds, cell_megabytes : float, optional
        Limits of each step of a cell (the selection, then each classifier): time by the clock, CPU
        time (Linux only), which other work on the machine hardly changes, and memory. A step that
        exceeds one is stopped and reported as such.
    shares : sequence of float
        Shares of the features after which the kept set is evaluated, for streaming methods; see
        `over_time`.
    reading : mapping, optional
        How files are read, as the options of ``tamis.open``.
    progress : callable, optional
        Called with the current step, the amount done, and the total.
    watch : callable, optional
        Called after each cell with a function that returns the results so far.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = compare({"cancer": (X, y)}, "saola,alpha-investing", "knn", cv=3)
    >>> found.methods
    ['saola', 'alpha-investing']
    >>> found.grid("accuracy", "knn").shape
    (1, 2)
    """
    judges = check_classifiers(words(classifiers))
    chosen, scheme = parse_methods(methods), parse_cv(cv)
    caps = Caps(cell_seconds, cell_megabytes, cell_cpu_seconds)
    params: dict[str, Any] = {
        "methods": [asdict(method) for method in chosen],
        "classifiers": list(judges),
        "cv": str(scheme),
        "split": split,
        "random_state": random_state,
        "control": chosen[0].label if control is None else control,
        "paired": paired,
        "shares": list(shares),
        "cell_seconds": cell_seconds,
        "cell_cpu_seconds": cell_cpu_seconds,
        "cell_megabytes": cell_megabytes,
        "versions": versions(),
        "command": masked(command),
    }
    _check(params, n_jobs)
    if out is not None:
        check_place(out)
    sets = read_datasets(data, reading or {}, task)
    states = []
    params["data"] = []
    for one in sets:
        official = one.official if split == "official" else None
        folds = make_folds(one.codes, scheme, random_state, official, name=one.name)
        params["data"].append(_about(one, folds))
        if 1 < len(folds) < (least := LEAST_FOLDS[paired]) and len(chosen) > 1:
            warn(
                f"{one.name}: {len(folds)} folds are too few for the {paired} test to find any "
                f"difference significant; use at least {least}, or the default, cv={CV!r} (--cv "
                f"{CV}) with paired='corrected-t'"
            )
        # By fold, so that all methods advance together.
        states += [
            CellState(
                Cell(
                    one.name, one.fingerprint, method, fold.repeat, fold.number, fold.digest,
                    fold_seed(random_state, fold),
                    tuple(map(float, shares)) if method.streams else (1.0,),
                ),
                fold,
            )
            for fold in folds for method in chosen
        ]  # fmt: skip
    # A folder for arrays that workers map; folders left by killed runs are also removed.
    with scratch_folder(gettempdir() if out is None else make_folder(out)) as work:
        cells = CellCache(cache or Path(out or work) / "cells")
        tasks = _unfinished(states, judges, cells, caps, work)
        _lay_out(tasks, sets, work)
        if cluster is None:
            events = run_here(tasks, n_jobs or thread_count(), caps)
        else:
            events = run_on_cluster(tasks, cluster, caps)
        done = len(states) - len(tasks)
        progress("comparing", done, len(states))
        with closing(events):
            for state, step, record in events:
                if step == ENDED:
                    done += 1
                    progress("comparing", done, len(states))
                    if watch is not None:
                        watch(lambda: interim_lines(states, judges))
                    continue
                if step == "selection":
                    state.record["selection"] = record
                else:
                    state.record["scores"][judge_key(step)] = record
                cells.save(state.cell, state.record)
    results = results_of(params, states, sets, len(tasks))
    if out is not None:
        results.save(out)
    return results


def _check(params: dict[str, Any], n_jobs: int | None) -> None:
    """Raise one sentence for parameters out of range."""
    check("compare", "random_state", params["random_state"], Number(0, integer=True))
    check("compare", "split", params["split"], OneOf(("official", "never")))
    check("compare", "paired", params["paired"], OneOf(PAIRED_TESTS))
    check("compare", "n_jobs", n_jobs, (Number(1, integer=True), None))
    for cap in ("cell_seconds", "cell_cpu_seconds", "cell_megabytes"):
        check("compare", cap, params[cap], (Number(0, open_low=True), None))
    labels = [method["label"] for method in params["methods"]]
    if params["control"] not in labels:
        raise ParameterError(
            f"the control {params['control']!r} is none of the methods; "
            f"{suggestion(params['control'], labels)}"
        )
    shares = params["shares"]
    for share in shares:
        check("compare", "shares", share, Number(0, 1, open_low=True))
    if not shares or sorted(set(shares)) != shares or shares[-1] != 1.0:
        raise ParameterError("compare: give increasing shares that end with 1, as (0.25, 0.5, 1.0)")


def _unfinished(
    states: list[CellState], judges: tuple[str, ...], cells: CellCache, caps: Caps, work: Path
) -> list[Task]:
    """Look up every cell; return a task for each that is not finished."""
    tasks: list[Task] = []
    for state in states:
        cell, state.record = state.cell, cells.load(state.cell)
        select, left = missing(state.record, judges, caps)
        if select:
            state.record = {"selection": None, "scores": {}}
        if select or left:
            message = {
                "folder": str(work / cell.fingerprint),
                "fold": str(work / cell.fold),
                "method": asdict(cell.method),
                "seed": cell.seed,
                "shares": list(cell.shares),
                "kept": None if select else state.record["selection"]["kept"],
                "classifiers": left,
            }
            tasks.append((state, message))
    return tasks


def _lay_out(tasks: list[Task], sets: list[DataSet], work: Path) -> None:
    """Write the arrays that the tasks need where workers can map them."""
    needed = {state.cell.data for state, _ in tasks}
    for one in sets:
        if one.name in needed and not (work / one.fingerprint).exists():
            one.write(work / one.fingerprint)
    for state, _ in tasks:
        for part, rows in (("train", state.fold.train), ("test", state.fold.test)):
            path = work / f"{state.fold.digest}.{part}.npy"
            if not path.exists():
                np.save(path, rows)


def _about(one: DataSet, folds: list[Fold]) -> dict[str, Any]:
    counts = np.bincount(one.codes)
    return {
        "name": one.name,
        "fingerprint": one.fingerprint,
        "rows": one.X.shape[0],
        "features": one.X.shape[1],
        "classes": {str(c): int(k) for c, k in zip(one.classes.tolist(), counts, strict=True)},
        "folds": len(folds),
        "train_rows": len(folds[0].train),
        "test_rows": len(folds[0].test),
    }
