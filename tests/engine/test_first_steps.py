"""What newcomers write first, and the sentence that tells them what to write instead."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tamis
from tamis.core.errors import InputError, ParameterError

Y = np.arange(40) % 2
X = np.column_stack([Y + np.arange(40) / 50, np.arange(40) % 3])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "houses.csv"
    cells = [["k.A." if i == 3 else i % 3, y] for i, y in enumerate(Y.tolist())]
    pd.DataFrame(cells, columns=["rooms", "sold"]).to_csv(path, index=False)
    return path


def test_options_of_a_reader_belong_to_open(table):
    with pytest.raises(ParameterError) as refused:
        tamis.select(table, y="sold", na="k.A.")
    call = str(refused.value).partition("as in ")[2]
    assert call == f"tamis.select(tamis.open({str(table)!r}, target='sold', na='k.A.'))"
    assert len(eval(call, {"tamis": tamis}).log) == 1
    with pytest.raises(ParameterError, match=r"tamis.open\(data, y=y, names=\.\.\.\)"):
        tamis.select(X, y=Y, names=["a", "b"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        tamis.select(X, y=Y, nothing=1)


def test_a_column_in_the_place_of_the_method(table):
    with pytest.raises(ParameterError, match=r"'sold' is a column of the data .* write y='sold'"):
        tamis.select(table, "sold")
    with pytest.raises(ParameterError, match="the method is called selector"):
        tamis.select(table, method="saola", y="sold")
    with pytest.raises(ParameterError, match=r"data \(ndarray\) is not a method"):
        tamis.select(X, Y)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_names_of_a_matrix_are_any_sequence(kind):
    names = np.array(["first", "second"], dtype=object)
    assert tamis.select(tamis.open(kind(X), y=Y, names=names), "saola").kept_names == ["first"]
    with pytest.raises(ParameterError, match="get_feature_names_out"):
        tamis.SAOLA().fit(kind(X), Y, names=names)


def test_errors_of_python_do_not_name_what_is_inside():
    with pytest.raises(TypeError, match=r"^fit\(\) missing 1 required .* 'y'"):
        tamis.SAOLA().fit(X)
    with pytest.raises(TypeError, match=r"^SAOLA has no parameter 'n_features'; it has alpha, "):
        tamis.SAOLA(n_features=3)
    with pytest.raises(TypeError, match=r"^Sieve has no parameter 'n_feature'; did you mean"):
        tamis.Sieve(n_feature=3)


@pytest.mark.parametrize("kind", [list, np.asarray, pd.Series])
def test_texts_are_not_a_table(kind):
    with pytest.raises(InputError, match=r"^X holds texts, .*TfidfVectorizer"):
        tamis.SAOLA().fit(kind(["some words"] * 40), Y)
