"""The version, in one place, and those of what it computes with."""

import functools

__version__ = "0.1.0.dev0"


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python, tamis and the libraries that compute."""
    import platform
    from importlib.metadata import version  # not for --help

    return {"python": platform.python_version(), "tamis": __version__} | {
        package: version(package) for package in ("numpy", "scipy", "numba", "scikit-learn")
    }
