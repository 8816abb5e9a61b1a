"""Damaged files, read by a child process that may crash or hang."""

from __future__ import annotations

import collections
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Seconds that one file may take before it counts as a hang, on a machine that may be busy.
LIMIT = 300.0
#: Most seconds that one look at a child counts: what is above, this process was stopped as well.
LOOK = 1.0
#: Outcomes that are failures.
FAILURES = ("crash", "hang", "traceback", "different", "broken soak")


@dataclass
class Outcomes:
    """The outcomes of the files of one kind."""

    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)
    #: Largest resident memory of the child, in bytes.
    memory: int = 0
    note: str = ""


class Patience:
    """Seconds that are left for a child; while both are stopped (SIGSTOP), none of them pass."""

    def __init__(self, seconds: float) -> None:
        self._left, self._before = seconds, time.monotonic()

    def left(self) -> float:
        """Return the seconds that are left; call this at least once per `LOOK` seconds."""
        now = time.monotonic()
        self._left -= min(now - self._before, 2 * LOOK)
        self._before = now
        return self._left


class Worker:
    """The child process; a new one is started when it ends."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._command = [sys.executable, "-m", "soak.worker", str(folder), str(seed)]
        self._child: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def try_case(self, reader: str, case: int) -> tuple[str, str, int]:
        """Return the outcome of one case, the detail, and the memory of the child."""
        if self._child is None:
            self._rest = b""
            self._child = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=os.environ | {"TAMIS_THREADS": "1"},
            )  # fmt: skip
        child = self._child
        assert child.stdin is not None
        child.stdin.write(f"{reader} {case}\n".encode())
        child.stdin.flush()
        phase, detail = "start", ""
        for line in self._lines(child):
            answer = json.loads(line)
            if "outcome" in answer:
                return answer["outcome"], answer["detail"], answer["memory"]
            phase, detail = answer["phase"], answer["detail"]
        hangs = child.poll() is None
        self.close()
        what = "hang" if hangs else f"crash ({child.returncode})"
        if phase == "peer":
            return "only tamis reads it", f"{detail}: the other reader: {what}", 0
        return what.partition(" ")[0], f"{detail}: {what}", 0

    def _lines(self, child: subprocess.Popen[bytes]) -> Iterator[bytes]:
        """Yield lines until the child ends or is silent for too long."""
        assert child.stdout is not None
        patience = Patience(LIMIT)
        while (left := patience.left()) > 0:
            if b"\n" in self._rest:
                line, _, self._rest = self._rest.partition(b"\n")
                yield line
                continue
            if select.select([child.stdout], [], [], min(left, LOOK))[0]:
                more = os.read(child.stdout.fileno(), 1 << 16)
                if not more:
                    child.wait()
                    return
                self._rest += more

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None


def try_files(folder: Path, seed: int, reader: str, cases: range, until: float) -> Outcomes:
    """Read damaged files of one kind until the cases or the time run out."""
    found, worker = Outcomes(), Worker(folder, seed)
    try:
        for case in cases:
            if time.monotonic() > until:
                break
            outcome, detail, memory = worker.try_case(reader, case)
            found.counts[outcome] += 1
            found.memory = max(found.memory, memory)
            if outcome in FAILURES:
                found.failures.append(f"{reader}, case {case}, {outcome}: {detail}")
    finally:
        worker.close()
    return found
