"""Vectors put in other places hold what they held."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.ragged import put_in_places


@pytest.mark.parametrize("run", [put_in_places, put_in_places.py_func], ids=["compiled", "python"])
@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 5), max_size=8),
    seed=st.integers(0, 99),
    kind=st.sampled_from([np.int32, np.int64, np.float64]),
)
def test_vectors_go_to_their_places_and_the_others_stay_out(run, lengths, seed, kind) -> None:
    rng = np.random.default_rng(seed)
    vectors = [rng.integers(0, 99, length).astype(kind) for length in lengths]
    pointers = np.cumsum([0, *lengths]).astype(np.int64)
    goes = rng.random(len(lengths)) < 0.6
    places = np.full(len(lengths), -1, dtype=np.int64)
    places[goes] = rng.permutation(int(goes.sum()))
    expected = [vectors[i] for i in np.argsort(places) if places[i] >= 0]
    out_pointers = np.cumsum([0, *map(len, expected)]).astype(np.int64)
    out = np.full(out_pointers[-1], -1, dtype=kind)

    run(pointers, np.concatenate([*vectors, np.zeros(0, kind)]), places, out_pointers, out)

    assert out.tolist() == [number for vector in expected for number in vector.tolist()]
