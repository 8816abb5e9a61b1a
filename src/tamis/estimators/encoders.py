"""Encoders as scikit-learn transformers; the encoders document them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from tamis.core.blocks import ColumnBlock, Compressed, refuse_broken
from tamis.core.errors import InputError, ParameterError
from tamis.core.target import Target
from tamis.encode.binning import EqualFrequencyEncoder, EqualWidthEncoder, KMeansBinsEncoder
from tamis.encode.encoder import Encoder, Floats
from tamis.encode.mdlp import MDLPEncoder
from tamis.encode.missing import Missing
from tamis.encode.plain import PlainEncoder
from tamis.sources.arrays.in_memory import (
    MemorySource,
    as_table,
    frame_words,
    is_frame,
)


class Transformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the transformers; a subclass names its `encoder`, which gives it its parameters."""

    #: The encoder that finds and applies the cuts.
    encoder: ClassVar[type[Encoder]]

    cuts_: list[Floats | None]

    if TYPE_CHECKING:

        def __init__(self, *args: Any, **params: Any) -> None: ...

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "encoder" in vars(cls):
            cls.__init__ = cls.encoder.__init__  # type: ignore[method-assign]
            cls.__doc__ = cls.encoder.__doc__

    def to_encoder(self) -> Encoder:
        """Return a new encoder with these parameters, for `tamis.select(..., encode=)`."""
        if "encoder" not in vars(type(self)):
            raise ParameterError(
                f"{type(self).__name__} derives from a transformer of scikit-learn, whose methods "
                f"tamis.select does not call; derive from {self.encoder.__name__}"
            )
        return self._encoder()

    def _encoder(self) -> Encoder:
        return self.encoder(**self.get_params(deep=False))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the cuts of every column.

        Parameters
        ----------
        X : array, scipy sparse matrix, data frame or Arrow table of shape (n_rows, n_columns)
            The numbers; a data frame may also hold text, categories and Booleans.
        y : array-like of shape (n_rows,)
            The classes, for encoders that need them.
        """
        options: dict[str, Any] = {"accept_sparse": "csc", "dtype": np.float64}
        refuse_broken(X)  # before scikit-learn converts it
        if self.encoder.supervised and y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        self._words: dict[str, Any] = {}
        if is_frame(X):
            X = as_table(X)
            validate_data(self, X, skip_check_array=True)
            self._words = frame_words(X)
            y = column_or_1d(y, warn=True) if self.encoder.supervised else None
        elif self.encoder.supervised:
            X, y = validate_data(self, X, y, ensure_all_finite=False, **options)
        else:
            X = validate_data(self, X, ensure_all_finite=False, **options)
        target = Target.of(y, needs_classes=True) if self.encoder.supervised else None
        self._cuts = self._encoder().find(self._block(X), target, self._name_of)
        self.cuts_ = [self._cuts.of(j) for j in range(X.shape[1])]
        return self

    def transform(self, X: Any) -> Any:
        """Codes of the values: an array, or a sparse matrix for sparse input."""
        check_is_fitted(self)
        refuse_broken(X)
        if is_frame(X):
            X = as_table(X)
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = validate_data(
                self, X, reset=False, accept_sparse="csc", dtype=np.float64, ensure_all_finite=False
            )
        block, encoder = self._block(X), self._encoder()
        encoder.refuse_bad_values(block, self._name_of)
        v = encoder.apply(block, self._cuts).values
        if isinstance(v, Compressed):
            return sp.csc_matrix((v.data, v.indices, v.indptr), shape=X.shape)
        return v

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = Missing.of(self.missing).policy != "error"
        tags.target_tags.required = self.encoder.supervised
        return tags

    def _block(self, X: Any) -> ColumnBlock:
        """Return a table as one block; words have the codes of the fitted table."""
        if not is_frame(X):
            return ColumnBlock.of(X)
        source = MemorySource(X)
        source.known_words = self._words
        return source.whole()

    def _name_of(self, block: ColumnBlock, column: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return block.name_of(column) if names is None else repr(str(names[column]))


class MDLP(Transformer):
    encoder = MDLPEncoder


class EqualWidth(Transformer):
    encoder = EqualWidthEncoder


class EqualFrequency(Transformer):
    encoder = EqualFrequencyEncoder


class KMeansBins(Transformer):
    encoder = KMeansBinsEncoder


class Plain(Transformer):
    encoder = PlainEncoder
