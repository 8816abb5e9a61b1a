"""Encoders: a block of columns in, a block of categories out, each column by itself.

Cuts are a function of one column and the target, so how columns are put into blocks cannot matter.
Adding one takes a file here and an entry in `_registry`.
"""

from __future__ import annotations

from tamis._registry import ENCODERS, Lazy
from tamis.core.errors import ParameterError
from tamis.encode.base import Encoder
from tamis.encode.bins import EqualFrequency, EqualWidth, KMeansBins
from tamis.encode.mdlp import MDLP
from tamis.encode.missing import Missing
from tamis.encode.plain import Plain

__all__ = [
    "BY_NAME", "MDLP", "Encoder", "EqualFrequency", "EqualWidth", "KMeansBins", "Missing", "Plain",
    "resolve",
]  # fmt: skip

#: Encoders by name: ``tamis select --encode mdlp``.
BY_NAME: Lazy[type[Encoder]] = Lazy(ENCODERS)


def resolve(encode: Encoder | str | None) -> Encoder | None:
    """Turn an encoder or its word into an encoder; None stays None.

    >>> resolve("mdlp")
    MDLP()
    """
    if encode is None or isinstance(encode, Encoder):
        return encode
    if isinstance(encode, str) and encode in BY_NAME:
        return BY_NAME[encode]()
    words = ", ".join(repr(w) for w in BY_NAME)
    raise ParameterError(
        f"encode={encode!r} is not known; give one of {words}, or an encoder such as MDLP()"
    )
