"""One run: select features from a source, and keep a record that explains and reproduces it."""

from __future__ import annotations

import contextlib
import platform
import sys
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from sklearn.base import clone

from tamis._version import __version__
from tamis.core.decisions import DecisionLog
from tamis.core.errors import InputError, ParameterError
from tamis.engine.prefetch import ahead
from tamis.kernels.threads import thread_count, threads
from tamis.selectors import BY_METHOD, FeatureStreamSelector
from tamis.sources import open_source
from tamis.sources.base import Report, Source, silent


@dataclass
class Run:
    """What was asked, on what data, what came out, and what it cost. Reports read only this.

    Attributes
    ----------
    log : DecisionLog
        What happened to every feature, and why.
    method, parameters, measure, measure_reason : str, dict, str, str
        The selector, as it was set up, and the measure it used, with the reason for it.
    source : dict
        Format, shape, target and fingerprint of the data.
    work, seconds, peak_megabytes : dict, dict, float
        Counted work, times by stage, and the most memory the process held.
    versions : dict
        tamis, Python and the libraries that computed.
    selector : FeatureStreamSelector or None
        The fitted selector; None for a run read from a folder.
    """

    log: DecisionLog
    method: str
    parameters: dict[str, str]
    measure: str
    measure_reason: str
    source: dict[str, Any]
    work: dict[str, int]
    seconds: dict[str, float]
    peak_megabytes: float
    versions: dict[str, str]
    command: str = ""
    seed: int | None = None
    selector: FeatureStreamSelector | None = field(default=None, repr=False, compare=False)

    def kept(self) -> list[dict[str, Any]]:
        """The kept features: number, name, relevance and arrival of each, in order of arrival."""
        log = self.log
        return [
            {"feature": f, "name": log.names[f], "relevance": log.relevance_of(f), "arrival": f}
            for f in log.replay()
        ]

    def why(self, feature: int | str) -> str:
        """Say in one sentence what became of a feature."""
        return self.log.why(feature)


def make_selector(method: str, **parameters: Any) -> FeatureStreamSelector:
    """A selector by its word on the command line."""
    if method not in BY_METHOD:
        raise ParameterError(
            f"method {method!r} is not known; give one of {', '.join(sorted(BY_METHOD))}"
        )
    return BY_METHOD[method](**parameters)


def select(
    data: Any,
    selector: FeatureStreamSelector | str = "saola",
    y: Any = None,
    *,
    width: int | None = None,
    n_threads: int | None = None,
    report: Report = silent,
    command: str = "",
) -> Run:
    """Select features from a source of columns.

    Parameters
    ----------
    data : path, Source, array, scipy sparse matrix, data frame or Arrow table
        The features; ``tamis.open`` says what is understood.
    selector : selector or str, default="saola"
        A selector (a copy of it is fitted) or its word on the command line.
    y : array-like, optional
        The target, where the data does not bring its own.
    width : int, optional
        Columns in a block. A prefetch: it cannot change the answer.
    n_threads : int, optional
        Threads that compute; default: all cores. They cannot change the answer either.
    report : callable, optional
        Called as ``report(what, done, total)`` while the run goes on.
    command : str, optional
        How the run was asked for, for the record.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.normal(size=(300, 50))
    >>> X[:, 7] += y
    >>> run = select(X, "saola", y)
    >>> [row["name"] for row in run.kept()]
    ['x7']
    """
    begun = time.perf_counter()
    source = open_source(data)
    target = _target(source, y)
    chosen = make_selector(selector) if isinstance(selector, str) else clone(selector)
    with threads(n_threads) if n_threads is not None else contextlib.nullcontext():
        examined = map if thread_count() == 1 else ahead
        chosen.run(source, target, examined, width, report)
    selected = time.perf_counter()
    info = source.info()
    finished = time.perf_counter()
    return Run(
        log=chosen.log_,
        method=chosen.method,
        parameters={k: repr(v) for k, v in chosen.get_params(deep=False).items()},
        measure=repr(chosen.measure_),
        measure_reason=chosen.measure_reason_,
        source=asdict(info),
        work=chosen.work_,
        seconds={"select": selected - begun, "fingerprint": finished - selected},
        peak_megabytes=_peak_megabytes(),
        versions=_versions(),
        command=command,
        selector=chosen,
    )


def _target(source: Source, y: Any) -> Any:
    if y is not None:
        return y
    target = source.target()
    if target is None:
        raise InputError("the data has no target; give one with y=")
    return target


def _peak_megabytes() -> float:
    try:
        import resource
    except ImportError:  # Windows has no such module; the record then says 0
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), "tamis": __version__} | {
        package: version(package) for package in ("numpy", "scipy", "numba", "scikit-learn")
    }
