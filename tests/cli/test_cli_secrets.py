"""A password in an address is never written or printed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from redis_for_tests import redis_client, socket_of_redis
from tamis import Selection
from tamis.engine.learning import checkpoint as learning
from tamis.engine.persistent import resuming
from tamis.methods import BY_METHOD
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

SECRET = "s3cr3t-hush"


@pytest.fixture
def address(request):
    """A stream on a server that requires a password."""
    client, name = redis_client(), f"rows-of-{request.node.name}"
    client.execute_command("ACL", "SETUSER", "tamis", "on", f">{SECRET}", "~*", "+@all")
    rng = np.random.default_rng(0)
    for y in rng.integers(0, 2, 120):
        x = " ".join(f"{j}:1" for j in range(1, 9) if rng.random() < (0.9 if y and j < 3 else 0.3))
        client.xadd(name, {"y": int(y), "x": x})
    yield f"unix://tamis:{SECRET}@{socket_of_redis()}?stream={name}"
    client.delete(name)
    client.execute_command("ACL", "DELUSER", "tamis")


def is_nowhere(folder: Path, *outputs: object) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path
        assert SECRET not in path.name
    for outcome in outputs:
        assert SECRET not in outcome.out + outcome.err, outcome


def test_selecting_and_feeding(tamis, address, tmp_path):
    outputs = [tamis("select", address, "--out", "run")]
    assert outputs[0].code == 0
    outputs.append(tamis("select", address, "--out", "checked", "--checkpoint"))
    outputs.append(tamis("feed", "run", address))
    assert outputs[-1].out.startswith("unix://tamis:***@")
    outputs += [tamis("report", "run", "--out", "page.html"), tamis("info", "run")]
    outputs += [tamis("info", address), tamis("info", address, "--json")]
    outputs += [tamis("status", "run"), tamis("log", "run"), tamis("status", "run", "--json")]
    outputs += [tamis("resume", "checked"), tamis("convert", address, "rows.cols")]
    assert [outcome.code for outcome in outputs] == [0] * len(outputs)
    is_nowhere(tmp_path, *outputs)
    assert f"tamis select 'unix://tamis:***@{socket_of_redis()}" in (
        tmp_path / "run" / "run.json"
    ).read_text().replace('\\"', '"')


def test_learning_resumes_with_the_address_on_the_command_line(
    tamis, address, tmp_path, monkeypatch
):
    real, written = learning.write_checkpoint, []

    def write(path, *given):
        real(path, *given)
        written.append(path.read_bytes())

    monkeypatch.setattr(learning, "write_checkpoint", write)
    arguments = (
        "learn",
        address,
        "-k",
        "3",
        "--checkpoint",
        "0.000001",
        "--query",
        "password=" + SECRET,
    )
    assert "no option 'query'" in tamis(*arguments, "--out", "model").one_sentence()
    outputs = [tamis(*arguments[:-2], "--out", "model")]
    assert written
    assert not any(SECRET.encode() in content for content in written)
    assert outputs[0].code == 0, outputs
    outputs.append(tamis("report", "model", "--out", "page.html"))
    is_nowhere(tmp_path, *outputs)
    typed = address.replace(SECRET, "***")
    assert tamis("learn", typed, "-k", "3", "--out", "again").one_sentence() == (
        f"{typed}: the password was not recorded; put it in place of ***, or let the shell do it "
        "with a variable such as $PASSWORD"
    )


BAD = [
    f"redis://:{SECRET}@localhost:1/0?stream=s",
    f"redis://:{SECRET}/{SECRET}@localhost:1/0?stream=s",
    f"redis://:{SECRET}?{SECRET} {SECRET}@localhost:1/0?stream=s",
    f"redis://:{SECRET}@[localhost:1/0?stream=s",
    f"redis://:{SECRET}@localhost:1/0",
    f"redis://:{SECRET}@localhost:1/0?stream=s&wait=soon",
    f"postgresql://me:{SECRET}@host/db",
    f"sqlite://me:{SECRET}@host/db?query=select 1",
    f"https://me:{SECRET}@localhost:1/x.svm",
]


@pytest.mark.parametrize("data", BAD)
def test_failures_are_reported_without_the_password(tamis, tmp_path, data):
    Selection.create(tmp_path / "run", [0, 1, 0, 1])
    commands = [("select", data, "--out", "out"), ("feed", "run", data)]
    if data in (BAD[0], BAD[6]):
        commands += [("info", data), ("learn", data), ("compare", data, "--methods", "saola")]
    for arguments in commands:
        assert SECRET not in tamis(*arguments).one_sentence()
    is_nowhere(tmp_path)


def test_a_query_with_a_password(tamis, tmp_path):
    with closing(sqlite3.connect("shop.sqlite")) as shop, shop:
        shop.execute("create table sales (bought, price)")
        shop.executemany("insert into sales values (?, ?)", [(i % 2, i % 5) for i in range(50)])
    query = f"select bought, price from sales where 'password={SECRET}' <> ''"
    arguments = ("select", "shop.sqlite", "--query", query, "--target", "bought", "--out", "run")
    outputs = [tamis(*arguments), tamis("info", "shop.sqlite", "--query", query, "--json")]
    assert [outcome.code for outcome in outputs] == [0, 0], outputs
    is_nowhere(tmp_path / "run", *outputs)


def test_resume_needs_the_address_if_it_had_a_password(tamis, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    data = MemorySource(rng.normal(size=(60, 8)), rng.integers(0, 2, 60))
    store = write_store(tmp_path / "d.cols", data)
    monkeypatch.setattr(resuming, "from_here", lambda path: f"s3://me:{SECRET}@bucket/d.cols")
    resuming.begin(tmp_path / "run", store, BY_METHOD["saola"](), name="d.cols")
    is_nowhere(tmp_path)
    assert tamis("resume", "run").one_sentence() == (
        "the password of s3://me:***@bucket/d.cols was not recorded; give the whole address with "
        "--data (data=)"
    )
    assert tamis("resume", "run", "--data", "d.cols").code == 0
    assert Selection.open(tmp_path / "run").status()["features"] == 8
