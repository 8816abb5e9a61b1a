"""What tamis writes: any damage must be noticed, or change nothing."""

from __future__ import annotations

import functools
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

import tamis
from soak.data_files import svmlight_text
from soak.reader import Content, Reader, sparse
from tamis.engine.persistent.resuming import begin, resume
from tamis.engine.runs import open_run, save_run
from tamis.evaluate.saved_repeats import finish


class Runs(Reader):
    """Run folders: the log that is read is the log that was written."""

    name = "runs"
    is_data = False

    def make(self, folder: Path, rng: Random) -> Path:
        X, y = sparse(rng)
        run = tamis.select(X.tocsc(), rng.choice(SELECTORS)(), y)
        if rng.random() < 0.2:
            run.stability(X.tocsc(), y, pairs=2)
        save_run(run, folder / "a.run")
        return folder / "a.run"

    def read(self, path: Path) -> Content:
        return run_of(open_run(path))

    def peer(self, path: Path, original: Path) -> Content | None:
        return run_of(open_run(original))


class Selections(Reader):
    """Folders of living selections: as runs, and they can be fed."""

    name = "living selections"
    is_data = False

    def make(self, folder: Path, rng: Random) -> Path:
        X, y = sparse(rng)
        method = rng.choice([tamis.SAOLA, tamis.Sieve])
        selection = tamis.Selection.create(folder / "a.run", y, method())
        selection.feed(_named(X))
        return folder / "a.run"

    def read(self, path: Path) -> Content:
        selection = tamis.Selection.open(path)
        found = log_of(selection.run)
        n = selection.run.source["n_rows"]
        more = _named(sp.csr_matrix(np.arange(n * 2).reshape(n, 2) % 3), "new")
        selection.feed(more)
        return found | {"fed": log_of(tamis.Selection.open(path).run)["why"]}

    def peer(self, path: Path, original: Path) -> Content | None:
        copy = original.with_name(f"{path.parent.name}.copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy)
        try:
            return self.read(copy)
        finally:
            shutil.rmtree(copy)


class Unfinished(Reader):
    """Runs that were stopped: they resume to the same log and the same figures."""

    name = "stopped runs"
    is_data = False

    def make(self, folder: Path, rng: Random) -> Path:
        X, y = sparse(rng, n_columns=12)
        np.save(folder / "x.npy", X.toarray())
        np.save(folder / "x.y.npy", y)
        source = tamis.open(folder / "x.npy")
        # Fifteen folds take a second, so only some are judged.
        asked = {"judge": "linear"} if rng.random() < 0.2 else {"stability": 3}
        begin(folder / "a.run", source, rng.choice([tamis.SAOLA, tamis.Sieve])(), repeats=asked)
        reports = 0

        def stop(*what: Any) -> None:
            nonlocal reports
            reports += 1
            if reports > last:
                raise KeyboardInterrupt

        last = rng.choice([0, 1000])
        with suppress(KeyboardInterrupt):
            resume(folder / "a.run", width=5, every=1e-6, progress=stop)
        last += rng.randrange(1, 8)
        if last > 1000:
            reports = 1000
            with suppress(KeyboardInterrupt):
                finish(folder / "a.run", progress=stop)
        return folder / "a.run"

    def read(self, path: Path) -> Content:
        data = path.with_name("x.npy")
        resume(path, data)
        finish(path, data)
        return run_of(open_run(path))

    def peer(self, path: Path, original: Path) -> Content | None:
        return self._of_whole(original)

    @functools.cache  # noqa: B019 - there are few
    def _of_whole(self, original: Path) -> Content:
        copy = original.with_name("copy")
        shutil.copytree(original, copy / "a.run")
        for name in ("x.npy", "x.y.npy"):
            shutil.copy2(original.with_name(name), copy / name)
        try:
            return self.read(copy / "a.run")
        finally:
            shutil.rmtree(copy)


class Models(Reader):
    """Models: they predict what the learner predicted."""

    name = "models"
    is_data = False

    def make(self, folder: Path, rng: Random) -> Path:
        X, y = sparse(rng, 60)
        learner = rng.choice([tamis.SOFS, tamis.RowSieve])(n_features=5).fit(X, y)
        tamis.save_model(learner, folder / "a.model")
        sp.save_npz(folder / "X.npz", X)
        return folder / "a.model"

    def read(self, path: Path) -> Content:
        model = tamis.open_model(path)
        X = sp.load_npz(path.with_name("X.npz"))
        return {"scores": model.decision_function(X), "classes": model.predict(X)}

    def peer(self, path: Path, original: Path) -> Content | None:
        return self.read(original)


class Checkpoints(Reader):
    """Checkpoints: the training resumes to the same model, or says that it cannot."""

    name = "checkpoints"
    is_data = False

    def make(self, folder: Path, rng: Random) -> Path:
        (folder / "train.svm").write_bytes(svmlight_text(rng) * 3)
        (folder / "method").write_text(rng.choice(["sofs", "row-sieve", "pet"]))

        def stop(training: Any) -> None:
            if training.rows >= 40:
                raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            self._learn(folder / "train.svm", folder / "a", after_batch=stop)
        return folder / "a.checkpoint"

    def read(self, path: Path) -> Content:
        out = path.with_suffix("")
        self._learn(path.with_name("train.svm"), out)
        model = tamis.open_model(out)
        return {"kept": model.kept_, "weights": model.weights_}

    def peer(self, path: Path, original: Path) -> Content | None:
        folder = original.with_name(f"{path.parent.name}.copy")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in ("a.checkpoint", "train.svm", "method"):
            shutil.copy2(original.with_name(name), folder / name)
        try:
            # The path of the data is part of what identifies a training.
            return self.read(folder / "a.checkpoint")
        finally:
            shutil.rmtree(folder)

    def _learn(self, data: Path, out: Path, **hooks: Any) -> None:
        from tamis.engine.learning.learn import Hooks

        method = data.with_name("method").read_text()
        learner = LEARNERS[method](n_features=5)
        tamis.learn(
            data,
            learner,
            out=out,
            classes=[0, 1, 2],
            checkpoint=1e-6,
            chunk=500,
            hooks=Hooks(**hooks),
        )


#: Methods whose runs are damaged.
SELECTORS = (
    tamis.SAOLA,
    tamis.Sieve,
    lambda: tamis.SAOLA(order="free", shadows=2),
    lambda: tamis.Sieve(order="free"),
    lambda: tamis.FastOSFS(fdr=0.5),
    lambda: tamis.MRMR(n_features=3),
)
#: Methods whose checkpoints are damaged.
LEARNERS = {"sofs": tamis.SOFS, "row-sieve": tamis.RowSieve, "pet": tamis.PET}


def _named(X: Any, prefix: str = "c") -> Any:
    import pandas as pd

    return pd.DataFrame(X.toarray(), columns=[f"{prefix}{j}" for j in range(X.shape[1])])


def run_of(run: Any) -> Content:
    """Return the log of a run and what is known of how far to trust it."""
    return log_of(run) | {"trust": repr(sorted(run.trust.items()))}


def log_of(run: Any) -> Content:
    log = run.log
    return {
        "names": [log.names[k] for k in range(len(log))],
        "why": [run.why(k) for k in range(len(log))],
        "events": [repr(event) for event in log.events()],
    }
