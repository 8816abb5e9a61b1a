"""
SNPs of a cohort: PLINK files, covariates and clumps
====================================================

A cohort in PLINK's binary format, generated to show confounding by ancestry: blocks of correlated
SNPs, two of which contain a cause, and a covariate in the place of a principal component. The
result is a table in the form of ``plink --clump``: an index variant, its members, and r2. PLINK
itself is not run.
"""

# Requires: bed_reader

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from bed_reader import to_bed

import tamis

rng = np.random.default_rng(0)
people, blocks, size = 800, 60, 8
ancestry = rng.normal(size=people)
snps = np.empty((people, blocks * size))
for block in range(blocks):
    frequency = rng.uniform(0.2, 0.5)
    odds = np.log(frequency / (1 - frequency)) + (0.8 * ancestry if block >= 50 else 0)
    first = (rng.random((2, people)) < 1 / (1 + np.exp(-odds))).astype(float)
    for k in range(size):  # a chromosome keeps its neighbour's allele, most of the time
        fresh = rng.random((2, people)) < frequency
        first = np.where(rng.random((2, people)) < 0.15, fresh, first)
        snps[:, block * size + k] = first.sum(axis=0)
causes = [5 * size + 3, 20 * size + 4]
risk = snps[:, causes].sum(axis=1) + 1.2 * ancestry + rng.normal(size=people)
case = np.where(risk > np.median(risk), 2.0, 1.0)
names = [f"rs{j}" for j in range(snps.shape[1])]
holes = np.where(rng.random(snps.shape) < 0.005, np.nan, snps)

# %%
# The files, with 0.5 % of the genotypes missing, and a table with the covariate.

ids = [f"i{i}" for i in range(people)]
positions = [1000 * block + 10 * k for block in range(blocks) for k in range(size)]
properties = {"iid": ids, "pheno": case, "sid": names, "bp_position": positions}
to_bed("cohort.bed", holes, properties=properties)
pheno = pd.DataFrame({"iid": ids, "pc1": ancestry, "case": case})
pheno.to_csv("pheno.tsv", sep="\t", index=False)
source = tamis.open("cohort.bed", y="pheno.tsv", key="iid", target="case")

# %%
# Missing genotypes must be excluded or imputed. Here they are imputed with the mean of their SNP.
# The alternative is pairwise deletion, ``missing="delete"`` (without covariates).

matrix, target = source.load()
matrix = np.where(np.isnan(matrix), np.nanmean(matrix, axis=0), matrix)
genotypes = pd.DataFrame(matrix, columns=names)
plain = tamis.select(genotypes, "saola", target, fdr=0.05)
run = tamis.select(
    genotypes.assign(pc1=source.column("pc1")), "saola", target, given=["pc1"], fdr=0.05
)
print("without the covariate:", plain.kept_names)
print("given pc1:", run.kept_names)

# %%
# A clump is an index variant and the variants that it made redundant. r2 is between genotypes. An
# index variant need not be the cause: here one of them is a neighbour of the cause.

r2 = np.corrcoef(matrix.T) ** 2
rows = []
for index in run.kept_names:
    members = [other.name for other in run.instead(index)]
    shown = [f"{m} ({r2[names.index(index), names.index(m)]:.2f})" for m in members]
    rows.append({"index variant": index, "members": len(members), "r2": ", ".join(shown)})
clumps = pd.DataFrame(rows)
print(clumps.to_string(index=False))
print("the causes were", [names[cause] for cause in causes])

# %%

frame = run.to_frame().set_index("name").reindex(names)
fig, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
ax.scatter(range(len(names)), frame["relevance"], s=6, c="lightgray")
for k, index in enumerate(run.kept_names):
    at = [names.index(other.name) for other in run.instead(index)]
    ax.scatter(at, frame["relevance"].iloc[at], s=14, color=f"C{k}")
    ax.scatter(names.index(index), frame["relevance"][index], s=50, color=f"C{k}", label=index)
for cause in causes:
    ax.axvline(cause, color="k", lw=0.5, ls=":")
ax.set(xlabel="SNP (dotted: the causes)", ylabel="partial correlation, given pc1")
ax.legend(title="index variant")
plt.show()
