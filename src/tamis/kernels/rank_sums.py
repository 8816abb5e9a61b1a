"""The exact test of the ranks of few rows: the law of the sum of one class over all permutations.

Every choice of the rows of a class is equally likely, so the number of choices with each sum is
counted, one row after the other. The p-value is the share of the choices whose sum is at least as
far from its mean as the one seen.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels._jit import jit
from tamis.kernels.sorting import sort


@jit
def rank_sum_tests(ranks, groups, which, size, p):
    """Write the p-value of each row of `ranks`, whole numbers from 0 on, one for each row of data.

    The sum is that of the `size` rows whose group is `which`.
    """
    n_columns, n = ranks.shape
    for i in range(n_columns):
        of_column = sort(ranks[i])
        largest, total, seen = 0, 0, 0
        for j in range(n):
            total += of_column[j]
            if j >= n - size:
                largest += of_column[j]
            if groups[j] == which:
                seen += ranks[i, j]
        choices = np.zeros((size + 1, largest + 1))
        choices[0, 0] = 1.0
        so_far = 0
        for j in range(n):
            rank = of_column[j]
            so_far += rank
            for k in range(min(j + 1, size), 0, -1):
                for s in range(rank, min(so_far, largest) + 1):
                    choices[k, s] += choices[k - 1, s - rank]
        # Distances from the mean, total * size / n, as whole numbers.
        far, found, every = abs(seen * n - total * size), 0.0, 0.0
        for s in range(largest + 1):
            every += choices[size, s]
            if abs(s * n - total * size) >= far:
                found += choices[size, s]
        p[i] = found / every
