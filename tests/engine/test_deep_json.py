"""JSON that is nested too deeply for Python is damage like any other, wherever it is read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tamis
from tamis.core.errors import SourceError
from tamis.engine.runs import open_run, save_run
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store

DEEP = {"list": "[" * 200_000, "dict": '{"a":' * 200_000 + "1" + "}" * 200_000}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return rng.normal(size=(60, 6)) + y[:, None] * (np.arange(6) < 2), y


def a_run(folder, data):
    save_run(tamis.select(data[0], "saola", data[1]), folder / "run")
    return folder / "run" / "run.json", lambda: open_run(folder / "run")


def a_fed_run(folder, data):
    save_run(tamis.select(data[0], "saola", data[1]), folder / "run")
    return folder / "run" / "run.json", lambda: tamis.Selection.open(folder / "run")


def a_model(folder, data):
    tamis.save_model(tamis.SOFS(n_features=3).fit(*data), folder / "model")
    return folder / "model" / "model.json", lambda: tamis.open_model(folder / "model")


def a_store(folder, data):
    write_store(folder / "x.cols", MemorySource(*data))
    return folder / "x.cols" / "meta.json", lambda: tamis.open(folder / "x.cols")


@pytest.mark.parametrize("deep", DEEP)
@pytest.mark.parametrize("make", [a_run, a_fed_run, a_model, a_store])
def test_deep_json_is_one_sentence(tmp_path, data, make, deep):
    path, read = make(tmp_path, data)
    path.write_text(DEEP[deep])
    with pytest.raises(SourceError) as caught:
        read()
    assert "\n" not in str(caught.value)


def test_a_run_whose_readable_copy_is_deep_is_still_read(tmp_path, data):
    """`run.json` of a selection that can be fed is only a copy of what the state holds."""
    selection = tamis.Selection.create(tmp_path / "run", data[1], tamis.SAOLA())
    selection.feed(pd.DataFrame(data[0]).add_prefix("c"))
    (tmp_path / "run" / "run.json").write_text(DEEP["list"])
    assert open_run(tmp_path / "run").kept_names == selection.kept_names
