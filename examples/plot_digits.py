"""
Which pixels tell digits apart
==============================

Scans of handwritten digits have 64 pixels. Some are white in every scan, and neighbouring pixels
are similar. Which are worth keeping, and how much accuracy does it cost to drop the others?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import tamis

X, y = load_digits(return_X_y=True)
sieve = tamis.Sieve(n_features=16).fit(X, y)
sieve.log_

# %%
# Every pixel has a reason. Pixel 0 is white in every scan:

for pixel in ("x0", "x35", f"x{sieve.kept_[0]}"):
    print(sieve.why(pixel))

# %%
# As a step of a pipeline, the selector sees only the training rows of each fold.

scores = {}
for name, steps in {
    "all 64": [],
    "16 by Sieve": [tamis.Sieve(n_features=16)],
    "16 at random": [tamis.RandomFeatures(n_features=16)],
}.items():
    scores[name] = cross_val_score(
        make_pipeline(*steps, KNeighborsClassifier(3)), X, y, cv=5
    ).mean()
    print(f"{name:14} {scores[name]:.3f}")

# %%
# The kept pixels, and the worth of each.

worth = np.zeros(64)
worth[sieve.kept_] = sieve.worth_
fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
axes[0].imshow(X.mean(axis=0).reshape(8, 8), cmap="gray_r")
axes[0].set_title("mean of all scans")
axes[1].imshow(worth.reshape(8, 8), cmap="Blues")
axes[1].set_title("worth of the 16 kept")
for ax in axes[:2]:
    ax.set_xticks([])
    ax.set_yticks([])
axes[2].barh(list(scores), list(scores.values()), color="tab:blue")
axes[2].set_xlim(0.5, 1)
axes[2].set_title("accuracy, 3 neighbours")
plt.show()
