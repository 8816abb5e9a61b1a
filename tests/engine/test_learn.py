"""Learning with checkpoints: killed at any moment, the same command ends in the same model."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import tamis
from tamis.core.errors import OutputError, ParameterError, SourceError
from tamis.engine.learning.checkpoint import Stopped, checkpoint_path
from tamis.engine.learning.learn import Hooks, learn, make_learner
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import to_rows
from tamis.sources.base import RowSource

KILLS = 2
ARRAYS = ("features.npy", "weights.npy", "confidence.npy")

PROGRAM = """
import sys, time, tamis
from tamis.engine.learning.learn import Hooks
from tamis.sources.axis import write_rows
learner = tamis.SOFS("auto", sizes=[3, 12, 40]) if sys.argv[2] == "auto" else tamis.SOFS(12)
tamis.learn("train.svm", learner.set_params(gamma=0.5), out=sys.argv[1], passes=2, shuffle=150,
            random_state=5, skip_bad_lines=True, classes=[-1, 1], chunk=3000, checkpoint=1e-4,
            test="train.svm", hooks=Hooks(after_batch=lambda training: time.sleep(0.05)))
"""


def write(path: Path, rows: int = 1500, spoil: bool = False) -> Path:
    rng = np.random.default_rng(0)
    X = sp.random(rows, 60, 0.2, random_state=1, format="csr")
    y = np.where(np.asarray(X[:, 3].todense()).ravel() > rng.random(rows) * 0.4, 1, -1)
    lines = []
    for r in range(rows):
        row = X[r]
        entries = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        lines.append(" ".join([str(y[r]), *(f"{j + 1}:{v!r}" for j, v in entries)]))
    if spoil:
        lines[20], lines[700], lines[1400] = "", "1 3:nan", "5 1:1"
    path.write_text("\n".join(lines) + "\n")
    return path


def written(place: Path) -> int | None:
    """Return when a file was written, or None if it does not exist."""
    try:
        return place.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def same(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in ARRAYS)


@pytest.mark.parametrize("size", ["12", pytest.param("auto", marks=pytest.mark.slow)])
def test_a_killed_run_resumes_to_the_same_model_bit_for_bit(tmp_path, size):
    write(tmp_path / "train.svm", spoil=True)
    script = [sys.executable, "-c", PROGRAM]
    options = {"cwd": tmp_path, "stderr": subprocess.PIPE, "text": True}
    whole = subprocess.Popen([*script, "whole", size], **options)
    draw, kills = random.Random(7), 0
    while not (tmp_path / "model").exists():
        before = written(tmp_path / "model.checkpoint")
        program = subprocess.Popen([*script, "model", size], **options)
        while program.poll() is None:
            # Once it has come further than the last one, kill it at any moment.
            if kills < KILLS and written(tmp_path / "model.checkpoint") not in (None, before):
                time.sleep(draw.random() * 0.1)
                program.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.002)
        error = program.communicate()[1]
        assert program.returncode in (0, -signal.SIGKILL), error
    assert kills == KILLS
    assert whole.communicate()[1] == ""
    assert same(tmp_path / "model", tmp_path / "whole")
    killed, one = (tamis.open_model(tmp_path / name).record for name in ("model", "whole"))
    same_in_both = ("curve", "work", "bad_lines", "first_bad_lines", "error", "test", "classes")
    for key in (*same_in_both, "size_curve", "n_features"):
        assert killed[key] == one[key], key
    assert len(killed["size_curve"]) == (3 if size == "auto" else 1)
    assert sum(killed["bad_lines"].values()) == 3
    assert not (tmp_path / "model.checkpoint").exists()
    left = sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith(".model"))
    assert left == ["model", "train.svm", "whole"]


def stopping(after: int):
    """Return a callback that raises KeyboardInterrupt after some batches, as Ctrl-C would."""
    seen = []

    def after_batch(training):
        seen.append(training.rows)
        if len(seen) == after:
            os.kill(os.getpid(), signal.SIGINT)

    return Hooks(after_batch=after_batch)


@pytest.mark.parametrize("kind", ["plain", "packed", "rows", "source"])
def test_ctrl_c_writes_a_checkpoint_and_shows_how_to_resume(tmp_path, kind):
    data: object = write(tmp_path / "train.svm")
    options = {"chunk": 4000}
    if kind == "packed":
        import gzip

        data = tmp_path / "train.svm.gz"
        data.write_bytes(gzip.compress((tmp_path / "train.svm").read_bytes()))
    elif kind != "plain":
        X, y = tamis.open(data).load()
        data, options = MemorySource(X, y), {}
    if kind == "rows":
        from tamis.sources.axis import write_rows

        write_rows(tmp_path / "train.rows", tamis.open(tmp_path / "train.svm"))
        data = tmp_path / "train.rows"
    settings = {"learner": tamis.PET(9), "passes": 3, "checkpoint": 1000.0, **options}
    one = learn(data, out=tmp_path / "one", **settings)
    with pytest.raises(Stopped) as stopped:
        learn(data, out=tmp_path / "model", hooks=stopping(2), **settings)
    place = tmp_path / "model.checkpoint"
    assert place == checkpoint_path(tmp_path / "model")
    assert str(stopped.value).endswith(f"give the same command again to resume from {place}")
    messages: list[str] = []
    two = learn(data, out=tmp_path / "model", hooks=Hooks(message=messages.append), **settings)
    assert messages[0].startswith(f"resuming from {place}, after ")
    assert same(tmp_path / "one", tmp_path / "model")
    assert (two.rows, two.mistakes) == (one.rows, one.mistakes)
    assert not place.exists()


def test_a_checkpoint_of_an_earlier_version_resumes(tmp_path):
    """`random_state` was called `seed`."""
    data = write(tmp_path / "train.svm")
    options = {"passes": 2, "shuffle": 99, "random_state": 3, "checkpoint": 1000.0, "chunk": 4000}
    with pytest.raises(Stopped):
        learn(data, tamis.PET(9), out=tmp_path / "m", hooks=stopping(2), **options)
    place = tmp_path / "m.checkpoint"
    with np.load(place) as file:
        arrays = {name: file[name] for name in file.files}
    record = arrays["record"].tobytes().replace(b'"random_state"', b'"seed"')
    with place.open("wb") as file:
        np.savez(file, **{**arrays, "record": np.frombuffer(record, dtype=np.uint8)})
    learn(data, tamis.PET(9), out=tmp_path / "m", **options)
    learn(data, tamis.PET(9), out=tmp_path / "one", **options)
    assert same(tmp_path / "one", tmp_path / "m")


def test_ctrl_c_without_a_checkpoint_is_ctrl_c(tmp_path):
    data = write(tmp_path / "train.svm")
    with pytest.raises(KeyboardInterrupt) as stopped:
        learn(data, "pet", out=tmp_path / "model", hooks=stopping(2), chunk=4000)
    assert not isinstance(stopped.value, Stopped)
    assert os.listdir(tmp_path) == ["train.svm"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    data = write(tmp_path / "train.svm")
    settings = {"checkpoint": 1000.0, "chunk": 4000}
    with pytest.raises(Stopped):
        learn(data, tamis.PET(9), out=tmp_path / "m", hooks=stopping(2), **settings)
    place = tmp_path / "m.checkpoint"
    remedy = "; give the same command to resume, or remove it to start again"
    for learner, more, message in (
        (tamis.PET(9, eta=0.3), {}, "eta was 0.2 and is 0.3 now"),
        (tamis.SOFS(9), {}, 'method was "PET" and is "SOFS" now'),
        (tamis.PET(9), {"passes": 2}, "passes was 1 and is 2 now"),
        (tamis.PET(9), {"classes": [-1, 1]}, "classes was null and is [-1, 1] now"),
    ):
        with pytest.raises(SourceError) as error:
            learn(data, learner, out=tmp_path / "m", **settings, **more)
        assert str(error.value) == f"{place} belongs to another run: {message}{remedy}"
    with pytest.raises(SourceError, match=r"add --checkpoint \(checkpoint=\) to resume it"):
        learn(data, tamis.PET(9), out=tmp_path / "m", chunk=4000)
    lines = data.read_text()
    data.write_text(lines + lines.splitlines()[0] + "\n")
    with pytest.raises(SourceError, match="belongs to another run: data was "):
        learn(data, tamis.PET(9), out=tmp_path / "m", **settings)


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "other"])
def test_a_damaged_checkpoint_is_one_sentence(tmp_path, harm):
    data = write(tmp_path / "train.svm")
    settings = {"checkpoint": 1000.0, "chunk": 4000}
    with pytest.raises(Stopped):
        learn(data, tamis.PET(9), out=tmp_path / "m", hooks=stopping(2), **settings)
    place = tmp_path / "m.checkpoint"
    content = bytearray(place.read_bytes())
    if harm == "flip":
        at = content.index(b"feature.npy") + 200
        content[at] ^= 0xFF
    harmed = {"cut": content[: len(content) // 2], "flip": content, "empty": b"", "other": b"PK"}
    place.write_bytes(harmed[harm])
    with pytest.raises(SourceError) as error:
        learn(data, tamis.PET(9), out=tmp_path / "m", **settings)
    assert str(error.value).startswith(f"{place} is damaged (")
    assert str(error.value).endswith("); remove it to start again")
    assert "\n" not in str(error.value)


def test_a_source_that_can_resume_is_notified_of_commits(tmp_path):
    class Log(RowSource):
        format = "log"

        def __init__(self, X, y):
            self._rows = to_rows(MemorySource(X, y))
            self.n_rows, self.n_columns = X.shape
            self.heard: list[str] = []
            self.params: list[str | None] = []

        n_rows = n_columns = 0

        def target(self):
            return self._rows.target()

        def fingerprint(self):
            return self._rows.fingerprint()

        def batches(self, size=None, after=None, stop=None, bad=None, progress=lambda *_: None):
            self.params.append(after)
            for block in self._rows.batches(100):
                if block.first >= int(after or 0):
                    yield tamis.sources.RowBlock(
                        block.first, block.n_columns, block.values, block.y,
                        str(block.first + block.height),
                    )  # fmt: skip

        def committed(self, mark):
            assert (tmp_path / "m.checkpoint").exists() or (tmp_path / "m").exists()
            self.heard.append(mark)

    X, y = tamis.open(write(tmp_path / "t.svm")).load()
    source = Log(X, y)
    expected = tamis.PET(9).fit(X, y)
    with pytest.raises(Stopped):
        learn(source, tamis.PET(9), out=tmp_path / "m", checkpoint=1e-9, hooks=stopping(3))
    assert source.heard == ["100", "200", "300"]
    done = learn(source, tamis.PET(9), out=tmp_path / "m", checkpoint=1e-9)
    assert source.params == [None, "300"]
    assert source.heard[-1] == "1500"
    assert np.array_equal(done.learner.weights_, expected.weights_)


def test_invalid_parameters_are_reported_before_anything_is_read(tmp_path):
    data = write(tmp_path / "train.svm")
    with pytest.raises(ParameterError, match="a checkpoint is kept beside the model; give --out"):
        learn(data, "pet", checkpoint=5.0)
    with pytest.raises(
        ParameterError, match=r"checkpoint=-1\.0 is not a number of seconds above 0"
    ):
        learn(data, "pet", checkpoint=-1.0, out=tmp_path / "m")
    with pytest.raises(OutputError, match="already exists; choose another name"):
        learn(data, "pet", out=tmp_path)
    with pytest.raises(OutputError, match="exists and is not a model; it will not be replaced"):
        learn(data, "pet", out=tmp_path, force=True)
    with pytest.raises(SourceError, match="does not exist"):
        learn(data, "pet", out=tmp_path / "m", test=tmp_path / "absent.svm")
    with pytest.raises(
        ParameterError,
        match="'lasso' is not known; give one of row-sieve, sofs, merged-row-sieve",
    ):
        make_learner("lasso")
    with pytest.raises(ParameterError, match="pet has no parameter 'gamma'; it has "):
        make_learner("pet", gamma=1.0)


def test_test_rows_are_read_from_the_same_base(tmp_path):
    train = write(tmp_path / "train.svm")
    X, y = tamis.open(train).load()
    assert X.getcol(0).nnz
    shifted = "\n".join(
        " ".join([line.split()[0], *(f"{int(e.split(':')[0]) - 1}:{e.split(':')[1]}"
                                     for e in line.split()[1:])])
        for line in train.read_text().splitlines()
    )  # fmt: skip
    (tmp_path / "from0.svm").write_text(shifted + "\n")
    one = learn(train, "pet", test=train)
    zero = learn(tmp_path / "from0.svm", "pet", test=tmp_path / "from0.svm")
    assert one.test.accuracy == zero.test.accuracy == one.learner.score(X, y)
    assert np.array_equal(one.learner.weights_, zero.learner.weights_)
    assert one.learner.get_feature_names_out()[0] == "1"
    assert zero.learner.get_feature_names_out()[0] == "0"
    message = "has index 0 where indices count from 1"
    with pytest.raises(SourceError, match=message):
        learn(train, "pet", test=tmp_path / "from0.svm")
