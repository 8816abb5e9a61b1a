"""Random sparse streams that are hard on purpose: few distinct values, many ties, empty rows."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


def stream(kind, seed, n_columns, n_classes, n_rows=60):
    rng = np.random.default_rng(seed)
    shape = (n_rows, n_columns)
    values = {
        "continuous": lambda: rng.normal(size=shape),
        "counts": lambda: rng.poisson(1.5, shape).astype(float),
        "flags": lambda: np.ones(shape),
        "signs": lambda: rng.choice([-2.0, -1.0, 1.0, 2.0], shape),
        "scales": lambda: rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7, shape),
    }[kind]()
    X = values * (rng.random(shape) < rng.choice([0.1, 0.3, 0.9]))
    X[rng.integers(n_rows)] = 0.0
    if rng.random() < 0.5 and n_columns > 1:
        X[:, 0] = X[:, -1]  # copies, far apart
    truth = rng.normal(size=(n_columns, n_classes))
    codes = (X @ truth + 0.3 * rng.normal(size=(n_rows, n_classes))).argmax(axis=1)
    codes[:n_classes] = np.arange(n_classes)
    return X, codes


KINDS = ("continuous", "counts", "flags", "signs", "scales")

streams = st.builds(
    stream,
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    n_columns=st.integers(1, 25),
    n_classes=st.just(2),
)
many_classes = st.builds(
    stream,
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    n_columns=st.integers(1, 20),
    n_classes=st.integers(3, 5),
)
