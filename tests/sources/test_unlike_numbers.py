"""Data that is not what it looks like: masked values, dates, lists, names that are formulas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import tamis
from tamis.cli.main import cli
from tamis.core.errors import InputError, SourceError
from tamis.engine.runs import open_run, safe_name

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 60)
X = RNG.normal(size=(60, 5)) + Y[:, None]
MASKED = np.ma.masked_array(X, mask=RNG.random((60, 5)) < 0.2)
DATES = np.datetime64("2020-01-01") + np.arange(300).reshape(60, 5)
MASKED_Y = np.ma.masked_array(Y, mask=Y == 1)
LEARNER = tamis.SOFS(n_features=2).fit(X, Y)


def opened_model(X: Any) -> Any:
    with TemporaryDirectory() as folder:
        tamis.save_model(LEARNER, f"{folder}/model")
        return tamis.open_model(f"{folder}/model").predict(X)


@pytest.mark.parametrize(
    "use",
    [
        lambda X: tamis.SAOLA().fit(X, Y),
        lambda X: tamis.FCBF().fit(X, Y),
        lambda X: tamis.SOFS(n_features=2).fit(X, Y),
        lambda X: tamis.encode.MDLP().fit(X, Y),
        lambda X: tamis.select(X, "saola", Y),
        LEARNER.predict,
        opened_model,
        lambda X: tamis.FisherZ().p_values(X, Y),
        lambda X: tamis.interaction(X, Y),
    ],
)
def test_masked_values_dates_and_complex_numbers_are_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=r"masked array with \d+ masked values.*filled"):
        use(MASKED)
    with pytest.raises(InputError, match=r"X holds dates .*days"):
        use(DATES)
    with pytest.raises(InputError, match="X holds durations"):
        use(DATES - DATES.min())
    for given in (X + 1j, sp.csr_matrix(X + 1j), sp.csc_matrix(X + 1j)):
        with pytest.raises(
            InputError, match=r"X holds complex numbers: .* as columns of their own"
        ):
            use(given)
    use(np.ma.masked_array(X))  # nothing is masked


FITS = [
    tamis.SAOLA().fit,
    tamis.SOFS(n_features=2).fit,
    lambda X, y: tamis.SOFS(n_features=2).partial_fit(X, y, classes=[0, 1]),
    lambda X, y: tamis.select(X, "saola", y),
]


@pytest.mark.parametrize("fit", FITS)
def test_masked_and_complex_targets_are_refused(fit: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match=r"y is a masked array with \d+ masked values.*X\[keep\]"):
        fit(X, MASKED_Y)
    with pytest.raises(ValueError, match=r"complex128|Complex data not supported"):
        fit(X, Y + 1j)


@pytest.mark.parametrize("name", ["given", "sample_weight", "row_groups"])
def test_what_comes_with_the_rows_is_not_unmasked(name: str) -> None:
    method = tamis.Sieve(shadows=3) if name == "row_groups" else "saola"
    with pytest.raises(InputError, match=f"{name} is a masked array with .* masked values"):
        tamis.select(X, method, Y, **{name: MASKED_Y})
    if name != "row_groups":
        with pytest.raises(InputError, match=f"{name} holds dates"):
            tamis.select(X, method, Y, **{name: DATES[:, 0]})


def test_p_values_of_columns_with_gaps_or_infinity_are_refused() -> None:
    holes = X.copy()
    holes[7, 3] = np.nan
    with pytest.raises(InputError, match="X holds NaN or infinity in column 3"):
        tamis.FisherZ().p_values(holes, Y)
    assert tamis.AnyShape().p_values(holes, Y)[3] < 1  # it takes them
    holes[7, 3] = np.inf
    with pytest.raises(InputError, match="X holds infinity in column 3"):
        tamis.AnyShape().p_values(holes, Y)


def test_damaged_files_are_told_in_one_sentence(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "a.npz", sp.csr_matrix(X))
    (tmp_path / "a.y.npy").touch()
    pq.write_table(pa.table({"a": range(40), "t": [[1, 2]] * 40}), tmp_path / "l.parquet")
    for name, more, sentence in (
        ("a.npz", [], "a.y.npy cannot be read as a target"),
        ("l.parquet", ["--target", "t"], "the target holds a list<"),
    ):
        words = ["select", str(tmp_path / name), "--out", str(tmp_path / "run"), *more]
        result = CliRunner().invoke(cli, words)
        assert isinstance(result.exception, SourceError)
        assert sentence in str(result.exception)


def test_spreadsheets_run_no_name_as_a_formula(tmp_path: Path) -> None:
    assert safe_name("=cmd()") == "'=cmd()"
    assert safe_name("a=b") == "a=b"
    assert safe_name("@z\tw\x07") == "'@z\\tw\\x07"
    assert safe_name("été") == "été"
    table = tmp_path / "t.csv"
    lines = [f"{x:.3f},{y}" for x, y in zip(X[:, 0], Y, strict=True)]
    table.write_text("\n".join(["=1+1,y", *lines]))
    words = ["select", str(table), "--target", "y", "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert "'=1+1," in (tmp_path / "run/selected.csv").read_text()
    assert open_run(tmp_path / "run").log.names[0] == "=1+1"
