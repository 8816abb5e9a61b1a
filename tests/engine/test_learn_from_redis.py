"""A learner of a Redis stream, killed at any point, has learned from every row exactly once."""

from __future__ import annotations

import os
import random
import signal

import numpy as np
import pytest

import tamis
from redis_for_tests import redis_client, socket_of_redis
from tamis.engine.learning import checkpoint as engine
from tamis.engine.learning.learn import Hooks, learn
from tamis.sources.streams import redis_rows as source_module

ROWS = 1500


@pytest.fixture
def address(monkeypatch, request):
    monkeypatch.setattr(source_module, "_BLOCK", 83)
    client, name = redis_client(), f"rows-of-{request.node.name}"
    rng = np.random.default_rng(7)
    pipe = client.pipeline()
    for _ in range(ROWS):
        indices = np.sort(rng.choice(60, 8, replace=False)) + 1
        values = rng.normal(size=8).round(3)
        y = 1 if values[0] + (indices[0] < 4) > 0.3 else -1
        text = " ".join(f"{p}:{v}" for p, v in zip(indices, values, strict=True))
        pipe.xadd(name, {"y": y, "x": text})
    pipe.execute()
    yield f"unix://{socket_of_redis()}?stream={name}"
    client.delete(name)


def weights(learned):
    learner = learned.learner
    return learner.kept_.tolist(), learner.weights_.tolist(), learned.rows, learned.mistakes


def in_child(work):
    """Do some work in a forked child; return its exit status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("when", ["after a batch", "before the rows are acknowledged"])
def test_killed_again_and_again_it_is_the_same_model(address, tmp_path, monkeypatch, when):
    model = tamis.SOFS(20)
    whole = learn(tamis.open(address, group="whole"), model, out=tmp_path / "whole")
    assert whole.rows == ROWS
    wishes = random.Random(0)

    def run():
        return learn(tamis.open(address), model, out=tmp_path / "killed", checkpoint=1e-9)

    for _ in range(7):
        left = wishes.randint(1, 2)

        def killed(left=left):
            saved = engine.write_checkpoint

            def save(*given):
                nonlocal left
                left -= 1
                if left == 0 and when == "after a batch":
                    kill()
                saved(*given)
                if left == 0:
                    kill()

            monkeypatch.setattr(engine, "write_checkpoint", save)
            run()

        assert os.WIFSIGNALED(in_child(killed))
    messages: list[str] = []
    done = learn(
        tamis.open(address),
        model,
        out=tmp_path / "killed",
        checkpoint=1e-9,
        hooks=Hooks(message=messages.append),
    )
    assert weights(done) == weights(whole)
    assert messages[0].startswith("resuming from ")
    name = address.partition("stream=")[2]
    client = redis_client()
    assert client.xpending(name, "tamis")["pending"] == 0
    (group,) = (g for g in client.xinfo_groups(name) if g["name"] == b"tamis")
    assert group["last-delivered-id"] == client.xrevrange(name, count=1)[0][0]


def test_rows_that_arrived_meanwhile_are_learned_after_the_old_ones(address, tmp_path):
    source = tamis.open(address)
    blocks = source.batches()
    next(blocks)  # delivered to a reader that died, and never acknowledged
    redis_client().xadd(address.partition("stream=")[2], {"y": 1, "x": "1:1"})
    assert learn(tamis.open(address), "sofs", out=tmp_path / "m").rows == ROWS + 1
