"""Encoders: turn a block of columns into a block of categories, each column independently.

Cuts depend only on one column and the target, so block boundaries do not matter. To add an encoder,
add a file here and an entry in `_registry`. ``tamis.encode.MDLP`` and the others are
scikit-learn transformers, imported when first used; the engine uses the plain encoders.
"""

from __future__ import annotations

import importlib
from typing import Any

from tamis._registry import ENCODERS, Lazy
from tamis.core.errors import ParameterError
from tamis.core.sentences import suggestion
from tamis.encode.encoder import Encoder
from tamis.encode.missing import Missing

__all__ = ["BY_NAME", "Encoder", "Missing", "resolve"]

#: Encoders by name: ``tamis select --encode mdlp``.
BY_NAME: Lazy[type[Encoder]] = Lazy(ENCODERS)

#: The corresponding scikit-learn transformers.
TRANSFORMERS = ("EqualFrequency", "EqualWidth", "KMeansBins", "MDLP", "Plain")


def resolve(encode: Any) -> Encoder | None:
    """Turn an encoder, its transformer or its name into an encoder; None stays None.

    >>> resolve("mdlp")
    MDLP()
    """
    if encode is None or isinstance(encode, Encoder):
        return encode
    if hasattr(encode, "to_encoder"):
        encoder: Encoder = encode.to_encoder()  # of a transformer
        return encoder
    if isinstance(encode, str) and encode in BY_NAME:
        return BY_NAME[encode]()
    known = suggestion(encode, BY_NAME, "give an encoder such as MDLP(), or one of")
    raise ParameterError(f"encode={encode!r} is not known; {known}")


def __getattr__(name: str) -> Any:
    if name not in TRANSFORMERS:
        raise AttributeError(f"module 'tamis.encode' has no attribute {name!r}")
    return getattr(importlib.import_module("tamis.estimators.encoders"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *TRANSFORMERS})
