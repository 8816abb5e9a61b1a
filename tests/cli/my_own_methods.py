"""Selectors that tamis does not know, for the tests of the command line."""

from __future__ import annotations

from tamis import FCBF, SAOLA


class Mine(SAOLA):
    """Goes on when columns are fed."""

    method = "mine"


class Whole(FCBF):
    """Sees every column first."""

    method = "whole"


class Plain:
    """Has what tamis compare asks for, and no more."""

    def fit(self, X: object, y: object) -> Plain:
        return self
