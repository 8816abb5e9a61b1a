"""
Marker genes from an AnnData file
=================================

Generated counts of 1,500 genes in 600 cells of three types, 60 of the genes being markers. They
are stored as AnnData (``.h5ad``) in CSC layout. The file is read column by column, and the anndata
package is not needed.
"""

# Requires: h5py

import h5py
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import tamis

rng = np.random.default_rng(0)
cells, genes = 600, 1500
kinds = rng.integers(0, 3, cells)
rate = np.tile(rng.gamma(0.3, 1, genes), (cells, 1))
markers = {kind: np.arange(20 * kind, 20 * kind + 20) for kind in range(3)}
for kind, columns in markers.items():
    rate[np.ix_(kinds == kind, columns)] += rng.gamma(2, 0.5, 20)
counts = sp.csc_array(rng.poisson(rate * rng.gamma(5, 0.2, (cells, 1))).astype(np.float32))
names = [f"gene{j}" for j in range(genes)]

# %%
# ``adata.write_h5ad`` writes such a file. This example uses h5py, to show how little is in it.

with h5py.File("cells.h5ad", "w") as file:
    file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
    X = file.create_group("X")
    X.attrs.update({"encoding-type": "csc_matrix", "encoding-version": "0.1.0"})
    X.attrs["shape"] = counts.shape
    for part in ("data", "indices", "indptr"):
        X[part] = getattr(counts, part)
    for group, index in (("obs", [f"cell{i}" for i in range(cells)]), ("var", names)):
        frame = file.create_group(group)
        frame.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0"})
        frame.attrs["_index"] = "_index"
        frame.attrs["column-order"] = ["type"] if group == "obs" else []
        frame["_index"] = index
    file["obs/type"] = [f"type {kind}" for kind in kinds]

source = tamis.open("cells.h5ad", target="type")
run = tamis.select(source, tamis.Sieve(n_features=12), fdr=0.05)
print(run.kept_names)
print(run.why(run.kept_names[0]))

# %%
# On the command line: ``tamis select cells.h5ad --target type --fdr 0.05 --out run``.
#
# How many of the genes that passed are markers?

frame = run.to_frame()
passed = frame[frame["verdict"] != "irrelevant"]["name"].str[4:].astype(int)
print(f"{len(passed)} genes passed, {sum(passed < 60)} of them are among the 60 markers")

# %%

kept = [names.index(name) for name in run.kept_names]
order = np.argsort(kinds, kind="stable")
fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
shown = ax.imshow(np.log1p(counts[:, kept].toarray()[order].T), aspect="auto", cmap="Blues")
ax.set_yticks(range(len(kept)), run.kept_names)
ax.set_xticks(
    np.cumsum(np.bincount(kinds)) - np.bincount(kinds) / 2, ["type 0", "type 1", "type 2"]
)
ax.set_title("log counts of the kept genes")
fig.colorbar(shown)
plt.show()
