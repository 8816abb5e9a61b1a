"""The intermediate reports of a comparison agree with its final result."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_wine

from tamis import evaluate
from tamis.report.comparison_page import interim_page


def test_the_last_intermediate_report_is_the_result():
    seen = []
    data = {"wine": load_wine(return_X_y=True)}
    results = evaluate.compare(
        data, ["saola", "all"], ["knn"], cv="1x3", n_jobs=1, watch=lambda tell: seen.append(tell())
    )
    assert [sum(line.finished for line in lines) for lines in seen] == [1, 2, 3, 4, 5, 6]
    last = {line.method: line for line in seen[-1]}
    for i, method in enumerate(results.methods):
        assert last[method].folds == 3
        assert np.isclose(last[method].accuracy, results.grid("accuracy", "knn")[0, i])
        assert np.isclose(last[method].kept, results.grid("kept")[0, i])
    page = interim_page(seen[2], "tamis compare ...")
    assert page.summary == "3 of 6 folds are finished."
