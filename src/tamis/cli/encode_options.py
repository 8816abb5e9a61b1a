"""Options for binning numbers and for missing values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tamis._registry import ENCODERS
from tamis.core.errors import ParameterError
from tamis.core.sentences import counted

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = {
    "encode": click.option(
        "--encode", type=click.Choice(ENCODERS),
        help="Bin each numeric column separately. mdlp cuts where the class changes; text, and "
        "columns with few distinct whole numbers, are left unchanged.",
    ),
    "bins": click.option(
        "--bins", type=int, help="Number of bins, for --encode other than mdlp. Default: 5."
    ),
    "missing": click.option(
        "--missing", default="error", show_default=True,
        type=click.Choice(["error", "category", "delete"]),
        help="Missing values: raise an error, make them a category, or leave them out of each "
        "comparison (information measures).",
    ),
    "missing_value": click.option(
        "--missing-value", type=float, metavar="NUMBER",
        help="A number that also means missing, e.g. -9, or 0 if zeros are not measurements.",
    ),
}  # fmt: skip


def encode_options(command: F) -> F:
    """Add these options; the command gets them as one dict, `encoding`, as `select` takes it."""

    @functools.wraps(command)
    def with_encoding(**given: Any) -> Any:
        return command(encoding=_encoding(**{n: given.pop(n) for n in _OPTIONS}), **given)

    for option in reversed(_OPTIONS.values()):
        with_encoding = option(with_encoding)
    return with_encoding  # type: ignore[return-value]


def _encoding(
    encode: str | None, bins: int | None, missing: str, missing_value: float | None
) -> dict[str, Any]:
    """Return the encoder and the policy for missing values."""
    from tamis.encode import BY_NAME, Encoder, Missing

    if bins is not None and encode in (None, "mdlp"):
        raise ParameterError("--bins is for --encode equal-width, equal-frequency or kmeans")
    encoder: Encoder | None = None
    if encode is not None:
        encoder = BY_NAME[encode](**({} if bins is None else {"bins": bins}))
        encoder.check_params()
    if missing_value is None:
        return {"encode": encoder, "missing": missing}
    return {"encode": encoder, "missing": Missing(missing, missing_value)}


def encoding_lines(source: dict[str, Any]) -> list[str]:
    """Return lines about the encoding and the missing values of a run."""
    lines = [f"encode: {source['encode']}"] if source.get("encode") else []
    missing = source.get("missing", {"policy": "error"})
    if missing["policy"] != "error":
        owner = "its" if missing["gaps"] == 1 else "their"
        became = {"category": f"a category of {owner} own", "delete": "left out of each comparison"}
        lines.append(
            f"missing: {counted(missing['gaps'], 'value')} in "
            f"{counted(missing['columns'], 'column')}, "
            f"{became[missing['policy']]}"
        )
    return lines
