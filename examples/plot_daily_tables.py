"""
A week of daily tables
======================

Every night a pipeline writes a table with the customer's id and some new columns. The selection
is a folder: it takes Monday's columns on Monday, and resumes with Tuesday's in another process.
The decisions are the same as in one long run. The tables are generated: each day measures the same
three signals more precisely, and adds noise.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import tamis

rng = np.random.default_rng(0)
n = 500
customers = pd.Series([f"c{i}" for i in range(n)], name="customer")
churned = rng.integers(0, 2, n)
signal = churned + rng.normal(size=(3, n))


def table(day):
    """Return the columns of one day, with rows in another order: each day knows a bit more."""
    columns = {f"{day}_noise{j}": rng.normal(size=n) for j in range(6)}
    blur = 2 / (1 + DAYS.index(day))
    for j, cause in enumerate(signal):
        columns[f"{day}_signal{j}"] = cause + blur * rng.normal(size=n)
    return pd.DataFrame({"customer": customers, **columns}).sample(frac=1, random_state=1)


DAYS = ["mon", "tue", "wed", "thu", "fri"]
selection = tamis.Selection.create("churn", churned, tamis.SAOLA("fisher_z"), customers, force=True)
for day in DAYS:
    selection = tamis.Selection.open("churn")  # as another process would, the next day
    print(selection.feed(table(day)))

# %%
# What is kept now, and what happened to Monday's columns? A noise column is kept as well: 30 of
# them are tested at a level of 1 %, so one may pass by chance. ``fdr=0.1`` bounds such finds.

print(selection.kept_names)
print(selection.why("mon_signal0"))
print(selection.why("mon_noise0"))

# %%
# Decisions by day. Most of the signal columns that were kept early were displaced later.

frame = selection.run.to_frame()
frame["day"] = frame["name"].str[:3]
counts = frame.groupby(["day", "verdict"]).size().unstack(fill_value=0).loc[DAYS]
print(counts)

# %%

ax = counts.plot.bar(stacked=True, figsize=(7, 3.4), rot=0, colormap="tab20c")
ax.set_ylabel("columns")
ax.set_title("what became of the columns of each day")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.tight_layout()
plt.show()
