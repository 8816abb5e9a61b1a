"""Stability over the rows: how far halves of them lead to the same features.

The rows are split in half, again and again, and the selection is repeated on each half. Features
that can stand in for each other share their votes: a half that keeps any of them agrees. So votes
are counted for families, the kept features of the whole data with their stand-ins.

References
----------
R. D. Shah, R. J. Samworth. Variable Selection with Error Control: Another Look at Stability
Selection. JRSS-B 75, 2013 (complementary halves).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tamis.core.decisions import DecisionLog
from tamis.core.errors import need
from tamis.core.params import Number, check
from tamis.core.target import Target
from tamis.core.verdicts import Verdict
from tamis.engine.runs import Run
from tamis.evaluate.repeating import Repeated, repeated, results_of
from tamis.evaluate.stability import Stability
from tamis.evaluate.stability import stability as stability_of
from tamis.sources.base import Progress, silent

Ints = npt.NDArray[np.int64]

#: What progress is called.
SPLITTING = "selecting from halves of the rows"


@dataclass(frozen=True)
class Family:
    """A kept feature with its stand-ins, and how often halves of the rows agree.

    Attributes
    ----------
    name : str
        The feature that the whole data keep.
    size : int
        Features of the family.
    votes, own_votes : float
        The share of the halves that keep a feature of the family, and that keep this very one.
    also : str or None
        The stand-in that halves keep most often.
    """

    name: str
    size: int
    votes: float
    own_votes: float
    also: str | None


@dataclass(frozen=True)
class RowStability:
    """How much a selection depends on the rows.

    Attributes
    ----------
    families, features : Stability
        Nogueira's index of the sets that halves keep, with its 95 % interval: of families, and of
        single features. 1 means the same set every time, 0 agreement by chance.
    votes : list of Family
        The kept features, those with most votes first.
    outside : float
        The mean number of features that a half keeps and that belong to no family.
    """

    families: Stability
    features: Stability
    votes: list[Family]
    outside: float

    def to_frame(self) -> Any:
        """Return the votes as a pandas data frame with one row per family."""
        pandas = need("pandas", extra="pandas", what_for="RowStability.to_frame")
        return pandas.DataFrame([asdict(one) for one in self.votes])

    def record(self) -> dict[str, Any]:
        """Return it as plain values, for run.json."""
        indices = {"families": self.families, "features": self.features}
        return {
            **{name: _plain(asdict(index)) for name, index in indices.items()},
            "votes": [asdict(one) for one in self.votes],
            "outside": self.outside,
            "sentence": str(self),
        }

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return what `record` wrote."""
        families, features = (Stability(**_numbers(record[k])) for k in ("families", "features"))
        votes = [Family(**one) for one in record["votes"]]
        return cls(families, features, votes, float(record["outside"]))

    def __str__(self) -> str:
        if math.isnan(self.features.nogueira):
            return f"no index, because {self.features.selections} halves of the rows keep nothing"
        return (
            f"{_index(self.families)} for families of stand-ins and {_index(self.features)} for "
            f"single features, over {self.features.selections} halves of the rows (1: always the "
            "same, 0: chance)"
        )


def stability(
    data: Any,
    selector: Any = "sieve",
    y: Any = None,
    *,
    pairs: int = 25,
    random_state: int = 0,
    row_groups: Any = None,
    run: Run | None = None,
    task: str = "auto",
    encode: Any = None,
    missing: Any = "auto",
    keep: Any = None,
    stop: Any = None,
    cluster: Any = None,
    progress: Progress = silent,
    **how: Any,
) -> RowStability:
    """Repeat a selection on complementary halves of the rows, and count what they agree on.

    Classes are divided evenly. Votes are for families: a feature that the whole data keep, with
    those that fell to it. Of methods that do not compare features, each is a family of its own.

    Parameters
    ----------
    data, selector, y
        As for `tamis.select`; or a run in place of the selector, which is done again.
    pairs : int, default=25
        Pairs of halves; the selection is repeated twice as often.
    random_state : int, default=0
        Seed of the halves.
    row_groups : array-like of shape (n_rows,) or name of a column, optional
        Rows that belong together, such as those of one patient: they stay in one half.
    run : Run, optional
        The selection from all rows, if there is one already.
    task, encode, missing, keep, stop, **how
        As for `tamis.select`.
    cluster : str or dask.distributed.Client, optional
        Where halves are selected from, as for `tamis.select`. Does not affect the result.
    progress : callable, optional
        Called as ``progress(what, done, total)``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = stability(X, "saola", y, pairs=5)
    >>> 0 < found.features.nogueira < found.families.nogueira <= 1
    True
    """
    check("stability", "pairs", pairs, Number(1, integer=True))
    check("stability", "random_state", random_state, Number(0, integer=True))
    how |= {"task": task, "encode": encode, "missing": missing, "keep": keep, "stop": stop}
    if isinstance(selector, Run):
        how = {name: value for name, value in how.items() if value not in (None, "auto")}
    with repeated(data, selector, y, how, row_groups, run, progress) as repeats:
        whole = repeats.run or repeats.selected(cluster=cluster)
        work = Halves(replace(repeats, run=whole))
        parts = halves(repeats.target, pairs, random_state, repeats.groups)
        found = results_of(work, parts, SPLITTING, cluster=cluster, progress=progress)
    return counted_votes(whole, found)


