"""Runs the command line inside the test process: a new process takes over a second."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from tamis.cli import main
from tamis.cli.output import COMPILING


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    def one_sentence(self) -> str:
        """Return the one-line error message that the user can act on."""
        assert self.code == 2, self
        assert self.out == "", self
        assert self.err.startswith("tamis: "), self
        assert self.err.endswith("\n"), self
        assert self.err.count("\n") == 1, self
        assert "Traceback" not in self.err
        return self.err.removeprefix("tamis: ").removesuffix("\n")


class CommandLine:
    """`tamis("info", path)` is what `tamis info PATH` does."""

    def __init__(self, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._capsys, self._patch = capsys, patch

    def __call__(self, *arguments: object) -> Outcome:
        self._capsys.readouterr()
        self._patch.setattr(sys, "argv", ["tamis", *map(str, arguments)])
        code = 0
        try:
            main.run()
        except SystemExit as stop:
            code = stop.code or 0
        message = self._capsys.readouterr()
        # A fresh clone compiles during the first tests, and reports it.
        return Outcome(code, message.out, message.err.replace(f"{COMPILING}\n", ""))
