"""The loops over rows agree, compiled and plain; tests/online has slow references."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.core.blocks import Compressed
from tamis.kernels import binary, multiclass
from tamis.methods.online.row_input import dense_rows
from tamis.methods.online.weights import FullWeights, KeptWeights


def data(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.choice([-1.0, 1.0, 2.5], (120, 15)) * (rng.random((120, 15)) < 0.4)
    return dense_rows(X), rng.integers(0, n_classes, 120)


def learned(model, rows: Compressed, codes, rates, uniform):
    model.reach(15)
    model.learn(rows, codes, rates, uniform)
    return model


CASES = [
    (lambda k: KeptWeights(4, k, second_order=False), (0.3, 0.0)),
    (lambda k: KeptWeights(4, k, second_order=False), (1.9, 0.5)),
    (lambda k: KeptWeights(4, k, second_order=True), (0.5,)),
    (lambda k: FullWeights(k, second_order=False), (0.3, True)),
    (lambda k: FullWeights(k, second_order=True), (0.5,)),
]


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("make", "rates"), CASES)
def test_compiled_is_plain(monkeypatch, make, rates, n_classes, uniform) -> None:
    rows, codes = data(n_classes)
    blocks = 1 if n_classes == 2 else n_classes
    compiled = learned(make(blocks), rows, codes, rates, uniform)
    module = binary if n_classes == 2 else multiclass
    for name in vars(module).copy():
        if name.startswith("learn_"):
            monkeypatch.setattr(module, name, getattr(module, name).py_func)
    plain = learned(make(blocks), rows, codes, rates, uniform)
    assert compiled.counts.tolist() == plain.counts.tolist()
    assert compiled.counts[3] > 20  # updates
    for found, expected in zip(compiled.learned(), plain.learned(), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kernel", [binary.plus, binary.plus.py_func])
def test_a_compensated_sum_loses_nothing(kernel) -> None:
    total, dropped = 0.0, 0.0
    for value in (1.0, 1e30, 3.0, -1e30, 2.0**-40):
        total, dropped = kernel(total, dropped, value)
    assert total + dropped == 4.0 + 2.0**-40


@pytest.mark.parametrize("kernel", [multiclass.contrast, multiclass.contrast.py_func])
@pytest.mark.parametrize(
    ("scores", "code", "uniform", "active", "sign", "margin", "mistakes"),
    [
        ([1.0, 3.0, 2.0], 1, False, [1, 2], [1, -1], 1.0, 0),
        ([1.0, 3.0, 2.0], 0, False, [0, 1], [1, -1], -2.0, 1),
        ([3.0, 3.0, 3.0], 1, False, [1, 0], [1, -1], 0.0, 1),
        ([3.0, 3.0, 3.0], 0, False, [0, 1], [1, -1], 0.0, 0),
        ([1.0, 3.0, 2.0], 0, True, [0, 1, 2], [1, -0.5, -0.5], -1.5, 1),
        ([2.0, 3.0, 2.0], 0, True, [0, 1, 2], [1, -0.5, -0.5], -0.5, 1),
        ([1.0, 3.0, 2.0], 1, True, [], [], np.inf, 0),
    ],
)
def test_contrast(kernel, scores, code, uniform, active, sign, margin, mistakes) -> None:
    which, signs, counts = np.zeros(3, dtype=np.int64), np.zeros(3), np.zeros(7, dtype=np.int64)
    moved, found = kernel(np.array(scores), code, uniform, which, signs, counts)
    assert (moved, found) == (len(active), margin)
    assert which[:moved].tolist() == active
    assert signs[:moved].tolist() == sign
    assert counts.tolist() == [0, 0, 1, 0, mistakes, 0, 0]
