"""RedisSource on a real server: what rows look like, what a group remembers, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tamis
from redis_for_tests import redis_client, socket_of_redis
from tamis.core.errors import DataWarning, SourceError
from tamis.sources.axis import to_columns
from tamis.sources.streams.redis_rows import RedisSource
from waiting import PATIENCE


@pytest.fixture
def client():
    return redis_client()


@pytest.fixture
def stream(client, request):
    name = f"rows of {request.node.name}"
    yield name
    client.delete(name)


def fill(client, stream, n, start=0):
    for i in range(start, start + n):
        client.xadd(stream, {"y": (-1) ** i, "x": f"{i % 5 + 1}:{i + 0.5} {i % 3 + 7}:1"})


def rows_of(blocks):
    return [
        (float(y), dict(zip(v.indices[lo:hi].tolist(), v.data[lo:hi].tolist(), strict=True)))
        for block in blocks
        for v in [block.values]
        for y, lo, hi in zip(block.y, v.indptr[:-1], v.indptr[1:], strict=True)
    ]


def expected(n):
    return [((-1.0) ** i, {i % 5: i + 0.5, i % 3 + 6: 1.0}) for i in range(n)]


def pending(client, stream, group="tamis"):
    return client.xpending(stream, group)["pending"]


def test_an_address_or_a_client_reads_the_same(client, stream):
    fill(client, stream, 30)
    address = f"unix://{socket_of_redis()}?stream={stream}&group=g&wait=0"
    for source in (tamis.open(address), RedisSource(client, stream)):
        assert (source.n_rows, source.n_columns) == (30, 9)
        assert rows_of(source.all_rows()) == rows_of(source.batches(7)) == expected(30)
    assert tamis.open(address).info().details["group"] == "g"
    fill(client, stream, 5, start=30)
    assert len(rows_of(source.all_rows())) == 30  # as it was when it was opened
    assert len(rows_of(source.batches())) == 35


def test_fields_may_be_numbers_or_names(client, stream):
    client.xadd(stream, {"3": 2.5, "y": 1, "20": -1, "4": 7})
    source = RedisSource(client, stream)
    assert rows_of(source.all_rows()) == [(1.0, {2: 2.5, 3: 7.0, 19: -1.0})]
    assert rows_of(RedisSource(client, stream, zero_based=True).all_rows())[0][1][20] == -1.0
    client.delete(stream)
    client.xadd(stream, {"age": 40, "label": 1, "height": 1.75})
    client.xadd(stream, {"height": 1.5, "label": 0})
    source = RedisSource(client, stream, target="label", columns=["height", "age", "weight"])
    X, y = source.load()
    assert X.toarray().tolist() == [[1.75, 40.0, 0.0], [1.5, 0.0, 0.0]]
    assert y.tolist() == [1, 0]
    assert [name for block in to_columns(source).columns(2) for name in block.names] == list(
        source.names()
    )


def test_rows_stay_pending_until_they_are_committed(client, stream):
    fill(client, stream, 100)
    source = RedisSource(client, stream)
    blocks = source.batches(30)
    first, second = next(blocks), next(blocks)
    assert pending(client, stream) == 60
    source.committed(first.mark)
    assert pending(client, stream) == 30
    source.committed(first.mark)  # again: nothing changes
    assert pending(client, stream) == 30
    # The process dies here. The checkpoint holds the first block, or the second one too.
    again = RedisSource(client, stream)
    assert rows_of(again.batches(40, first.mark)) == expected(100)[30:]
    after_second = RedisSource(client, stream)
    rest = list(after_second.batches(40, second.mark))
    assert rows_of(rest) == expected(100)[60:]
    assert pending(client, stream) == 40  # those of the second block were acknowledged at once
    after_second.committed(rest[-1].mark)
    assert pending(client, stream) == 0
    assert rows_of(RedisSource(client, stream).batches()) == expected(100)


def test_groups_do_not_know_of_each_other(client, stream):
    fill(client, stream, 10)
    for group in ("one", "two"):
        source = RedisSource(client, stream, group=group)
        (block,) = source.batches()
        source.committed(block.mark)
        assert (pending(client, stream, group), block.height) == (0, 10)


def test_it_waits_for_new_rows(client, stream):
    import threading

    fill(client, stream, 3)
    source = RedisSource(client, stream, wait=PATIENCE)
    blocks = source.batches()
    assert next(blocks).height == 3
    later = threading.Timer(0.1, lambda: fill(redis_client(), stream, 2, start=3))
    later.start()
    assert rows_of([next(blocks)]) == expected(5)[3:4]  # returned as soon as the first arrives
    later.join()
    source = RedisSource(client, stream, wait=0.05)
    assert len(rows_of(source.batches())) == 5


def test_rows_that_were_trimmed_before_they_were_safe_are_reported(client, stream):
    fill(client, stream, 20)
    source = RedisSource(client, stream)
    first, _ = list(source.batches(10))
    client.xtrim(stream, maxlen=10, approximate=False)
    assert rows_of(source.batches(after=first.mark)) == expected(20)[10:]  # nothing is lost yet
    client.xtrim(stream, maxlen=4, approximate=False)
    with pytest.warns(DataWarning, match=r"was trimmed beyond entry .*: the rows in between were"):
        assert rows_of(source.batches(after=first.mark)) == expected(20)[16:]
    client.xtrim(stream, maxlen=0, approximate=False)
    with pytest.warns(DataWarning, match="was trimmed beyond entry"):
        assert rows_of(source.batches(after=first.mark)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"x": "1:1"}, {"y": "spam", "x": "1:1"}, {"y": 1, "x": "1:1\n1 2:2"}, {"y": 1, "x": "0:1"},
        {"y": 1, "x": "2:1 1:1"}, {"y": 1, "x": "1:1 # 2"}, {"y": 1, "5": "many"}, {"y": 1, "a": 1},
    ],
)  # fmt: skip
def test_an_entry_that_is_not_a_row_is_named(client, stream, fields):
    fill(client, stream, 3)
    bad = client.xadd(stream, fields).decode()
    fill(client, stream, 3)
    with pytest.raises(SourceError) as caught:
        list(RedisSource(client, stream).batches())
    assert str(caught.value).startswith(f"entry {bad} of the stream {stream!r} is not a row of")
    assert "\n" not in str(caught.value)


def test_other_errors_are_one_sentence(client, stream):
    fill(client, stream, 1)
    with pytest.raises(SourceError, match="has a field 'x' that is not among the columns given"):
        RedisSource(client, stream, columns=["a"]).target()
    with pytest.raises(SourceError, match="there is no stream 'nowhere' on this client"):
        RedisSource(client, "nowhere")
    with pytest.raises(SourceError, match="a Redis source needs the name of a stream"):
        tamis.open("redis://localhost")
    client.set("text", "no stream")
    with pytest.raises(SourceError, match="the stream 'text' on this client cannot be read"):
        RedisSource(client, "text")
    with pytest.raises(SourceError) as caught:
        tamis.open("redis://me:secret@localhost:1/0?stream=s")
    assert "the stream 's' on localhost cannot be read" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_columns_are_the_entries_that_were_there(client, stream):
    fill(client, stream, 40)
    source = RedisSource(client, stream)
    found = tamis.select(source, tamis.SAOLA(measure="fisher_z"))
    assert found.source["n_rows"] == 40
    X = source.load()[0].toarray()
    assert np.array_equal(X[:, 8], (np.arange(40) % 3 == 2).astype(float))
