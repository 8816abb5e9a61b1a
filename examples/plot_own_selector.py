"""
Write your own selector
=======================

A rule is a class that decides about one feature at a time. tamis adds the loop over columns, the
log, the reasons, pipelines, saved runs and comparisons. This rule keeps a fixed number of features.
A new feature that is too similar to a kept one is dropped. Otherwise it replaces the weakest kept
feature, if it is more relevant.
"""

from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import tamis
from tamis.methods import Decision, MeasuredRule, Number, Reason, Verdict, param


class PlacesRule(MeasuredRule):
    """Keep the most relevant features that are not too alike."""

    name: ClassVar[str] = "places"

    size: int = param(10, Number(1, integer=True))
    highest: float = param(0.7, Number(0, 1))

    def reasons(self):
        """Return why a feature can be kept or dropped, each with a sentence."""
        return {
            "kept": Reason(Verdict.KEPT, "{name} is kept with {relevance_symbol}={relevance}"),
            "alike": Reason(Verdict.REDUNDANT, "{name} is too much like {because} ({value})"),
            "weak": Reason(
                Verdict.REDUNDANT, "{name} is weaker than {because} ({value}), the weakest kept"
            ),
            "displaced": Reason(Verdict.EVICTED, "{name} was kept until {because} took its place"),
        }

    def decide(self, arrival, kept):
        """Decide about one relevant feature, given those that are kept."""
        alike = kept.panel.between(arrival.column)
        if len(kept) and np.max(alike) > self.highest:
            other = int(np.argmax(alike))
            because = (int(kept.features[other]),)
            return Decision(
                arrival.feature, "alike", arrival.relevance, float(alike[other]), because=because
            )
        if len(kept) < self.size:
            return Decision(arrival.feature, "kept", arrival.relevance)
        weakest = int(np.argmin(kept.relevance))
        feature, relevance = int(kept.features[weakest]), float(kept.relevance[weakest])
        if arrival.relevance <= relevance:
            return Decision(
                arrival.feature, "weak", arrival.relevance, relevance, because=(feature,)
            )
        leaves = Decision(
            feature, "displaced", relevance, arrival.relevance, because=(arrival.feature,)
        )
        return Decision(arrival.feature, "kept", arrival.relevance, evicts=(leaves,))


X, y = load_digits(return_X_y=True)
run = tamis.select(X, PlacesRule(size=8), y)
print(run)
for name in ("x20", "x21", "x28"):
    print(run.why(name))

# %%
# Every built-in method passes a set of checks: the same decisions for every block width, layout and
# way of feeding, a reason for every feature, and more. Run them on your own rule as well.

from tamis.checks import checks_of

print(len(checks_of(PlacesRule())), "checks; run them all with tamis.checks.check(PlacesRule())")

# %%
# One call turns the rule into a scikit-learn estimator.

Places = tamis.estimators.estimator_of(PlacesRule)
print(Places(size=8).fit_transform(X, y).shape)

# %%

fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for ax, highest in zip(axes, (1.0, 0.7, 0.4), strict=True):
    kept = Places(size=8, highest=highest).fit(X, y).get_support().reshape(8, 8)
    ax.imshow(X.mean(axis=0).reshape(8, 8), cmap="gray_r", alpha=0.4)
    ax.imshow(np.where(kept, 1.0, np.nan), cmap="winter")
    ax.set(title=f"highest={highest}", xticks=[], yticks=[])
plt.show()
