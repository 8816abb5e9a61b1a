"""Methods for columns that arrive, as scikit-learn estimators; the rules document them."""

from __future__ import annotations

from tamis.estimators.estimator import GroupEstimator, StreamEstimator
from tamis.methods.streaming.alpha_investing import AlphaInvestingRule
from tamis.methods.streaming.fast_osfs import FastOSFSRule
from tamis.methods.streaming.grafting import GraftingRule
from tamis.methods.streaming.group_saola import GroupSAOLARule
from tamis.methods.streaming.ofs_a3m import OFSA3MRule
from tamis.methods.streaming.ofs_density import OFSDensityRule
from tamis.methods.streaming.osfs import OSFSRule
from tamis.methods.streaming.saola import SAOLARule
from tamis.methods.streaming.sfs_fi import SFSFIRule
from tamis.methods.streaming.sieve import SieveRule


class AlphaInvesting(StreamEstimator):
    _rule = AlphaInvestingRule


class FastOSFS(StreamEstimator):
    _rule = FastOSFSRule


class Grafting(StreamEstimator):
    _rule = GraftingRule


class GroupSAOLA(GroupEstimator):
    _rule = GroupSAOLARule


class OFSA3M(StreamEstimator):
    _rule = OFSA3MRule


class OFSDensity(StreamEstimator):
    _rule = OFSDensityRule


class OSFS(StreamEstimator):
    _rule = OSFSRule


class SAOLA(StreamEstimator):
    _rule = SAOLARule


class SFSFI(StreamEstimator):
    _rule = SFSFIRule


class Sieve(StreamEstimator):
    _rule = SieveRule
