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
    from tamis.selectors.batch.all_features import AllFeatures
    from tamis.selectors.batch.cfs import CFS
    from tamis.selectors.batch.consistency import Consistency
    from tamis.selectors.batch.fcbf import FCBF
    from tamis.selectors.batch.fgm import FGM
    from tamis.selectors.batch.gdm import GDM
    from tamis.selectors.batch.hiton_pc import HITONPC
    from tamis.selectors.batch.l1_svm import L1SVM
    from tamis.selectors.batch.lars import LARS
    from tamis.selectors.batch.mrmr import MRMR
    from tamis.selectors.batch.naive_boosting import NaiveBoosting
    from tamis.selectors.batch.random_features import RandomFeatures
    from tamis.selectors.batch.relieff import ReliefF
    from tamis.selectors.batch.spsf_lar import SPSFLAR
    from tamis.selectors.features.alpha_investing import AlphaInvesting
    from tamis.selectors.features.fast_osfs import FastOSFS
    from tamis.selectors.features.grafting import Grafting
    from tamis.selectors.features.group_saola import GroupSAOLA
    from tamis.selectors.features.ofs_a3m import OFSA3M
    from tamis.selectors.features.ofs_density import OFSDensity
    from tamis.selectors.features.osfs import OSFS
    from tamis.selectors.features.saola import SAOLA
    from tamis.selectors.features.sfs_fi import SFSFI
    from tamis.selectors.instances.arow import AROW
    from tamis.selectors.instances.fofs import FOFS
    from tamis.selectors.instances.merged_sofs import MergedSOFS
    from tamis.selectors.instances.ogd import OGD
    from tamis.selectors.instances.pet import PET
    from tamis.selectors.instances.sofs import SOFS
    from tamis.sources import open_source as open

_WHERE = {
    "FCBF": "tamis.selectors.batch.fcbf",
    "MRMR": "tamis.selectors.batch.mrmr",
    "ReliefF": "tamis.selectors.batch.relieff",
    "AllFeatures": "tamis.selectors.batch.all_features",
    "RandomFeatures": "tamis.selectors.batch.random_features",
    "CFS": "tamis.selectors.batch.cfs",
    "L1SVM": "tamis.selectors.batch.l1_svm",
    "LARS": "tamis.selectors.batch.lars",
    "SPSFLAR": "tamis.selectors.batch.spsf_lar",
    "HITONPC": "tamis.selectors.batch.hiton_pc",
    "Consistency": "tamis.selectors.batch.consistency",
    "NaiveBoosting": "tamis.selectors.batch.naive_boosting",
    "FGM": "tamis.selectors.batch.fgm",
    "GDM": "tamis.selectors.batch.gdm",
    "AlphaInvesting": "tamis.selectors.features.alpha_investing",
    "Grafting": "tamis.selectors.features.grafting",
    "GroupSAOLA": "tamis.selectors.features.group_saola",
    "FastOSFS": "tamis.selectors.features.fast_osfs",
    "OFSA3M": "tamis.selectors.features.ofs_a3m",
    "OFSDensity": "tamis.selectors.features.ofs_density",
    "OSFS": "tamis.selectors.features.osfs",
    "SAOLA": "tamis.selectors.features.saola",
    "SFSFI": "tamis.selectors.features.sfs_fi",
    "AROW": "tamis.selectors.instances.arow",
    "FOFS": "tamis.selectors.instances.fofs",
    "OGD": "tamis.selectors.instances.ogd",
    "PET": "tamis.selectors.instances.pet",
    "SOFS": "tamis.selectors.instances.sofs",
    "MergedSOFS": "tamis.selectors.instances.merged_sofs",
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
