"""The words for methods, measures and formats, as plain names.

Help, refusals and the completion of a shell need the words only, and should not wait for the
numeric libraries behind them. Words of methods are read from their files, which are found as
`tamis.methods` finds them; the others are tables. A test compares all with what is behind them.
"""

from __future__ import annotations

import re
from pathlib import Path

_SELECTORS = Path(__file__).parents[1] / "methods"
_WORD = re.compile(r'^    method: ClassVar\[str\] = "(.+)"$', re.MULTILINE)


def _methods(folder: str) -> tuple[str, ...]:
    files = (_SELECTORS / folder).glob("*.py")
    return tuple(sorted(w for f in files for w in _WORD.findall(f.read_text(encoding="utf-8"))))


#: Methods that decide as columns arrive, and methods that decide when they have seen all.
STREAM_METHODS = _methods("streaming")
BATCH_METHODS = _methods("batch")
METHODS = tuple(sorted((*STREAM_METHODS, *BATCH_METHODS)))

#: Learners of rows.
LEARNERS = ("sofs", "merged-sofs", "pet", "fofs", "ogd", "arow")

MEASURES = ("mutual_information", "symmetric_uncertainty", "g_squared", "fisher_z")
ENCODERS = ("mdlp", "equal-width", "equal-frequency", "kmeans")
FORMATS = (
    "anndata", "arrow", "cols", "csv", "daily", "npy", "npz", "parquet", "plink", "redis", "rows",
    "sql", "svmlight",
)  # fmt: skip

#: Who judges a comparison, and the tests behind win, tie and loss.
CLASSIFIERS = ("knn1", "knn", "svm", "rbf", "lr", "tree", "nb")
PAIRED_TESTS = ("corrected-t", "t", "wilcoxon")
