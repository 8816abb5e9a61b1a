"""
Rows that drift
===============

A learner keeps 10 of 400 features while rows arrive. The data is generated to show an abrupt drift:
half way, the informative features are replaced by others. Progressive validation (predict, then
learn) shows the jump in the error. Here FOFS, which lets old weights decay, recovers. SOFS and PET
recover only in part. Other data or parameters can give another order.
"""

import matplotlib.pyplot as plt
import numpy as np

import tamis

rng = np.random.default_rng(0)
rows, columns, informative, chunk = 8000, 400, 10, 200
X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.1)
X[:, : 2 * informative] = rng.normal(size=(rows, 2 * informative))
X /= np.linalg.norm(X, axis=1, keepdims=True)
before, after = np.arange(informative), np.arange(informative, 2 * informative)
score = np.where(np.arange(rows) < rows // 2, X[:, before].sum(axis=1), X[:, after].sum(axis=1))
flip = rng.random(rows) < 0.03
y = (score > 0) ^ flip

# %%
# Feed the rows in chunks. Record the error on each chunk before it is learned, and how many
# informative features are kept.

learners = {
    "SOFS": tamis.SOFS(n_features=informative, gamma=1.0),
    "PET": tamis.PET(n_features=informative, eta=0.05),
    "FOFS": tamis.FOFS(n_features=informative, eta=0.2, lam=0.01),
}
errors = {name: [] for name in learners}
right = {name: [] for name in learners}
for start in range(0, rows, chunk):
    part = slice(start, start + chunk)
    now = before if start < rows // 2 else after
    for name, learner in learners.items():
        if start:
            errors[name].append(np.mean(learner.predict(X[part]) != y[part]))
        learner.partial_fit(X[part], y[part], classes=[False, True])
        right[name].append(len(np.intersect1d(learner.kept_, now)))
for name in learners:
    half = len(errors[name]) // 2
    print(
        f"{name}: error {np.mean(errors[name][half - 5 : half]):.2f} before the drift, "
        f"{errors[name][half]:.2f} right after it, {np.mean(errors[name][-5:]):.2f} at the end; "
        f"{right[name][-1]} of {informative} informative features kept at the end"
    )

# %%

fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for name in learners:
    axes[0].plot(np.arange(1, len(errors[name]) + 1) * chunk, errors[name], label=name)
    axes[1].plot(np.arange(len(right[name])) * chunk, right[name], label=name)
axes[0].set(title="error, before learning", xlabel="rows")
axes[1].set(title="informative features among the 10 kept", xlabel="rows")
for ax in axes:
    ax.axvline(rows // 2, color="k", lw=0.5, ls=":")
axes[0].legend()
plt.show()
