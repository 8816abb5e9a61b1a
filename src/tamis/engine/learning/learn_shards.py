"""Learn from several shards at once, here or on a cluster, and merge what their learners know.

A shard is a file, or one of several ranges of rows, one behind the other, of a single file. Each
worker reads its own, so rows never travel; what comes back is what a shard knows about the features
it has seen.
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
from tamis.core.files import check_folder
from tamis.core.params import Number, check
from tamis.engine.learning.learn import Learned, facts_of, tested
from tamis.engine.learning.model import plain, save_model
from tamis.engine.workers.executors import process_count, workers
from tamis.kernels.threads import threads
from tamis.methods.online.learner import InstanceLearner
from tamis.methods.online.merged_sofs import MergedSOFS
from tamis.methods.online.sofs import SOFS
from tamis.methods.online.training import Training
from tamis.methods.online.weights import KeptWeights
from tamis.sources.base import Report, silent
from tamis.sources.readers.open_rows import open_rows
from tamis.sources.readers.row_reader import BadLines, RowReader


@dataclass
class _Shard:
    """Rows for a worker, the `number`-th of `of` shares of a file, and how to learn from them."""

    learner: SOFS
    path: str
    number: int
    of: int
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
    shards: int | None = None,
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
    """Learn from each shard with a learner of its own, and merge them: `MergedSOFS`.

    Parameters
    ----------
    data : sequence of paths
        The shards, or the one file that is cut into shards; every worker must be able to read it.
        A row store is cut at rows, svmlight text that is not compressed at line ends.
    shards : int, optional
        How many shards. By default as many as files. One file that can be cut makes as many as
        ``"local:2"`` has processes, or as `MergedSOFS.shards` says; on a Dask cluster the number
        must be given, as the model depends on it. Shard s of S has rows s n // S to
        (s + 1) n // S - 1 of a store of n rows.
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
    if out is not None:
        check_folder(out, "model", force=force)
    merged_learner(learner, 1)._check_parameters()  # what is wrong is told before files are opened
    reading = {"format": format, "zero_based": zero_based, **options}
    readers = open_rows(paths, **reading)
    cuts = _cuts(readers, learner, cluster, shards)
    chosen = merged_learner(learner, len(cuts))
    tests = None if test is None else open_rows(test, **reading)
    how: dict[str, Any] = {
        "passes": chosen.passes if passes is None else passes, "shuffle": shuffle, "seed": seed,
        "skip": skip_bad_lines,
    }  # fmt: skip
    training = Training(chosen, readers, **how)
    training.start(classes, report)
    one = SOFS(**{k: v for k, v in chosen.get_params().items() if k != "shards"})
    todo = [
        _Shard(clone(one), paths[file], number, of, chosen.classes_, how, reading)
        for file, number, of in cuts
    ]
    with workers(cluster) as run:
        done = []
        for found in run(_learn, todo):
            done.append(found)
            report("learning shards", len(done), len(todo))
    _take(training, done, [shard.path for shard in todo])
    result = tested(training, tests, begun, report)
    if out is not None:
        asked = {"data": [plain(reader.identity()) for reader in readers]}
        told = facts_of(result, training, command, asked)
        result.folder = save_model(chosen, out, force=force, **told)
    return result


def _cuts(
    readers: list[RowReader], learner: InstanceLearner, cluster: Any, shards: int | None
) -> list[tuple[int, int, int]]:
    """Which file each shard reads, which share of it, and of how many."""
    if shards is not None:
        check("learn", "shards", shards, Number(1, integer=True))
    if len(readers) > 1:
        if shards not in (None, len(readers)):
            raise ParameterError(
                f"shards={shards} was given with {len(readers)} files, each of which is a shard; "
                "leave --shards (shards=) out, or give one file to be cut"
            )
        return [(file, 0, 1) for file in range(len(readers))]
    (reader,) = readers
    can_be_cut = reader.share(0, 2) is not None
    if not can_be_cut and shards not in (None, 1):
        raise ParameterError(
            f"{reader.name} cannot be cut into shards; make a row store of it with tamis convert, "
            "or give several files"
        )
    if can_be_cut and shards is None:
        shards = _shards_for(reader, learner, cluster)
    return [(0, number, shards or 1) for number in range(shards or 1)]


def _shards_for(reader: RowReader, learner: InstanceLearner, cluster: Any) -> int:
    """How many shards a file is cut into when that was not said."""
    if isinstance(learner, MergedSOFS):
        return learner.shards
    if isinstance(cluster, str) and cluster.startswith("local:"):
        return process_count(cluster)
    raise ParameterError(
        f"say with --shards (shards=) how many shards {reader.name} is to be cut into, 1 for one "
        "SOFS; the model depends on it, so the number of workers does not decide"
    )


def _learn(shard: _Shard) -> tuple[KeptWeights, int, int | None, BadLines]:
    """In a worker: learn from the rows of one shard with one thread."""
    (reader,) = open_rows(shard.path, **shard.reading)
    rows = reader.share(shard.number, shard.of)
    assert rows is not None
    training = Training(shard.learner, [rows], **shard.training)
    training.start(shard.classes)
    with threads(1):
        for batch in training.batches():
            training.take(batch)
    if not training.rows and shard.of > 1:
        raise InputError(
            f"shard {shard.number} of {shard.of} (counted from 0) of {shard.path} holds no row to "
            "learn from; cut it into fewer with --shards (shards=)"
        )
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
