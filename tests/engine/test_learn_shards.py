"""One learner a file, on other processes or a cluster, merged as MergedSOFS merges them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import tamis
from tamis.checks.instances import assert_same_model, cases
from tamis.core.errors import InputError, ParameterError
from tamis.engine.learn_shards import learn_shards
from tamis.engine.model import open_model


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
    there = learn_shards(
        paths, tamis.SOFS(4, gamma=0.5), client, zero_based=True, out=tmp_path / "model",
        test=paths[0],
    )  # fmt: skip
    here = tamis.MergedSOFS(4, gamma=0.5, shards=3).fit(case.X, case.y)
    assert_same_model(there.learner, here, "three files on two workers")
    assert there.rows == len(case.y)
    assert there.test is not None
    saved = open_model(tmp_path / "model")
    assert np.array_equal(saved.decision_function(case.X), here.decision_function(case.X))
    there.learner.partial_fit(case.X[:7], case.y[:7])  # it can go on as any learner


def test_one_file_is_sofs(files, client):
    _, paths = files
    there = learn_shards(paths[:1], tamis.SOFS(4), client, zero_based=True)
    here = tamis.SOFS(4).fit_stream(paths[0], zero_based=True)
    assert_same_model(there.learner, here, "one shard")


def test_the_command_line_learns_on_processes(files, tmp_path, capsys):
    from tamis.cli.main import cli

    _, paths = files
    asked = ["learn", *paths, "-k", "4", "--cluster", "local:2", "--zero-based", "--json"]
    cli(asked, standalone_mode=False)
    told = json.loads(capsys.readouterr().out)
    assert (told["method"], told["kept"]) == ("MergedSOFS", 4)


def test_what_cannot_be_merged_is_told(files, tmp_path, client):
    case, paths = files
    with pytest.raises(ParameterError, match="merges learners of the method sofs"):
        learn_shards(paths, tamis.PET(4), "local:2")
    with pytest.raises(ParameterError, match="standard input cannot be read elsewhere"):
        learn_shards(["-"], tamis.SOFS(4), "local:2")
    other = str(tmp_path / "from1.svm")
    dump_svmlight_file(case.X, case.y, other, zero_based=False)
    with pytest.raises(InputError, match=r"begin at 0 and those in .*from1\.svm seem to begin"):
        learn_shards([paths[0], other], tamis.SOFS(4), client)
