"""The learners as classes of river, for its estimator checks: each is also a `river.base`."""

from __future__ import annotations

from river import base

import tamis


class RowSieve(tamis.RowSieve, base.Classifier):
    __doc__ = tamis.RowSieve.__doc__


class MergedRowSieve(tamis.MergedRowSieve, base.Classifier):
    __doc__ = tamis.MergedRowSieve.__doc__


class SOFS(tamis.SOFS, base.Classifier):
    __doc__ = tamis.SOFS.__doc__


class MergedSOFS(tamis.MergedSOFS, base.Classifier):
    __doc__ = tamis.MergedSOFS.__doc__


class PET(tamis.PET, base.Classifier):
    __doc__ = tamis.PET.__doc__


class FOFS(tamis.FOFS, base.Classifier):
    __doc__ = tamis.FOFS.__doc__


class OGD(tamis.OGD, base.Classifier):
    __doc__ = tamis.OGD.__doc__


class AROW(tamis.AROW, base.Classifier):
    __doc__ = tamis.AROW.__doc__


class RowSieveRegressor(tamis.RowSieveRegressor, base.Regressor):
    __doc__ = tamis.RowSieveRegressor.__doc__


class MergedRowSieveRegressor(tamis.MergedRowSieveRegressor, base.Regressor):
    __doc__ = tamis.MergedRowSieveRegressor.__doc__


class SOFSRegressor(tamis.SOFSRegressor, base.Regressor):
    __doc__ = tamis.SOFSRegressor.__doc__


class PETRegressor(tamis.PETRegressor, base.Regressor):
    __doc__ = tamis.PETRegressor.__doc__


class OGDRegressor(tamis.OGDRegressor, base.Regressor):
    __doc__ = tamis.OGDRegressor.__doc__


class AROWRegressor(tamis.AROWRegressor, base.Regressor):
    __doc__ = tamis.AROWRegressor.__doc__
