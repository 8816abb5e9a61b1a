"""A child process that reads damaged files: ``python -m soak.worker FOLDER SEED``.

It takes lines ``READER CASE`` from standard input and answers each with lines of JSON: first what
it is about to do, so that a crash or a hang can be blamed, and finally the outcome.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

#: Valid files of each kind, which are copied and damaged.
VARIANTS = 40


def main(folder: Path, seed: str) -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # keep what libraries print out of the answers
    warnings.simplefilter("ignore")
    from soak.readers import READERS

    for line in sys.stdin:
        name, _, case = line.rstrip("\n").rpartition(" ")
        reader = READERS[name]

        def send(**facts: Any) -> None:
            print(json.dumps(facts), file=answers)

        place = folder / f"case-{os.getpid()}"
        try:
            outcome, detail = attempt(reader, folder, place, (seed, case), send)
        except Exception:
            outcome, detail = "broken soak", traceback.format_exc()
        shutil.rmtree(place, ignore_errors=True)
        send(outcome=outcome, detail=detail, memory=memory())


def attempt(
    reader: Any, folder: Path, place: Path, seed: tuple[str, str], send: Any
) -> tuple[str, str]:
    """Damage one file, read it, and compare; return the outcome and the detail."""
    from soak.reader import differ
    from tamis.core.errors import TamisError

    rng = Random(f"{seed} {reader.name}")
    original = _original(reader, folder, seed[0], rng.randrange(VARIANTS))
    shutil.copytree(original.parent, place)
    path = place / original.name
    done = reader.damage(path, rng)
    send(phase="tamis", detail=done)
    try:
        ours = reader.read(path)
        if reader.is_data and rng.random() < 0.4:
            send(phase="tamis", detail=f"{done} (select)")
            with suppress(TamisError):  # such as a constant target
                reader.use(path)
    except TamisError as error:
        if len(str(error).splitlines()) != 1:
            return "traceback", f"{done}: not one sentence: {error!r}"
        return "refused", f"{done}: {error}"
    except Exception:
        return "traceback", f"{done}: {traceback.format_exc()}"
    send(phase="peer", detail=done)
    try:
        theirs = reader.peer(path, original)
    except BaseException as error:  # polars raises panics that are not exceptions
        return "only tamis reads it", f"{done}: {error!r}"
    if theirs is None:
        return "read", done
    found = getattr(reader, "compare", differ)(ours, theirs)
    return ("same", done) if found is None else ("different", f"{done}: {found}")


def _original(reader: Any, folder: Path, seed: str, number: int) -> Path:
    """Return a valid file, alone in its folder but for what belongs to it."""
    home = folder / f"valid-{os.getpid()}" / f"{reader.name.replace(' ', '_')}-{number}"
    name = home / ".name"
    if not name.exists():
        home.mkdir(parents=True)
        made = reader.make(home, Random(f"{seed} {reader.name} {number}"))
        name.write_text(made.name)
    return home / name.read_text()


def memory() -> int:
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
