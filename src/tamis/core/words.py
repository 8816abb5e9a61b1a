"""The words for methods, measures and formats, as plain names.

Help, refusals and the completion of a shell need the words only, and should not wait for the
numeric libraries behind them. A test compares every table here with what it is a table of.
"""

from __future__ import annotations

#: Methods that decide as columns arrive, and methods that decide when they have seen all.
STREAM_METHODS = (
    "alpha-investing", "fast-osfs", "grafting", "group-saola", "ofs-a3m", "ofs-density", "osfs",
    "saola", "sfs-fi",
)  # fmt: skip
BATCH_METHODS = (
    "all", "boosting", "cfs", "consistency", "fcbf", "fgm", "gdm", "hiton-pc", "l1-svm", "lars",
    "mrmr", "random", "relieff", "spsf-lar",
)  # fmt: skip
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
