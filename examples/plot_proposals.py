"""
A program that proposes columns all day
=======================================

A program (a feature generator, a search, an agent) proposes one column after another to a
persistent selection. The answer to each is kept or refused, what was replaced, and the reason. The
program uses it to decide what to try next. With ``fdr=0.1``, at most 10 % of the columns that pass
the test are expected to be false, however many are tried. The target is generated from four parts:
a raw column, a square and two products. The program does not know them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import tamis

rng = np.random.default_rng(2)
n = 1500
raw = pd.DataFrame(rng.normal(size=(n, 12)), columns=[f"r{j}" for j in range(12)])
score = raw["r0"] * raw["r1"] + raw["r2"] ** 2 + raw["r3"] - raw["r4"] * raw["r5"]
y = (score + 0.5 * rng.normal(size=n) > 0.8).astype(int)

selection = tamis.Selection.create("day", y, tamis.SAOLA("fisher_z", fdr=0.1), force=True)


def propose(name, values):
    """Offer one column; return what became of it, and why."""
    fed = selection.feed(pd.DataFrame({name: values}))
    if name not in fed.kept:
        return "refused", selection.why(name)
    return ("replaced " + ", ".join(fed.evicted)) if fed.evicted else "kept", selection.why(name)


# %%
# The program draws an operation and its operands, and prefers operands that were kept before. On
# the command line, the same loop reads the output of ``tamis feed day column.parquet --json``.

operations = {
    "abs({0})": lambda a, b: np.abs(a),
    "{0} * {1}": lambda a, b: a * b,
    "{0} + {1}": lambda a, b: a + b,
    "({0})^2": lambda a, b: a**2,
    "{0}": lambda a, b: a,
}
answers, tried, weight = [], set(), np.ones(12)
for _ in range(250):
    i, j = rng.choice(12, 2, replace=False, p=weight / weight.sum())
    template = list(operations)[rng.integers(len(operations))]
    name = template.format(f"r{i}", f"r{j}")
    if name in tried:
        continue
    tried.add(name)
    answer, reason = propose(name, operations[template](raw[f"r{i}"], raw[f"r{j}"]).to_numpy())
    if answer != "refused":
        weight[[i, j]] += 0.5
        print(f"{name}: {answer}")
    answers.append(answer.split()[0])

# %%
# The reasons are stored with the selection.

print("kept at the end of the day:", selection.kept_names)
for name in ("r9 + r3", "(r2)^2", "r3 + r9"):
    print(selection.why(name))
print({key: selection.status()[key] for key in ("features", "kept", "irrelevant", "evicted")})

# %%
# The relevance of each proposal, and the answer to it.

relevance = selection.run.to_frame()["relevance"].to_numpy()
fig, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
for answer, colour in {
    "refused": "lightgray",
    "kept": "tab:blue",
    "replaced": "tab:orange",
}.items():
    at = np.flatnonzero(np.array(answers) == answer)
    label = "replaced an earlier one" if answer == "replaced" else answer
    ax.scatter(at, relevance[at], s=25, color=colour, label=label)
ax.set(xlabel="proposals", ylabel="relevance")
ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()
