"""Every method, learner, measure, encoder, format and public name of tamis, in one table.

Nothing is imported to read it. `tamis.__all__` and its lazy imports, the choices and the completion
of the command line, and the tables in docs/methods.md derive from it. Adding a method takes
its file, one entry here and the changelog; tests compare the entries with what they point at.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

#: Imports what is at ``package.module:name``.
load = pkgutil.resolve_name


class Lazy(Mapping[str, T], Generic[T]):
    """A mapping from names to objects that are imported when they are looked up."""

    def __init__(self, where: Mapping[str, str]) -> None:
        self._where = dict(where)

    def __getitem__(self, name: str) -> T:
        found: T = load(self._where[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, name: object) -> bool:
        return name in self._where


@dataclass(frozen=True)
class Method:
    """A method: its name on the command line, its module and class, and when to use it."""

    name: str
    role: str
    module: str
    class_name: str
    help: str
    reference: str = ""
    plain: str = ""
    #: The public class of the same method that predicts numbers, of an online learner.
    regressor: str = ""

    @property
    def where(self) -> str:
        """The class that does the work, without scikit-learn: a rule or a learner."""
        plain = self.plain or f"{self.class_name}Rule"
        return f"tamis.methods.{self.role}.{self.module}:{plain}"

    @property
    def estimator(self) -> str:
        """The public class, ``tamis.NAME``."""
        return f"tamis.estimators.{self.role}:{self.class_name}"


@dataclass(frozen=True)
class Format:
    """A data format: its reader, its file extensions, and whether it can be read from a URL."""

    name: str
    where: str
    extensions: tuple[str, ...] = ()
    at_address: bool = False


def _by_name(entries: Iterable[T]) -> dict[str, T]:
    return {entry.name: entry for entry in entries}  # type: ignore[attr-defined]


#: Methods for columns: those for streams first, then those that need all columns.
METHODS = _by_name((
    Method(
        "sieve", "streaming", "sieve", "Sieve",
        "you want a good set of a given size, or do not know where to start; sees curved "
        "relations, drops copies, ranks what it keeps, and depends little on the order of columns",
        "[the rule](sieve.md)",
    ),
    Method(
        "saola", "streaming", "saola", "SAOLA",
        "there are very many features, or they arrive over time; compares pairs only, so it stays "
        "fast",
        "Yu, Wu, Ding, Pei, ICDM 2014",
    ),
    Method(
        "osfs", "streaming", "osfs", "OSFS",
        "you want few features, and for each dropped one the set that makes it redundant (an "
        "approximate Markov blanket of the class); slower with every feature kept",
        "Wu, Yu, Ding, Wang, Zhu, TPAMI 2013",
    ),
    Method(
        "fast-osfs", "streaming", "fast_osfs", "FastOSFS",
        "the same for many features: a new feature is tested before it enters, so there are far "
        "fewer tests. Tests still grow with the cube of the number kept: with many classes or "
        "many relevant features use `max_conditioning=1`, or bound them with `max_tests`",
        "Wu, Yu, Ding, Wang, Zhu, TPAMI 2013",
    ),
    Method(
        "group-saola", "streaming", "group_saola", "GroupSAOLA",
        "features come in groups (a sensor, a pathway, a day; `--groups FILE`, `groups=` in "
        "Python, or one table per group in a folder), and a feature should be dropped if another "
        "group already covers it",
        "Yu, Wu, Ding, Pei, TKDD 2016",
    ),
    Method(
        "sfs-fi", "streaming", "sfs_fi", "SFSFI",
        "features may be irrelevant alone but relevant together, as in XOR; start with "
        "`correction=\"significant\"` when there is much noise",
        "Zhou, Li, Zhao, Wu, TNNLS 2021",
    ),
    Method(
        "alpha-investing", "streaming", "alpha_investing", "AlphaInvesting",
        "each kept feature should improve a linear model of the earlier ones, and the number of "
        "features is unknown: each discovery earns, and each test spends, part of the "
        "significance level",
        "Zhou, Foster, Stine, Ungar, JMLR 2006",
    ),
    Method(
        "grafting", "streaming", "grafting", "Grafting",
        "features should enter and leave an L1-penalised logistic model, which you get as well",
        "Perkins, Theiler, ICML 2003",
    ),
    Method(
        "ofs-a3m", "streaming", "ofs_a3m", "OFSA3M",
        "there are few rows (up to 20,000), class borders are curved, and you do not want to tune"
        " anything; keeps features that make neighbouring rows agree",
        "Zhou, Hu, Li, Wu, Information Sciences 2019",
    ),
    Method(
        "ofs-density", "streaming", "ofs_density", "OFSDensity",
        "the same, and the kept set should be small",
        "Zhou, Hu, Li, Wu, Pattern Recognition 2019",
    ),
    Method(
        "fcbf", "batch", "fcbf", "FCBF",
        "columns are discrete and you want a short ranked list; compares pairs only, the most "
        "relevant first",
        "Yu, Liu, ICML 2003",
    ),
    Method(
        "mrmr", "batch", "mrmr", "MRMR",
        "you know how many features you want: each pick is relevant to the class and not "
        "redundant with the earlier picks",
        "Peng, Long, Ding, TPAMI 2005",
    ),
    Method(
        "relieff", "batch", "relieff", "ReliefF",
        "features may matter only together and there are few rows (up to 20,000): scores how well"
        " a feature separates a row from near rows of other classes; keeps duplicates",
        "Kononenko, ECML 1994",
    ),
    Method(
        "cfs", "batch", "cfs", "CFS",
        "columns are discrete and the data should decide the size of the set: features that "
        "correlate with the class and not with each other",
        "Hall, ICML 2000",
    ),
    Method(
        "l1-svm", "batch", "l1_svm", "L1SVM",
        "you will use a linear classifier and let it choose: features with a nonzero weight in a "
        "linear SVM with an L1 penalty, at a given `C` or for a given number",
        "Zhu, Rosset, Hastie, Tibshirani, NIPS 2003",
    ),
    Method(
        "lars", "batch", "lars", "LARS",
        "you predict a number or two classes with a linear model; features in the order of least "
        "angle regression; sparse columns stay sparse",
        "Efron, Hastie, Johnstone, Tibshirani, Annals of Statistics 2004",
    ),
    Method(
        "spsf-lar", "batch", "spsf_lar", "SPSFLAR",
        "the same for many classes at once: features that reconstruct the similarity of rows of "
        "the same class",
        "Zhao, Wang, Liu, Ye, TKDE 2013",
    ),
    Method(
        "hiton-pc", "batch", "hiton_pc", "HITONPC",
        "you want the direct causes and effects of the class, or its whole Markov blanket "
        "(`blanket=\"full\"`): like `OSFS`, but the strongest features are tested first",
        "Aliferis et al., JMLR 2010",
    ),
    Method(
        "consistency", "batch", "consistency", "Consistency",
        "columns are discrete and you want the fewest features that separate the classes as well "
        "as all of them do",
        "Dash, Liu, Artificial Intelligence 2003",
    ),
    Method(
        "boosting", "batch", "naive_boosting", "NaiveBoosting",
        "a few thresholds on single columns are enough: features in the order in which boosted "
        "stumps use them",
        "Ding et al., TIST 2011",
    ),
    Method(
        "fgm", "batch", "fgm", "FGM",
        "there are very many columns, and a linear SVM should add a few at a time",
        "Tan, Tsang, Wang, JMLR 2014",
    ),
    Method(
        "gdm", "batch", "gdm", "GDM",
        "the same, and features correlated with a chosen one should be kept with it, as its group",
        "Zhai, Tan, Tsang, Ong, ICML 2012",
    ),
    Method(
        "all", "batch", "all_features", "AllFeatures",
        "a control: every column that is not constant",
        "",
    ),
    Method(
        "random", "batch", "random_features", "RandomFeatures",
        "a control: what any method must beat",
        "",
    ),
))  # fmt: skip

#: Online learners, for rows.
LEARNERS = _by_name((
    Method(
        "row-sieve", "online", "row_sieve", "RowSieve",
        "rows are sparse or dense, and few features should predict well; keeps the features whose "
        "weights stand out from their uncertainty, rare ones too",
        "[the rule](row-sieve.md)",
        plain="RowSieveLearner",
        regressor="RowSieveRegressor",
    ),
    Method(
        "sofs", "online", "sofs", "SOFS",
        "rows are sparse and there are up to a billion columns; keeps the features with the "
        "highest confidence, in effect the frequent ones",
        "Wu, Hoi, Mei, Yu, TKDD 2017",
        plain="SofsLearner",
        regressor="SOFSRegressor",
    ),
    Method(
        "merged-row-sieve", "online", "merged_row_sieve", "MergedRowSieve",
        "rows are on several machines, or one pass is too slow: one RowSieve per shard of the "
        "rows, merged by precision (`tamis learn --cluster`)",
        "[scaling](scaling.md#rows-that-stream)",
        plain="MergedRowSieveLearner",
        regressor="MergedRowSieveRegressor",
    ),
    Method(
        "merged-sofs", "online", "merged_sofs", "MergedSOFS",
        "rows are on several machines, or one pass is too slow: one SOFS per shard of the rows, "
        "merged by precision (`tamis learn --cluster`)",
        "[scaling](scaling.md#rows-that-stream)",
        plain="MergedSofsLearner",
    ),
    Method(
        "pet", "online", "pet", "PET",
        "very few features may be kept, and large weights should decide",
        "Wu, Hoi, Mei, Yu, TKDD 2017",
        plain="PetLearner",
        regressor="PETRegressor",
    ),
    Method(
        "fofs", "online", "fofs", "FOFS",
        "like `PET`, but old weights should decay",
        "Wu, Hoi, Mei, Yu, TKDD 2017",
        plain="FofsLearner",
    ),
    Method(
        "ogd", "online", "ogd", "OGD",
        "a baseline: every feature may be kept",
        "Zinkevich, ICML 2003",
        plain="OgdLearner",
        regressor="OGDRegressor",
    ),
    Method(
        "arow", "online", "arow", "AROW",
        "a baseline: every feature may be kept, each with its own learning rate",
        "Crammer, Kulesza, Dredze, NIPS 2009",
        plain="ArowLearner",
        regressor="AROWRegressor",
    ),
))  # fmt: skip

STREAM_METHODS = tuple(name for name, entry in METHODS.items() if entry.role == "streaming")
BATCH_METHODS = tuple(name for name, entry in METHODS.items() if entry.role == "batch")

#: Measures and encoders by the name that a parameter or an option takes.
MEASURES = {
    "mutual_information": "tamis.measures.mutual_information:MutualInformation",
    "symmetric_uncertainty": "tamis.measures.mutual_information:SymmetricUncertainty",
    "g_squared": "tamis.measures.g_squared:GSquared",
    "fisher_z": "tamis.measures.fisher_z:FisherZ",
    "any_shape": "tamis.measures.any_shape:AnyShape",
}
ENCODERS = {
    "mdlp": "tamis.encode.mdlp:MDLPEncoder",
    "equal-width": "tamis.encode.binning:EqualWidthEncoder",
    "equal-frequency": "tamis.encode.binning:EqualFrequencyEncoder",
    "kmeans": "tamis.encode.binning:KMeansBinsEncoder",
}

FORMATS = _by_name((
    Format(
        "svmlight", "tamis.sources.text.svmlight_rows:SvmlightSource",
        (".svm", ".svmlight", ".libsvm"),
    ),
    Format("csv", "tamis.sources.text.csv_table:open_csv", (".csv", ".tsv", ".txt", ".tab")),
    Format(
        "parquet", "tamis.sources.tables.table:open_parquet", (".parquet", ".pq"),
        at_address=True,
    ),
    Format(
        "arrow", "tamis.sources.tables.table:open_arrow",
        (".arrow", ".feather", ".ipc", ".arrows"),
    ),
    Format("daily", "tamis.sources.tables.daily:DailySource"),
    Format("npy", "tamis.sources.arrays.npy:open_npy", (".npy",)),
    Format("npz", "tamis.sources.arrays.npz:NpzSource", (".npz",)),
    Format("cols", "tamis.sources.stores.column_store:ColumnStore", (".cols",), at_address=True),
    Format("rows", "tamis.sources.stores.row_store:RowStore", (".rows",)),
    Format(
        "anndata", "tamis.sources.omics.anndata_matrix:open_anndata", (".h5ad", ".zarr"),
        at_address=True,
    ),
    Format("plink", "tamis.sources.omics.plink:PlinkSource", (".bed",)),
    Format(
        "sql", "tamis.sources.tables.sql:SqlSource",
        (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db"),
    ),
    Format("redis", "tamis.sources.streams.redis_rows:RedisSource"),
))  # fmt: skip

#: What a target may hold: classes or numbers, or whichever its values look like.
TASKS = ("auto", "classification", "regression")
#: What to do about rows without a target.
MISSING_TARGET = ("error", "drop")

#: How often a comparison splits the rows, and into how many folds.
CV = "5x10"
#: For comparisons: classifiers that judge selections, and the tests behind win, tie and loss.
CLASSIFIERS = ("knn1", "knn", "svm", "rbf", "lr", "tree", "nb")
PAIRED_TESTS = ("corrected-t", "t", "wilcoxon")

#: Public names and where they are defined; ``__init__.pyi`` repeats them for type checkers.
PUBLIC = {
    **{entry.class_name: entry.estimator for entry in (*METHODS.values(), *LEARNERS.values())},
    **{
        entry.regressor: f"tamis.estimators.online:{entry.regressor}"
        for entry in LEARNERS.values()
        if entry.regressor
    },
    **{where.partition(":")[2]: where for where in MEASURES.values()},
    "Decision": "tamis.core.decisions:Decision",
    "DecisionLog": "tamis.core.decisions:DecisionLog",
    "Profile": "tamis.engine.data_profile:Profile",
    "Run": "tamis.engine.runs:Run",
    "Selection": "tamis.engine.persistent.selection:Selection",
    "TamisError": "tamis.core.errors:TamisError",
    "Verdict": "tamis.core.decisions:Verdict",
    "interaction": "tamis.measures.joint_information:interaction",
    "interaction_gains": "tamis.measures.joint_information:interaction_gains",
    "judge": "tamis.evaluate.honest_score:judge",
    "learn": "tamis.engine.learning.learn:learn",
    "open": "tamis.sources:open_source",
    "open_model": "tamis.engine.learning.model:open_model",
    "open_run": "tamis.engine.runs:open_run",
    "profile": "tamis.engine.profiling:profile",
    "save_model": "tamis.engine.learning.model:save_model",
    "save_run": "tamis.engine.runs:save_run",
    "select": "tamis.engine.selecting:select",
    "stability": "tamis.evaluate.halves:stability",
    "threads": "tamis.kernels.threads:threads",
    "tune": "tamis.engine.learning.tune:tune",
}

#: Packages that are attributes of ``tamis`` without being imported first.
PACKAGES = ("checks", "encode", "estimators", "evaluate", "measures", "methods", "sources")
