"""Methods for all columns at once, as scikit-learn estimators; the rules document them."""

from __future__ import annotations

from tamis.estimators.estimator import BatchEstimator
from tamis.methods.batch.all_features import AllFeaturesRule
from tamis.methods.batch.cfs import CFSRule
from tamis.methods.batch.consistency import ConsistencyRule
from tamis.methods.batch.fcbf import FCBFRule
from tamis.methods.batch.fgm import FGMRule
from tamis.methods.batch.gdm import GDMRule
from tamis.methods.batch.hiton_pc import HITONPCRule
from tamis.methods.batch.l1_svm import L1SVMRule
from tamis.methods.batch.lars import LARSRule
from tamis.methods.batch.mrmr import MRMRRule
from tamis.methods.batch.naive_boosting import NaiveBoostingRule
from tamis.methods.batch.random_features import RandomFeaturesRule
from tamis.methods.batch.relieff import ReliefFRule
from tamis.methods.batch.spsf_lar import SPSFLARRule


class AllFeatures(BatchEstimator):
    _rule = AllFeaturesRule


class CFS(BatchEstimator):
    _rule = CFSRule


class Consistency(BatchEstimator):
    _rule = ConsistencyRule


class FCBF(BatchEstimator):
    _rule = FCBFRule


class FGM(BatchEstimator):
    _rule = FGMRule


class GDM(BatchEstimator):
    _rule = GDMRule


class HITONPC(BatchEstimator):
    _rule = HITONPCRule


class L1SVM(BatchEstimator):
    _rule = L1SVMRule


class LARS(BatchEstimator):
    _rule = LARSRule


class MRMR(BatchEstimator):
    _rule = MRMRRule


class NaiveBoosting(BatchEstimator):
    _rule = NaiveBoostingRule


class RandomFeatures(BatchEstimator):
    _rule = RandomFeaturesRule


class ReliefF(BatchEstimator):
    _rule = ReliefFRule


class SPSFLAR(BatchEstimator):
    _rule = SPSFLARRule
