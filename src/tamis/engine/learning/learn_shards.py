"""Learn shards of the rows in parallel, on this machine or a cluster, and merge the learners.

A shard is a file, or one of several ranges of rows of a single file. Each worker reads its own
shard, so rows are never sent; a worker returns only the statistics of the features it has seen.
Called by `learn` with a cluster.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from tamis.core.errors import InputError, ParameterError
from tamis.core.params import Number, check
from tamis.engine.learning.training import Schedule, Training
from tamis.engine.workers.executors import process_count, workers
from tamis.kernels.threads import threads
from tamis.methods.online.learner import OnlineLearner
from tamis.methods.online.merged_row_sieve import MergedRowSieveLearner
from tamis.methods.online.merged_sofs import MergedSofsLearner
from tamis.methods.online.regressors import (
    MergedRowSieveRegressorLearner,
    RowSieveRegressorLearner,
)
from tamis.methods.online.row_sieve import RowSieveLearner
from tamis.methods.online.shards import MergedLearner
from tamis.methods.online.sofs import SofsLearner
from tamis.methods.online.weights import KeptWeights
from tamis.sources import open_rows
from tamis.sources.base import BadLines, Progress, RowSource

#: The rows of a shard: the file, the number of the range in it, and how many ranges it has.
Cut = tuple[str, int, int]

#: Learners that can be merged, and what they become.
MERGED: dict[type[OnlineLearner], type[MergedLearner]] = {
    RowSieveLearner: MergedRowSieveLearner,
    RowSieveRegressorLearner: MergedRowSieveRegressorLearner,
    SofsLearner: MergedSofsLearner,
}


def merged_learner(learner: OnlineLearner, shards: int) -> MergedLearner:
    """Return the merged form of a learner, or raise an error if it has none."""
    params, kind = learner.get_params(), type(learner)
    found = MERGED.get(kind, kind)
    if not issubclass(found, MergedLearner) or params["n_features"] == "auto":
        raise ParameterError(
            "--cluster (cluster=) merges learners of the methods row-sieve and sofs with a number "
            "of features; other learners run in this process, row by row"
        )
    known = found.parameter_names
    return found(**{k: v for k, v in params.items() if k in known} | {"shards": shards})


def cut_shards(
    paths: Sequence[str],
    sources: Sequence[RowSource],
    learner: OnlineLearner,
    cluster: Any,
    shards: int | None,
) -> list[Cut]:
    """Return the shards: one per file, or ranges of rows of a single file."""
    if shards is not None:
        check("learn", "shards", shards, Number(1, integer=True))
    if len(sources) > 1:
        if shards not in (None, len(sources)):
            raise ParameterError(
                f"shards={shards} was given with {len(sources)} files, each of which is a shard; "
                "leave --shards (shards=) out, or give one file to be cut"
            )
        return [(path, 0, 1) for path in paths]
    (source,) = sources
    can_be_cut = source.share(0, 2) is not None
    if not can_be_cut and shards not in (None, 1):
        raise ParameterError(
            f"{source.name} cannot be cut into shards; make a row store of it with tamis convert, "
            "or give several files"
        )
    if shards is None and not can_be_cut:
        shards = 1
    elif shards is None and isinstance(learner, MergedLearner):
        shards = learner.shards
    elif shards is None and isinstance(cluster, str) and cluster.startswith("local:"):
        shards = process_count(cluster)
    elif shards is None:
        raise ParameterError(
            f"give with --shards (shards=) how many shards {source.name} is to be cut into, 1 for "
            "one learner; the model depends on it, so the number of workers does not decide"
        )
    return [(paths[0], number, shards) for number in range(shards)]


def learn_shards(
    training: Training,
    cuts: Sequence[Cut],
    cluster: Any,
    reading: dict[str, Any],
    progress: Progress,
) -> None:
    """Learn each shard in a worker, and merge them in the learner of a started training."""
    learner = training.learner
    assert isinstance(learner, MergedLearner)
    params = {k: v for k, v in learner.get_params().items() if k != "shards"}
    one = next(kind for kind, merged in MERGED.items() if merged is type(learner))
    classes = None if learner.task == "regression" else learner.classes_
    schedule = training.schedule
    call = functools.partial(_learn_shard, one, params, classes, schedule, reading)
    models: list[KeptWeights] = []
    bases: dict[int, str] = {}
    with workers(cluster) as run:
        for (path, _, _), (model, width, base, bad) in zip(cuts, run(call, cuts), strict=True):
            models.append(model)
            learner.columns.width = max(learner.columns.width, width)
            if base is not None:
                bases[base] = path
            for reason, count in bad.counts.items():
                training.bad.add(reason, count, bad.first[reason])
            progress("learning shards", len(models), len(cuts))
    if len(bases) > 1:
        raise InputError(
            f"the indices in {bases[0]} begin at 0 and those in {bases[1]} seem to begin at 1; say "
            "which with --zero-based or --one-based (zero_based=)"
        )
    for base in bases:
        training.set_base(base)
    learner.model.models = models
    learner.model.reach(learner.columns.width)


def _learn_shard(
    kind: type[OnlineLearner],
    params: dict[str, Any],
    classes: npt.NDArray[Any] | None,
    schedule: Schedule,
    reading: dict[str, Any],
    cut: Cut,
) -> tuple[KeptWeights, int, int | None, BadLines]:
    """Learn the rows of one shard with one thread, in a worker.

    Returns the model, its number of columns, the base of indices, and bad lines.
    """
    path, number, of = cut
    learner = kind(**params)
    (source,) = open_rows(path, **reading)
    rows = source.share(number, of)
    assert rows is not None
    training = Training(learner, [rows], schedule)
    training.start(classes)
    with threads(1):
        training.run()
    if not training.rows and of > 1:
        raise InputError(
            f"shard {number} of {of} (counted from 0) of {path} holds no row to "
            "learn from; cut it into fewer with --shards (shards=)"
        )
    training.finish()
    assert isinstance(learner.model, KeptWeights)
    return learner.model, learner.n_features_in_, training.base, training.bad
