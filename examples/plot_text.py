"""
Text with a million columns
===========================

Which words distinguish the docstrings of three packages? They are hashed into 2^20 columns, nearly
all of them empty. Nothing is downloaded.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import sklearn.metrics
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import tamis

modules = np, scipy.linalg, sklearn.metrics
texts, labels = [], []
for module in modules:
    for name in dir(module):
        text = inspect.getdoc(getattr(module, name)) or ""
        # The first words only: examples would give the name of the package away.
        texts.append(" ".join(text.split(">>>")[0].split()[:60]))
        labels.append(module.__name__)
long_enough = [len(text) > 100 for text in texts]
texts = [text for text, keep in zip(texts, long_enough, strict=True) if keep]
labels = [label for label, keep in zip(labels, long_enough, strict=True) if keep]
print(len(texts), "docstrings")

# %%
# The selector takes the sparse matrix without making it dense.

hashed = HashingVectorizer(n_features=2**20, alternate_sign=False, norm=None, binary=True)
model = make_pipeline(hashed, tamis.SAOLA(), LogisticRegression(max_iter=1000))
print(f"accuracy {cross_val_score(model, texts, labels, cv=5).mean():.2f}")
model.fit(texts, labels)
print("kept", len(model["saola"].kept_), "of", 2**20)

# %%
# To see the words, count them instead of hashing them.

words = CountVectorizer(binary=True).fit(texts)
counts = words.transform(texts)
vocabulary = words.get_feature_names_out()
sel = tamis.SAOLA().fit(counts, labels)
best = sel.ranking_[:12]
print([str(vocabulary[column]) for column in best])

# %%

share = np.array(
    [
        np.asarray(counts[np.array(labels) == module.__name__][:, best].mean(axis=0)).ravel()
        for module in modules
    ]
)
fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for k, module in enumerate(modules):
    ax.bar(np.arange(len(best)) + 0.27 * (k - 1), share[k], width=0.27, label=module.__name__)
ax.set_xticks(range(len(best)), vocabulary[best], rotation=45, ha="right")
ax.set_ylabel("share of docstrings")
ax.legend()
plt.show()
