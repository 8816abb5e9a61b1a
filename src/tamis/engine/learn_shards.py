"""Learn from several files at once, one learner a file, here or on a cluster, and merge them.

Each worker reads its own file, so rows never travel; what comes back is what a shard knows about
the features it has seen.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt
from sklearn.base import clone

from tamis.core.errors import InputError, ParameterError
from tamis.engine.executors import workers
from tamis.engine.learn import Learned, facts_of
from tamis.engine.model import check_free, plain, save_model
from tamis.engine.predict import accuracy_on
from tamis.kernels.threads import threads
from tamis.selectors.instances.merged_sofs import MergedSOFS
from tamis.selectors.instances.sofs import SOFS
from tamis.selectors.learner import InstanceLearner
from tamis.selectors.training import Training
from tamis.selectors.weights import KeptWeights
from tamis.sources.base import Report, silent
from tamis.sources.open_rows import open_rows
from tamis.sources.row_reader import BadLines


@dataclass
class _Shard:
    """A file for a worker, and how to learn from it."""

    learner: SOFS
    path: str
    classes: npt.NDArray[Any]
    training: dict[str, Any]
    reading: dict[str, Any]


def merged_learner(learner: InstanceLearner, shards: int) -> MergedSOFS:
    """The merged form of a learner, or one sentence if it has none."""
    if type(learner) not in (SOFS, MergedSOFS) or getattr(learner, "n_features", None) == "auto":
        raise ParameterError(
            "--cluster (cluster=) merges learners of the method sofs with a number of features; "
            "others learn here, from one row after the other"
        )
    given = learner.get_params(deep=False)
    known = MergedSOFS._get_param_names()
    return MergedSOFS(**{k: v for k, v in given.items() if k in known} | {"shards": shards})


def learn_shards(
    data: Sequence[str | os.PathLike[str]],
    learner: InstanceLearner,
    cluster: Any,
    *,
    out: str | Path | None = None,
    test: Any = None,
    passes: int | None = None,
    shuffle: int = 0,
    seed: int = 0,
    classes: Any = None,
    skip_bad_lines: bool = False,
    force: bool = False,
    command: str = "",
    report: Report = silent,
    format: str | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    **options: Any,
) -> Learned:
    """Learn from each file with a learner of its own, and merge them: `MergedSOFS`.

    Parameters
    ----------
    data : sequence of paths
        The shards, which every worker must be able to read.
    learner : SOFS or MergedSOFS
        What learns; its parameters are those of every shard.
    cluster : str or dask.distributed.Client
        ``"local:2"``, or the address or a client of a Dask cluster.
    out, test, passes, shuffle, seed, classes, skip_bad_lines, force, command, report, ...
        As for `tamis.learn`.
    """
    if "-" in data:
        raise ParameterError("standard input cannot be read elsewhere; give files with --cluster")
    begun, paths = time.perf_counter(), [os.path.abspath(path) for path in data]
    chosen = merged_learner(learner, len(paths))
    chosen._check_parameters()
    if out is not None:
        check_free(out, force=force)
    reading = {"format": format, "zero_based": zero_based, **options}
    readers = open_rows(paths, **reading)
    tests = None if test is None else open_rows(test, **reading)
    how: dict[str, Any] = {
        "passes": chosen.passes if passes is None else passes, "shuffle": shuffle, "seed": seed,
        "skip": skip_bad_lines,
    }  # fmt: skip
    training = Training(chosen, readers, **how)
    training.start(classes, report)
    one = SOFS(**{k: v for k, v in chosen.get_params().items() if k != "shards"})
    todo = [_Shard(clone(one), path, chosen.classes_, how, reading) for path in paths]
    with workers(cluster) as run:
        done = []
        for found in run(_learn, todo):
            done.append(found)
            report("learning shards", len(done), len(paths))
    _take(training, done, paths)
    learned = time.perf_counter()
    tally = None
    if tests is not None:
        tally = accuracy_on(chosen, tests, skip_bad_lines=skip_bad_lines, report=report)
    seconds = {"learn": learned - begun, "test": time.perf_counter() - learned}
    result = Learned(chosen, training.rows, training.mistakes, training.bad, tally, seconds)
    if out is not None:
        asked = {"data": [plain(reader.identity()) for reader in readers]}
        told = facts_of(result, training, command, asked)
        result.folder = save_model(chosen, out, force=force, **told)
    return result


def _learn(shard: _Shard) -> tuple[KeptWeights, int, int | None, BadLines]:
    """In a worker: learn from one file with one thread."""
    training = Training(shard.learner, open_rows(shard.path, **shard.reading), **shard.training)
    training.start(shard.classes)
    with threads(1):
        for batch in training.batches():
            training.take(batch)
    training.finish()
    model = shard.learner._model
    assert isinstance(model, KeptWeights)
    return model, int(shard.learner.n_features_in_), training.base, training.bad


def _take(training: Training, done: list[Any], paths: list[str]) -> None:
    """Put the shards together."""
    learner = training.learner
    bases = {base: path for (_, _, base, _), path in zip(done, paths, strict=True)}
    bases.pop(None, None)
    if len(bases) > 1:
        raise InputError(
            f"the indices in {bases[0]} begin at 0 and those in {bases[1]} seem to begin at 1; say "
            "which with --zero-based or --one-based (zero_based=)"
        )
    for base in bases:
        training.base = learner._name_base = base
    learner._model.models = [model for model, *_ in done]  # type: ignore[union-attr]
    learner.n_features_in_ = max(width for _, width, _, _ in done)
    learner._model.reach(learner.n_features_in_)
    bad = BadLines()
    for *_, more in done:
        for reason, count in more.counts.items():
            bad.add(reason, count, more.first.get(reason, ""))
    training.bad = bad
    training.finish()
