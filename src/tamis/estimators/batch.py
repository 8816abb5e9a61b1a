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
    rule = AllFeaturesRule


class CFS(BatchEstimator):
    rule = CFSRule


class Consistency(BatchEstimator):
    rule = ConsistencyRule


class FCBF(BatchEstimator):
    rule = FCBFRule


class FGM(BatchEstimator):
    rule = FGMRule


class GDM(BatchEstimator):
    rule = GDMRule


class HITONPC(BatchEstimator):
    rule = HITONPCRule


class L1SVM(BatchEstimator):
    rule = L1SVMRule


class LARS(BatchEstimator):
    rule = LARSRule


class MRMR(BatchEstimator):
    rule = MRMRRule


class NaiveBoosting(BatchEstimator):
    rule = NaiveBoostingRule


class RandomFeatures(BatchEstimator):
    rule = RandomFeaturesRule


class ReliefF(BatchEstimator):
    rule = ReliefFRule


class SPSFLAR(BatchEstimator):
    rule = SPSFLARRule
