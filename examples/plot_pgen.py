"""
PLINK 2 files, beside plink2's own results
==========================================

A ``.pgen`` file of a generated cohort is read with pgenlib, a block of variants at a time, and
passed to tamis as blocks of columns. Where plink2 is installed, its association test (``--glm``) is
shown beside tamis' relevance. Where PLINK 1.9 is installed as well, its ``--clump`` groups the
same variants by plink2's p-values.
"""

# Requires: pgenlib

import shutil
import subprocess

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pgenlib

import tamis

rng = np.random.default_rng(0)
people, blocks, size = 800, 40, 10
haplotypes = np.empty((blocks * size, people, 2), dtype=np.int8)
for block in range(blocks):
    frequency = rng.uniform(0.2, 0.5)
    now = rng.random((people, 2)) < frequency
    for k in range(size):  # a chromosome keeps its neighbour's allele, most of the time
        fresh = rng.random((people, 2)) < frequency
        now = np.where(rng.random((people, 2)) < 0.1, fresh, now)
        haplotypes[block * size + k] = now
genotypes = haplotypes.sum(axis=2).astype(np.int8)
age = rng.normal(size=people)
causes = [44, 205, 313]
trait = genotypes[causes].sum(axis=0) + 1.5 * age + 1.5 * rng.normal(size=people)
genotypes[rng.random(genotypes.shape) < 0.004] = -9  # no call
names = [f"rs{j}" for j in range(len(genotypes))]

# %%
# Write the three files of a cohort.

with pgenlib.PgenWriter(b"cohort.pgen", people, variant_ct=len(names)) as writer:
    writer.append_biallelic_batch(np.ascontiguousarray(genotypes))
variants = pd.DataFrame({"#CHROM": 1, "POS": [10_000 * (j // size) + j for j in range(len(names))]})
variants.assign(ID=names, REF="A", ALT="C").to_csv("cohort.pvar", sep="\t", index=False)
table = pd.DataFrame({"#IID": [f"i{i}" for i in range(people)], "trait": trait, "age": age})
table[["#IID"]].assign(SEX="NA").to_csv("cohort.psam", sep="\t", index=False)
table[["#IID", "trait"]].to_csv("pheno.tsv", sep="\t", index=False)
table[["#IID", "age"]].to_csv("covar.tsv", sep="\t", index=False)

# %%
# Read them in blocks. Missing calls are imputed with the mean of their variant, as plink2 does for
# scores. For pairwise deletion, pass NaN on and set ``missing="delete"`` (without covariates).


def columns(path, width=100):
    """Yield data frames with a hundred variants each."""
    ids = pd.read_csv(f"{path}.pvar", sep="\t")["ID"]
    with pgenlib.PgenReader(f"{path}.pgen".encode()) as reader:
        for start in range(0, reader.get_variant_ct(), width):
            end = min(start + width, reader.get_variant_ct())
            calls = np.empty((end - start, reader.get_raw_sample_ct()), dtype=np.int8)
            reader.read_range(start, end, calls)
            values = np.where(calls == -9, np.nan, calls)
            means = np.nanmean(values, axis=1, keepdims=True)
            yield pd.DataFrame(np.where(np.isnan(values), means, values).T, columns=ids[start:end])


covariates = table[["age"]].to_numpy()
rule = tamis.SAOLA("fisher_z", order="free", alpha=1e-4)
run = tamis.select(lambda: columns("cohort"), rule, trait, given=covariates)
print(run.kept_names, "; the causes were", [names[cause] for cause in causes])

# %%
# The clumps of tamis: an index variant, the variants that it could stand for, and their r2 with it.

matrix = pd.concat(columns("cohort"), axis=1)
clumps = pd.DataFrame(
    {
        "index variant": index,
        "members": ", ".join(other.name for other in run.instead(index)),
        "r2": ", ".join(
            f"{matrix[index].corr(matrix[other.name]) ** 2:.2f}" for other in run.instead(index)
        ),
    }
    for index in run.kept_names
)
print(clumps.to_string(index=False))

# %%
# plink2's linear regression of the same trait, with the same covariate. The strengths agree
# closely, although plink2 leaves missing calls out instead of imputing them. On this generated
# cohort, the index variants are also those with plink2's smallest p-value near each cause.

ours = run.to_frame().set_index("name")["relevance"].reindex(names)
theirs = None
if shutil.which("plink2"):
    command = "plink2 --pfile cohort --pheno pheno.tsv --covar covar.tsv --out plink2 --threads 1"
    subprocess.run(
        [*command.split(), "--covar-variance-standardize", "--glm", "hide-covar"],
        check=True,
        capture_output=True,
    )
    found = pd.read_csv("plink2.trait.glm.linear", sep="\t").set_index("ID").loc[names]
    t = found["T_STAT"].abs()
    theirs = t / np.sqrt(t**2 + found["OBS_CT"] - 3)  # the partial correlation
    print(f"correlation of the strengths: {np.corrcoef(ours, theirs)[0, 1]:.4f}")
    print("smallest p-value of each peak:", [
        found["P"].iloc[c // size * size : c // size * size + size].idxmin() for c in causes
    ])  # fmt: skip

# %%
# PLINK's clumps of these p-values: every variant with r2 above 0.1 joins the most significant one,
# if it is significant itself. On this cohort both find the same three clumps. That is easy here:
# variants of different blocks are independent of each other.

if theirs is not None and shutil.which("plink1.9"):
    table = found.reset_index()[["ID", "P"]].set_axis(["SNP", "P"], axis=1)
    table.to_csv("plink2.assoc", sep="\t", index=False)
    for command in (
        "plink2 --pfile cohort --make-bed --out cohort --threads 1",
        "plink1.9 --bfile cohort --clump plink2.assoc --clump-p1 1e-4 --clump-p2 1e-2 "
        "--clump-r2 0.1 --clump-kb 1 --allow-no-sex --out plink1",
    ):
        subprocess.run(command.split(), check=True, capture_output=True)
    plink = pd.read_csv("plink1.clumped", sep=r"\s+").set_index("SNP")
    for index in plink.index:
        members = plink.loc[index, "SP2"].replace("(1)", "").split(",")
        ours_of = next((k for k in run.kept_names if k == index or k in members), None)
        alike = {other.name for other in run.instead(ours_of)} if ours_of else set()
        both = len((alike | {ours_of}) & {index, *members})
        print(
            f"{index} and {len(members)} members; tamis: {ours_of} and {len(alike)}, {both} in both"
        )

# %%

fig, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
ax.scatter(range(len(names)), ours, s=8, label="tamis")
if theirs is not None:
    ax.scatter(range(len(names)), theirs, s=16, facecolors="none", edgecolors="k", label="plink2")
for index in run.kept_names:
    ax.annotate(index, (names.index(index), ours[index]))
ax.set(xlabel="variant", ylabel="partial correlation, given age")
ax.legend()
plt.show()
