"""The contract of batch selectors: every column is seen before anything is decided."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from tamis.checks.data import Case, assert_same_log, fitted, refusal
from tamis.estimators import BatchEstimator


def ranking_holds_what_is_kept(selector: BatchEstimator, case: Case) -> None:
    """The method's own order and the order of arrival contain the same features."""
    done = fitted(selector, case)
    ranking, kept = done.ranking_.tolist(), done.kept_.tolist()
    assert sorted(ranking) == kept, f"{case}: ranked {ranking} where {kept} are kept"
    assert clone(selector).select(case.X, case.y).tolist() == kept, f"{case}: select differs"
    assert clone(selector).rank(case.X, case.y).tolist() == ranking, f"{case}: rank differs"


def a_fitted_selector_survives_pickling(selector: BatchEstimator, case: Case) -> None:
    """The results can be pickled, and the columns are not pickled with them."""
    done = fitted(selector, case)
    packed = pickle.dumps(done)
    found: Any = pickle.loads(packed)
    assert_same_log(found.log_, done.log_, f"{case}, unpickled")
    assert found.ranking_.tolist() == done.ranking_.tolist(), f"{case}: the ranking is lost"
    wide = np.tile(case.X, (1, 10))
    more = len(pickle.dumps(clone(selector).fit(wide, case.y))) - len(packed)
    assert more < wide.nbytes / 2, f"{case}: {more:,} bytes more for ten times the columns"


def bad_columns_are_refused(selector: BatchEstimator, case: Case) -> None:
    """Infinity raises a one-sentence error, and no result of an earlier fit remains."""
    spoilt = case.X.copy()
    spoilt[0, -1] = np.inf
    live = fitted(selector, case)
    message = refusal(live.fit, spoilt, case.y)
    assert "infinity" in message, f"{case}: a column with infinity was not refused as such"
    assert not hasattr(live, "ranking_"), f"{case}: an old ranking remains after a refusal"
