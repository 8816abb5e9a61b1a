"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests_shared import SHARED

# No example is timed: the first one of a kernel compiles it. A submission is judged on the same
# examples every time; a developer's runs look further.
settings.register_profile("untimed", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden outputs and data; tests that need it are skipped in a plain clone."""
    if not SHARED.is_dir():
        pytest.skip("the shared folder of golden outputs and data is not beside this clone")
    return SHARED
