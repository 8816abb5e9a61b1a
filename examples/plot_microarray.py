"""
Genes by samples, with a batch to adjust for
============================================

2,000 genes and 140 samples, generated to show a batch effect. Three genes cause the status. 200
others differ between two batches, and so does the status. A selection that is not given the batch
keeps some genes that only follow it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import tamis

rng = np.random.default_rng(0)
n_genes, n_samples = 2000, 140
batch = rng.integers(0, 2, n_samples)
genes = rng.normal(size=(n_genes, n_samples))
genes[100:300] += 1.5 * batch
risk = 1.5 * (genes[0] + genes[1] - genes[2]) + 3 * batch + rng.normal(size=n_samples)
names = np.array([f"g{j}" for j in range(n_genes)])
samples = [f"S{i}" for i in range(n_samples)]
status = np.where(risk > np.median(risk), "sick", "well")
pheno = pd.DataFrame({"sample": samples, "batch": batch, "status": status})

# %%
# Each line of the file is a gene. The phenotypes are in a second table, in another order. tamis
# joins the two by sample name, and reads the file line by line.

pd.DataFrame(genes, names, samples).to_csv("expr.tsv", sep="\t")
pheno.sample(frac=1, random_state=0).to_csv("pheno.tsv", sep="\t", index=False)
source = tamis.open("expr.tsv", transpose=True, y="pheno.tsv", key="sample", target="status")
plain = tamis.select(source, "saola", fdr=0.1)
adjusted = tamis.select(source, "saola", given=["batch"], fdr=0.1)
print("without the batch:", plain.kept_names)
print("given the batch:  ", adjusted.kept_names)

# %%
# Without the covariate, genes that follow the batch look about as relevant as the causes. Given the
# batch, they do not.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, run, title in ((axes[0], plain, "not adjusted"), (axes[1], adjusted, "given the batch")):
    frame = run.to_frame().set_index("name").loc[names]
    ax.scatter(range(n_genes), frame["relevance"], s=3, c="lightgray")
    ax.scatter(
        range(100, 300), frame["relevance"].iloc[100:300], s=5, c="tab:orange", label="batch"
    )
    ax.scatter(range(3), frame["relevance"].iloc[:3], s=20, c="tab:blue", label="causes")
    ax.set(title=title, xlabel="gene")
axes[0].set_ylabel("relevance")
axes[0].legend()
plt.show()
