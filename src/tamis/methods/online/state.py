"""All numbers of a model as plain arrays by name, and back: for checkpoints, without pickle."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.methods.online.weights import Zeros

Arrays = dict[str, npt.NDArray[Any]]


def arrays_of(model: Any, name: str = "model") -> Arrays:
    """Every array of a model, by name; of large tables only what is not zero."""
    found: Arrays = {}
    for key, value in _parts(model):
        if isinstance(value, np.ndarray):
            found[f"{name}.{key}"] = value
        elif isinstance(value, Zeros):
            state = value.__getstate__()
            found[f"{name}.{key}.shape"] = np.array(state["shape"], dtype=np.int64)
            found[f"{name}.{key}.filled"] = state["filled"]
            found[f"{name}.{key}.values"] = state["values"]
        else:
            found |= arrays_of(value, f"{name}.{key}")
    return found


def restore(model: Any, arrays: Arrays, name: str = "model") -> None:
    """Give a new model of the same parameters the numbers of another."""
    for key, value in _parts(model):
        if isinstance(value, np.ndarray):
            given = arrays[f"{name}.{key}"]
            if given.shape != value.shape or given.dtype != value.dtype:
                raise ValueError(f"{name}.{key} has another shape")
            value[...] = given
        elif isinstance(value, Zeros):
            parts = {part: arrays[f"{name}.{key}.{part}"] for part in ("shape", "filled", "values")}
            height, width = parts["shape"].tolist()
            indices = parts["filled"]
            if len(indices) and not 0 <= indices.min() <= indices.max() < height * width:
                raise ValueError(f"{name}.{key} holds places that are not there")
            dtype = value.view.dtype
            state = {**parts, "shape": (height, width), "dtype": dtype}
            value.__setstate__(state)
        else:
            restore(value, arrays, f"{name}.{key}")


def _parts(model: Any) -> list[tuple[str, Any]]:
    """What a model holds that learning changes: arrays, tables, and models inside it."""
    held = enumerate(model) if isinstance(model, list) else vars(model).items()
    kinds = (np.ndarray, Zeros, list)
    return [(str(key), value) for key, value in held if isinstance(value, kinds) or _is_ours(value)]


def _is_ours(value: Any) -> bool:
    return hasattr(value, "__dict__") and type(value).__module__.startswith("tamis.")
