"""A model that was saved: the kept features and their weights, which is all it takes to predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from tamis.core.blocks import Compressed
from tamis.core.errors import InputError
from tamis.kernels.rows import fill_table, score_listed
from tamis.methods.online.scoring import RowScorer
from tamis.methods.online.weights import Floats, Ints


class ListedWeights:
    """Weights of a few features among any number: a table to look them up in."""

    def __init__(self, ids: Ints, weights: Floats) -> None:
        self.blocks = weights.shape[1]
        self.weights = np.ascontiguousarray(weights)
        self._bits = max(1, int(2 * len(ids)).bit_length())
        self._keys = np.zeros(2**self._bits, dtype=np.int64)
        self._slots = np.full(2**self._bits, -1, dtype=np.int64)
        fill_table(ids, self._bits, self._keys, self._slots)

    def scores(self, rows: Compressed) -> Floats:
        """One score a row and block."""
        found = np.zeros((len(rows), self.blocks))
        data = (rows.indptr, rows.indices, rows.data)
        score_listed(*data, self._bits, self._keys, self._slots, self.weights, found)
        return found


class SavedModel(RowScorer, BaseEstimator):  # type: ignore[misc]
    """A classifier read from a model folder; predicts like the learner that was saved.

    Memory is that of the kept features, whatever the number of columns.

    Attributes
    ----------
    kept_, weights_, confidence_ : ndarray
        The kept features by number, rising, with their weights and how sure the learner was.
    names_ : list of str
        Their names: for svmlight the indices in the file.
    classes_ : ndarray
        The classes.
    record : dict
        What model.json says: method, parameters, rows, error curve, data, versions.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record

    @classmethod
    def of(
        cls,
        record: dict[str, Any],
        arrays: dict[str, npt.NDArray[Any]],
        classes: npt.NDArray[Any],
        names: list[str] | None,
    ) -> SavedModel:
        """Make a model of the content of a folder."""
        model = cls(record)
        weights = arrays["weights"]
        model.kept_, model.confidence_ = arrays["features"], arrays["confidence"]
        model.weights_ = weights[:, 0] if weights.shape[1] == 1 else weights
        model.classes_ = classes
        model.normalize, model.n_bits = record["normalize"], record["n_bits"]
        model.n_columns, model.n_features_in_ = record["n_columns"], record["n_features_in"]
        model._open = record["open"]
        model._name_prefix, model._name_base = record["names"]["prefix"], record["names"]["base"]
        kept = model.kept_.tolist()
        model._vocabulary = {} if names is None else dict(zip(names, kept, strict=True))
        numbered = [f"{model._name_prefix}{j + model._name_base}" for j in kept]
        model.names_ = numbered if names is None else names
        model._model = ListedWeights(model.kept_, weights)
        return model

    def _as_matrix(self, X: Any, first: bool) -> Any:
        """A matrix or table of float64, as wide and with the same names as in training."""
        names = list(getattr(X, "columns", ()))
        checked = check_array(
            X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, estimator=self
        )
        if not self._open and checked.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {checked.shape[1]:,} columns, but the model was trained on "
                f"{self.n_features_in_:,}"
            )
        for name, number in self._vocabulary.items() if names else ():
            if number >= len(names) or str(names[number]) != name:
                raise InputError(f"column {number} of X is not {name!r}, as it was in training")
        return checked

    def _check_fitted(self) -> None:
        """A model that was saved has learned."""

    def __repr__(self) -> str:
        return f"<SavedModel of {self.record['method']}, {len(self.kept_):,} features kept>"
