"""MDLP: entropy cuts that stop by the minimum description length principle."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.core.errors import InputError
from tamis.core.target import Target
from tamis.encode.encoder import Encoder, Finder
from tamis.kernels.information import entropy_table
from tamis.kernels.mdl_cuts import mdlp_columns


class MDLPEncoder(Encoder):
    """Cut where the classes separate, until a cut costs more bits than it saves.

    The values S of a column, N rows, are cut at T into S1 and S2 so that the class entropy
    E = |S1|/N Ent(S1) + |S2|/N Ent(S2) is smallest. The cut is accepted if
    Ent(S) - E > log2(N - 1)/N + D/N with D = log2(3^k - 2) - [k Ent(S) - k1 Ent(S1) - k2 Ent(S2)],
    where k, k1, k2 are the numbers of classes in S, S1, S2; then S1 and S2 are cut in the same way.
    T is half-way between two neighbouring values. A column that gets no cut becomes constant.

    Cost: sorting a column, then one pass over it per level of cuts, O(1) per row for any number
    of classes. All zeros of a sparse column are handled in one step.

    Entropies are computed from integer sums, so ties are exact: the lowest of tied cuts wins.

    Parameters
    ----------
    which : {"numbers", "all"}
        "numbers": text columns and integer columns with few levels (up to 20, and up to a fifth of
        the rows) are already categorical and stay unchanged. "all": cut every column
        that is not text.

    References
    ----------
    U. M. Fayyad, K. B. Irani. Multi-Interval Discretization of Continuous-Valued Attributes for
    Classification Learning. IJCAI 1993.

    Examples
    --------
    >>> from tamis.encode import MDLP
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> mdlp = MDLP().fit(X, y)
    >>> [cuts.round(2).tolist() for cuts in mdlp.cuts_]
    [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    >>> mdlp.transform(X)[[0, 75, 149]].astype(int).tolist()
    [[0, 2, 0, 0], [2, 1, 1, 1], [1, 1, 2, 2]]
    """

    method: ClassVar[str] = "mdlp"
    supervised: ClassVar[bool] = True

    def _finder(self, form: tuple[Any, ...], target: Target | None, stays: Any) -> Finder:
        if target is None or target.codes is None:
            raise InputError(
                "MDLP needs classes, and y holds real numbers (an unknown label type for it): use "
                "EqualFrequency(), which needs no classes, or turn y into classes"
            )
        whole = (*form, target.codes, target.counts, *entropy_table(target.n_rows), stays)
        return lambda lo, hi, numbers: mdlp_columns(*whole, lo, hi, numbers)
