"""Writes the AnnData files next to it, for the tests of the reader.

Run once with anndata 0.12.19 and pandas 2.3: python make_anndata.py. They are kept so that the
tests need no anndata, which ties pandas to a version.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp

HERE = Path(__file__).parent


def cells() -> anndata.AnnData:
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(30, 20)), 2) * (rng.random((30, 20)) < 0.3)
    X[:, 3] = 0.0
    obs = pd.DataFrame(
        {
            "type": pd.Categorical(rng.choice(["B cell", "T cell", "µglia"], 30)),
            "batch": [f"b{i % 4}" for i in range(30)],
            "dose": np.arange(30) / 4,
            "alive": np.arange(30) % 3 == 0,
            "day": pd.array([i % 5 for i in range(30)], dtype="Int64"),
            "gaps": pd.Categorical(["a", "b", None] * 10),
        },
        index=[f"cell{i}" for i in range(30)],
    )
    var = pd.DataFrame(index=[f"gene{j}" for j in range(20)])
    made = anndata.AnnData(sp.csc_matrix(X), obs=obs, var=var)
    made.layers["rows"] = sp.csr_matrix(2 * X)
    made.layers["dense"] = 3 * X
    made.raw = anndata.AnnData(sp.csr_matrix(4 * X), obs=obs, var=var)
    return made


if __name__ == "__main__":
    cells().write_h5ad(HERE / "cells.h5ad")
    words = {name: np.array(column, dtype=str) for name, column in cells().obs.items()}
    np.savez_compressed(HERE / "cells.npz", X=cells().X.toarray(), **words)
    for version in (2, 3):
        anndata.settings.zarr_write_format = version
        folder = HERE / f"cells_v{version}.zarr"
        cells().write_zarr(folder)
        shutil.make_archive(str(folder), "zip", folder)
        shutil.rmtree(folder)
