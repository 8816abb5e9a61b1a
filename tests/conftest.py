"""Shared fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests_shared import SHARED


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden outputs and data; tests that need it are skipped in a plain clone."""
    if not SHARED.is_dir():
        pytest.skip("the shared folder of golden outputs and data is not beside this clone")
    return SHARED
