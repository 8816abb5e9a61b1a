"""What tamis writes: any damage must be noticed, or change nothing."""

from __future__ import annotations

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
from tamis.engine.runs import open_run, save_run


class Runs(Reader):
    """Run folders: the log that is read is the log that was written."""

    name = "runs"
    is_data = False

    def make(self, folder: Path, rng: Random) -> Path:
        X, y = sparse(rng)
        save_run(tamis.select(X.tocsc(), "saola", y), folder / "a.run")
        return folder / "a.run"

    def read(self, path: Path) -> Content:
        return log_of(open_run(path))

    def peer(self, path: Path, original: Path) -> Content | None:
        return log_of(open_run(original))


class Selections(Reader):
    """Folders of living selections: as runs, and they can be fed."""

    name = "living selections"
    is_data = False

    def make(self, folder: Path, rng: Random) -> Path:
        X, y = sparse(rng)
        selection = tamis.Selection.create(folder / "a.run", y, tamis.SAOLA())
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


class Models(Reader):
    """Models: they predict what the learner predicted."""

    name = "models"
    is_data = False

    def make(self, folder: Path, rng: Random) -> Path:
        X, y = sparse(rng, 60)
        learner = tamis.SOFS(n_features=5).fit(X, y)
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
        for name in ("a.checkpoint", "train.svm"):
            shutil.copy2(original.with_name(name), folder / name)
        try:
            # The path of the data is part of what identifies a training.
            return self.read(folder / "a.checkpoint")
        finally:
            shutil.rmtree(folder)

    def _learn(self, data: Path, out: Path, **hooks: Any) -> None:
        from tamis.engine.learning.learn import Hooks

        learner = tamis.SOFS(n_features=5)
        tamis.learn(
            data,
            learner,
            out=out,
            classes=[0, 1, 2],
            checkpoint=1e-6,
            chunk=500,
            hooks=Hooks(**hooks),
        )


def _named(X: Any, prefix: str = "c") -> Any:
    import pandas as pd

    return pd.DataFrame(X.toarray(), columns=[f"{prefix}{j}" for j in range(X.shape[1])])


def log_of(run: Any) -> Content:
    log = run.log
    return {
        "names": [log.names[k] for k in range(len(log))],
        "why": [run.why(k) for k in range(len(log))],
        "events": [repr(event) for event in log.events()],
    }