@dataclass(frozen=True, eq=False)
class Halves:
    """Selects from one half after the other."""

    repeated: Repeated

    def one(self, item: Ints, cluster: Any = None) -> dict[str, Any]:
        """Return what is kept of the rows of a half."""
        return {"kept": self.repeated.selected(item, cluster).log.replay()}

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker needs: of the run from all rows only the number of features."""
        return {"repeated": replace(self.repeated, run=None)}


def families_of(log: DecisionLog) -> Ints:
    """Return the kept feature to which each feature fell, itself if it is kept, -1 if none.

    That is the feature because of which it was dropped (the first of several), or the one to which
    that one fell in turn.
    """
    table = log.columns()
    fell = np.isin(log.verdicts, (Verdict.REDUNDANT, Verdict.EVICTED)) & (table["because"] >= 0)
    root = np.where(fell, table["because"], np.arange(len(log)))
    for _ in range(64):  # each step doubles the length of the chains that are followed
        root = root[root]
    return np.where(log.support[root], root, -1) if len(log) else root


def counted_votes(whole: Run, found: Sequence[Mapping[str, Any]]) -> RowStability:
    """Return the stability of what halves keep, given the selection from all rows."""
    kept = [np.array(one["kept"], np.int64) for one in found]
    log, n = whole.log, len(whole.log)
    root, support = families_of(log), np.flatnonzero(log.support)
    family = np.where(root >= 0, root, np.arange(n))
    by_family = [np.unique(family[some]) for some in kept]
    times = np.zeros(n, np.int64)
    for some in kept:
        times[some] += 1
    family_times = np.zeros(n, np.int64)
    for some in by_family:
        family_times[some] += 1
    votes = []
    for one in support.tolist():
        members = np.flatnonzero(family == one)
        others = members[members != one]
        also = int(others[np.argmax(times[others])]) if len(others) else -1
        votes.append(Family(
            log.names[one], len(members), float(family_times[one] / len(kept)),
            float(times[one] / len(kept)),
            log.names[also] if also >= 0 and times[also] else None,
        ))  # fmt: skip
    votes.sort(key=lambda one: (-one.votes, -one.own_votes))
    return RowStability(
        stability_of(by_family, len(np.unique(family))),
        stability_of(kept, n),
        votes,
        float(np.mean([np.count_nonzero(root[some] < 0) for some in kept])),
    )


# --- rows ----------------------------------------------------------------------------------------


def halves(target: Target, pairs: int, random_state: int, groups: Ints | None = None) -> list[Ints]:
    """Return the rows of both halves of each pair; every class is divided evenly.

    With `groups`, groups are divided, and their rows stay together.
    """
    found = []
    for pair in range(pairs):
        rng = np.random.default_rng([random_state, pair])
        in_first = np.zeros(target.n_rows, np.bool_)
        if groups is not None:
            order = rng.permutation(int(groups.max()) + 1)
            in_first = np.isin(groups, order[: (len(order) + 1) // 2])
        else:
            codes = np.zeros(target.n_rows) if target.codes is None else target.codes
            spare = 0  # the odd rows of classes go to either half in turn
            for code in np.unique(codes):
                rows = rng.permutation(np.flatnonzero(codes == code))
                in_first[rows[: (len(rows) + spare) // 2]] = True
                spare ^= len(rows) % 2
        found += [np.flatnonzero(in_first), np.flatnonzero(~in_first)]
    return found


# --- small steps ---------------------------------------------------------------------------------


def _index(found: Stability) -> str:
    return f"{found.nogueira:.2f} ({found.low:.2f} to {min(found.high, 1.0):.2f})"


def _plain(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in numbers.items()}


def _numbers(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {k: math.nan if v is None else v for k, v in plain.items()}
