"""
Would other rows agree?
=======================

Select on many random halves of the rows, and count how often each feature is kept. Of two near
copies, some halves keep the one and some the other. Both are worth as much, and the choice between
them is luck. The data is generated with one such pair.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import tamis

rng = np.random.default_rng(0)
n = 300
y = rng.integers(0, 2, n)
solid = y + 0.8 * rng.normal(size=n)
shared = y + rng.normal(size=n)
X = pd.DataFrame(
    {
        "solid": solid,
        "twin_a": shared + 0.2 * rng.normal(size=n),
        "twin_b": shared + 0.2 * rng.normal(size=n),
        "weak": y + 5 * rng.normal(size=n),
        **{f"noise{j}": rng.normal(size=n) for j in range(26)},
    }
)
found = tamis.stability(X, tamis.SAOLA("fisher_z"), y, pairs=20)
print(found)

# %%
# The share of halves that kept each feature, and the share that kept it or one of its stand-ins.

frame = found.to_frame()
print(frame.to_string(index=False))

# %%

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.barh(frame["name"], frame["votes"], color="lightblue", label="it or a stand-in")
ax.barh(frame["name"], frame["own_votes"], color="tab:blue", label="itself")
ax.legend()
ax.set(xlabel="share of 40 halves that keep it", xlim=(0, 1))
plt.show()
