"""tamis: pick the features worth keeping from data that keeps growing.

source -> column blocks -> measure -> selector -> decision log -> report

Names are imported when first used, so ``import tamis`` costs nothing that is not needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tamis._version import __version__

if TYPE_CHECKING:
    from tamis.core.decisions import Decision, DecisionLog, Verdict
    from tamis.core.errors import TamisError
    from tamis.engine.files.record import open_run, save_run
    from tamis.engine.learning.learn import learn
    from tamis.engine.learning.model import open_model, save_model
    from tamis.engine.learning.tune import tune
    from tamis.engine.living.selection import Selection
    from tamis.engine.run import Run
    from tamis.engine.select import select
    from tamis.kernels.threads import threads
    from tamis.measures import FisherZ, GSquared, MutualInformation, SymmetricUncertainty
    from tamis.methods.batch.all_features import AllFeatures
    from tamis.methods.batch.cfs import CFS
    from tamis.methods.batch.consistency import Consistency
    from tamis.methods.batch.fcbf import FCBF
    from tamis.methods.batch.fgm import FGM
    from tamis.methods.batch.gdm import GDM
    from tamis.methods.batch.hiton_pc import HITONPC
    from tamis.methods.batch.l1_svm import L1SVM
    from tamis.methods.batch.lars import LARS
    from tamis.methods.batch.mrmr import MRMR
    from tamis.methods.batch.naive_boosting import NaiveBoosting
    from tamis.methods.batch.random_features import RandomFeatures
    from tamis.methods.batch.relieff import ReliefF
    from tamis.methods.batch.spsf_lar import SPSFLAR
    from tamis.methods.online.arow import AROW
    from tamis.methods.online.fofs import FOFS
    from tamis.methods.online.merged_sofs import MergedSOFS
    from tamis.methods.online.ogd import OGD
    from tamis.methods.online.pet import PET
    from tamis.methods.online.sofs import SOFS
    from tamis.methods.streaming.alpha_investing import AlphaInvesting
    from tamis.methods.streaming.fast_osfs import FastOSFS
    from tamis.methods.streaming.grafting import Grafting
    from tamis.methods.streaming.group_saola import GroupSAOLA
    from tamis.methods.streaming.ofs_a3m import OFSA3M
    from tamis.methods.streaming.ofs_density import OFSDensity
    from tamis.methods.streaming.osfs import OSFS
    from tamis.methods.streaming.saola import SAOLA
    from tamis.methods.streaming.sfs_fi import SFSFI
    from tamis.sources import open_source as open

_WHERE = {
    "FCBF": "tamis.methods.batch.fcbf",
    "MRMR": "tamis.methods.batch.mrmr",
    "ReliefF": "tamis.methods.batch.relieff",
    "AllFeatures": "tamis.methods.batch.all_features",
    "RandomFeatures": "tamis.methods.batch.random_features",
    "CFS": "tamis.methods.batch.cfs",
    "L1SVM": "tamis.methods.batch.l1_svm",
    "LARS": "tamis.methods.batch.lars",
    "SPSFLAR": "tamis.methods.batch.spsf_lar",
    "HITONPC": "tamis.methods.batch.hiton_pc",
    "Consistency": "tamis.methods.batch.consistency",
    "NaiveBoosting": "tamis.methods.batch.naive_boosting",
    "FGM": "tamis.methods.batch.fgm",
    "GDM": "tamis.methods.batch.gdm",
    "AlphaInvesting": "tamis.methods.streaming.alpha_investing",
    "Grafting": "tamis.methods.streaming.grafting",
    "GroupSAOLA": "tamis.methods.streaming.group_saola",
    "FastOSFS": "tamis.methods.streaming.fast_osfs",
    "OFSA3M": "tamis.methods.streaming.ofs_a3m",
    "OFSDensity": "tamis.methods.streaming.ofs_density",
    "OSFS": "tamis.methods.streaming.osfs",
    "SAOLA": "tamis.methods.streaming.saola",
    "SFSFI": "tamis.methods.streaming.sfs_fi",
    "AROW": "tamis.methods.online.arow",
    "FOFS": "tamis.methods.online.fofs",
    "OGD": "tamis.methods.online.ogd",
    "PET": "tamis.methods.online.pet",
    "SOFS": "tamis.methods.online.sofs",
    "MergedSOFS": "tamis.methods.online.merged_sofs",
    "MutualInformation": "tamis.measures",
    "SymmetricUncertainty": "tamis.measures",
    "FisherZ": "tamis.measures",
    "GSquared": "tamis.measures",
    "Decision": "tamis.core.decisions",
    "DecisionLog": "tamis.core.decisions",
    "Verdict": "tamis.core.decisions",
    "TamisError": "tamis.core.errors",
    "Run": "tamis.engine.run",
    "Selection": "tamis.engine.living.selection",
    "select": "tamis.engine.select",
    "tune": "tamis.engine.learning.tune",
    "learn": "tamis.engine.learning.learn",
    "open_model": "tamis.engine.learning.model",
    "save_model": "tamis.engine.learning.model",
    "open_run": "tamis.engine.files.record",
    "save_run": "tamis.engine.files.record",
    "threads": "tamis.kernels.threads",
    "open": "tamis.sources:open_source",
}

__all__ = [
    "AROW",
    "CFS",
    "FCBF",
    "FGM",
    "FOFS",
    "GDM",
    "HITONPC",
    "L1SVM",
    "LARS",
    "MRMR",
    "OFSA3M",
    "OGD",
    "OSFS",
    "PET",
    "SAOLA",
    "SFSFI",
    "SOFS",
    "SPSFLAR",
    "AllFeatures",
    "AlphaInvesting",
    "Consistency",
    "Decision",
    "DecisionLog",
    "FastOSFS",
    "FisherZ",
    "GSquared",
    "Grafting",
    "GroupSAOLA",
    "MergedSOFS",
    "MutualInformation",
    "NaiveBoosting",
    "OFSDensity",
    "RandomFeatures",
    "ReliefF",
    "Run",
    "Selection",
    "SymmetricUncertainty",
    "TamisError",
    "Verdict",
    "__version__",
    "learn",
    "open",
    "open_model",
    "open_run",
    "save_model",
    "save_run",
    "select",
    "threads",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in ("encode", "evaluate"):  # modules, for tamis.encode.MDLP, tamis.evaluate.compare
        return importlib.import_module(f"tamis.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    module, _, attribute = _WHERE[name].partition(":")
    value = getattr(importlib.import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
