"""
Compare methods on your own data
================================

No method wins everywhere, so compare on your own data sets. Features are selected inside each
training fold. Include the controls (all features, random features) in every comparison.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from tamis.evaluate import compare

data = {
    "cancer": load_breast_cancer(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "digits": tuple(part[:300] for part in load_digits(return_X_y=True)),
}
methods = "sieve:n_features=5,saola,mrmr:n_features=5,all,random:n_features=5"
results = compare(data, methods, "knn", cv=3, n_jobs=1)
print(results.methods)
print(results.grid("accuracy", "knn").round(3))

# %%
# Features kept, and average ranks over the sets (1 is best). With three sets, hardly any difference
# can be significant; the summary has the tests.

print(results.grid("kept", "knn").round(1))
ranks = results.summary()["classifiers"]["knn"]["ranks"]
for method, rank in zip(results.methods, ranks["average_ranks"], strict=True):
    print(f"{rank:.1f} {method}")

# %%
# Accuracy against the number of features kept. ``results.plot_ranks()`` draws the average ranks,
# and ``tamis report`` writes a page about a comparison made on the command line.

kept, accuracy = results.grid("kept", "knn"), results.grid("accuracy", "knn")
fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
for ax, name, x, y in zip(axes, data, kept, accuracy, strict=True):
    for k, method in enumerate(results.methods):
        ax.scatter(x[k], y[k], s=60, marker="o^sDv"[k], alpha=0.7, label=method)
    ax.set(title=name, xlabel="features kept")
axes[0].set_ylabel("accuracy, 3 neighbours")
axes[2].legend(fontsize="small")
plt.show()
