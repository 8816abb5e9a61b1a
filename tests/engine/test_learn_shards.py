"""One learner per shard, in other processes or on a cluster, merged as in MergedSOFS."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import tamis
from tamis.checks.data import assert_same_model, cases
from tamis.core.errors import InputError, ParameterError, SourceError
from tamis.engine.learning.learn import learn
from tamis.engine.learning.model import open_model
from tamis.methods.online.shards import merged, posterior_of
from tamis.sources import MemorySource, open_rows
from tamis.sources.axis import write_rows
from tamis.sources.stores import row_writer


@pytest.fixture
def files(tmp_path):
    """Rows of a case dealt out to three files: row r goes to file r modulo 3."""
    case, paths = cases()[1], []
    for s in range(3):
        paths.append(str(tmp_path / f"part{s}.svm"))
        dump_svmlight_file(case.X[s::3], case.y[s::3], paths[-1], zero_based=True)
    return case, paths


def test_a_cluster_gives_the_model_of_the_same_shards_here(files, client, tmp_path):
    case, paths = files
    there = learn(
        paths, tamis.SOFS(4, gamma=0.5), cluster=client, zero_based=True, out=tmp_path / "model",
        test=paths[0],
    )  # fmt: skip
    here = tamis.MergedSOFS(4, gamma=0.5, shards=3).fit(case.X, case.y)
    assert_same_model(there.learner, here, "three files on two workers")
    assert there.rows == len(case.y)
    assert there.test is not None
    saved = open_model(tmp_path / "model")
    assert np.array_equal(saved.decision_function(case.X), here.decision_function(case.X))
    there.learner.partial_fit(case.X[:7], case.y[:7])  # it can continue like any learner


def test_row_sieve_is_merged_too(files, client):
    case, paths = files
    there = learn(paths, tamis.RowSieve(4), cluster=client, zero_based=True)
    here = tamis.MergedRowSieve(4, shards=3).fit(case.X, case.y)
    assert_same_model(there.learner, here, "three files on two workers")


def test_one_file_is_sofs(files, client):
    _, paths = files
    there = learn(paths[:1], tamis.SOFS(4), cluster=client, zero_based=True, shards=1)
    here = tamis.SOFS(4).fit_stream(paths[0], zero_based=True)
    assert_same_model(there.learner, here, "one shard")


@pytest.fixture
def one_store(tmp_path):
    """Rows of a case as one store, with blocks that no share ends with."""
    case = cases()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_writer, "ENTRIES", 50)
        source = MemorySource(sp.csr_matrix(case.X), case.y)
        store = write_rows(tmp_path / "train.rows", source)
    assert len(list(store.batches())) > 5
    return case, store.path


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_ranges_of_one_store_are_the_shards(one_store, client, shards):
    case, path = one_store
    there = learn([path], tamis.SOFS(4, gamma=0.5), cluster=client, shards=shards)
    n = len(case.y) // shards * shards
    assert n == len(case.y)  # so that dealing rows out in turn can make the same shards
    dealt = np.arange(n).reshape(shards, -1).T.ravel()
    here = tamis.MergedSOFS(4, gamma=0.5, shards=shards).fit(case.X[dealt], case.y[dealt])
    assert_same_model(there.learner, here, f"{shards} ranges of a store")
    if shards == 1:
        assert_same_model(there.learner, tamis.SOFS(4, gamma=0.5).fit(case.X, case.y), "SOFS")


@pytest.mark.parametrize("shards", [2, 3, 7])
@pytest.mark.parametrize("kind", ["store", "text"])
def test_ranges_of_any_length_are_merged_as_sofs_of_each(one_store, client, tmp_path, kind, shards):
    case, path = one_store
    if kind == "text":
        path = str(tmp_path / "one.svm")
        dump_svmlight_file(case.X, case.y, path, zero_based=False)
    there = learn([path], tamis.SOFS(4, gamma=0.5), cluster=client, shards=shards)
    (reader,) = open_rows(path)
    parts, read = [], []
    for s in range(shards):
        blocks = list(reader.share(s, shards).batches())
        model = tamis.SOFS(4, gamma=0.5)
        for block in blocks:
            model.partial_fit(block, classes=np.unique(case.y))
        parts.append(posterior_of(model.learner_.model))
        read.append(np.concatenate([block.y for block in blocks]))
    assert np.concatenate(read).tolist() == case.y.tolist()  # each row once, in order
    kept, means, _ = merged(parts, 4)
    assert there.learner.kept_.tolist() == kept.tolist()
    assert np.array_equal(there.learner.learner_.model.learned().weights, means)
    if kind == "store":
        n = len(case.y)
        assert [*map(len, read)] == [n * (s + 1) // shards - n * s // shards for s in range(shards)]


def test_the_number_of_processes_determines_the_shards(one_store, client):
    case, path = one_store
    two = learn([path], tamis.SOFS(4), cluster="local:2")
    assert_same_model(
        two.learner, learn([path], tamis.SOFS(4), cluster=client, shards=2).learner, "local:2"
    )
    three = learn([path], tamis.MergedSOFS(4, shards=3), cluster=client).learner
    assert (two.learner.shards, three.shards) == (2, 3)
    assert two.rows == len(case.y)


def test_the_base_of_indices_is_that_of_the_file_for_every_share(client, tmp_path):
    """Index 0 is in the first line only."""
    path = tmp_path / "zero.svm"
    path.write_text("1 0:1 3:2\n" + "".join(f"{r % 2} {1 + r % 5}:1 9:2\n" for r in range(40)))
    learned = learn([path], tamis.SOFS(10), cluster=client, shards=4).learner
    assert_same_model(
        learned, learn([path], tamis.SOFS(10), cluster=client, shards=4, zero_based=True).learner,
        "decided by the first line",
    )  # fmt: skip
    assert learned.n_features_in_ == 10


def test_a_bad_line_in_a_share_is_named_by_its_number_in_the_file(client, tmp_path):
    path = tmp_path / "bad.svm"
    good = [f"{r % 2} {1 + r % 5}:1 9:2\n" for r in range(40)]
    path.write_text("".join([*good[:30], "1 3:x\n", *good[30:]]))
    with pytest.raises(SourceError, match=r"bad\.svm.* line 31"):
        learn([path], tamis.SOFS(4), cluster=client, shards=3)
    done = learn([path], tamis.SOFS(4), cluster=client, shards=3, skip_bad_lines=True)
    assert done.rows == 40
    assert all(where.endswith("bad.svm, line 31") for where in done.bad.first.values())


def test_data_that_cannot_be_split_is_reported(files, client, tmp_path):
    _, paths = files
    with pytest.raises(ParameterError, match=r"give with --shards .* how many shards .*part0"):
        learn(paths[:1], tamis.SOFS(4), cluster=client)
    with pytest.raises(ParameterError, match="shards=2 was given with 3 files"):
        learn(paths, tamis.SOFS(4), cluster=client, shards=2)
    packed = tmp_path / "train.svm.gz"
    packed.write_bytes(gzip.compress(Path(paths[0]).read_bytes()))
    with pytest.raises(
        ParameterError, match=r"train\.svm\.gz cannot be cut into shards; make a row"
    ):
        learn([packed], tamis.SOFS(4), cluster=client, shards=2)
    assert learn([packed], tamis.SOFS(4), cluster=client).learner.shards == 1
    few = tmp_path / "few.svm"
    few.write_text("1 1:1\n0 2:1\n")
    with pytest.raises(InputError, match="holds no row to learn from; cut it into fewer"):
        learn([few], tamis.SOFS(4), cluster=client, shards=9)


def test_the_command_line_learns_on_processes(files, tmp_path, capsys):
    from tamis.cli.main import cli

    _, paths = files
    arguments = ["learn", *paths, "-k", "4", "--cluster", "local:2", "--zero-based", "--json"]
    cli(arguments, standalone_mode=False)
    printed = json.loads(capsys.readouterr().out)
    assert (printed["method"], printed["kept"]) == ("MergedRowSieve", 4)
    arguments = [
        "learn",
        paths[0],
        "-k",
        "4",
        "--cluster",
        "local:2",
        "--shards",
        "3",
        "--zero-based",
    ]
    cli([*arguments, "--out", str(tmp_path / "m")], standalone_mode=False)
    assert json.loads((tmp_path / "m" / "model.json").read_text())["parameters"]["shards"] == 3
    with pytest.raises(ParameterError, match="goes with --cluster"):
        cli(["learn", paths[0], "--shards", "3"], standalone_mode=False)


def test_learners_that_cannot_be_merged_are_reported(files, tmp_path, client):
    case, paths = files
    with pytest.raises(ParameterError, match="merges learners of the methods row-sieve and sofs"):
        learn(paths, tamis.PET(4), cluster="local:2")
    with pytest.raises(ParameterError, match="standard input cannot be read elsewhere"):
        learn(["-"], tamis.SOFS(4), cluster="local:2")
    other = str(tmp_path / "from1.svm")
    dump_svmlight_file(case.X, case.y, other, zero_based=False)
    with pytest.raises(InputError, match=r"begin at 0 and those in .*from1\.svm seem to begin"):
        learn([paths[0], other], tamis.SOFS(4), cluster=client)
