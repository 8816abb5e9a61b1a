"""Try to break tamis, and print a table of what was tried and what failed.

    python -m soak --seconds 600            every part, for a share of the time
    python -m soak --full                   every part, as often as docs/robustness.md says
    python -m soak CSV --seed 3             one part
    python -m soak CSV --case 17            one damaged file, which is kept

Everything is drawn from the seed: a failure names the case that repeats it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from soak.damaged_files import Outcomes, try_files

ROOT = Path(__file__).resolve().parents[1]
#: Damaged files of each kind in a full run.
FILES = 1600
#: Seconds of random examples of the tests in a full run.
EXAMPLES = 600


def parts() -> dict[str, float]:
    """Return the name of every part, and its share of the time."""
    from soak.faults import FAULTS
    from soak.long_runs import LONG
    from soak.readers import READERS

    files = dict.fromkeys(READERS, 0.5 / len(READERS))
    faults = dict.fromkeys(FAULTS, 0.3 / len(FAULTS))
    return files | faults | dict.fromkeys(LONG, 0.1 / len(LONG)) | {"random examples": 0.1}


def one_part(name: str, seed: int, seconds: float, cases: int | None) -> Outcomes:
    """Run one part in this process."""
    from soak.faults import FAULTS, scenario
    from soak.long_runs import LONG
    from soak.readers import READERS

    warnings.simplefilter("ignore")
    until = time.monotonic() + seconds
    rng = Random(f"{seed} {name}")
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        folder = Path(place)
        if name in READERS:
            return try_files(folder, seed, name, range(cases or FILES), until)
        if name in FAULTS:
            fault, full = FAULTS[name]
            return scenario(fault, folder, rng, cases or full, until)
        if name in LONG:
            run, full = LONG[name]
            return run(folder, rng, cases or full, until)
        return random_examples(min(seconds, EXAMPLES))


def random_examples(seconds: float) -> Outcomes:
    """Run the tests that draw examples, with new examples, until the time is up."""
    found, end = Outcomes(), time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        command = [
            sys.executable, "-m", "pytest", "-q", "-x", "-m", "hypothesis and not slow",
            "--hypothesis-profile=soak", os.environ.get("TESTS", "tests"),
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=left, check=False
            )
        except subprocess.TimeoutExpired as stopped:
            text = (stopped.stdout or b"").decode(errors="replace")
            found.counts["tests"] += sum(line.count(".") for line in text.splitlines())
            if "F" in re.sub(r"[^.FsE]", "", text.split("=")[0]):
                found.failures.append(text[-3000:])
            break
        found.counts["tests"] += int((re.search(r"(\d+) passed", done.stdout) or [0, 0])[1])
        if done.returncode:
            found.counts["failed"] += 1
            found.failures.append(done.stdout[-3000:])
            break
    return found


def in_child(name: str, seed: int, seconds: float, cases: int | None) -> Outcomes:
    """Run one part in a process of its own; one that ends early is a failure."""
    command = [sys.executable, "-m", "soak", name, "--json", "--seed", str(seed)]
    command += ["--seconds", str(seconds)] + (["--cases", str(cases)] if cases else [])
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"TAMIS_THREADS": "1"},
    )  # fmt: skip
    try:
        found = Outcomes(**json.loads(done.stdout.splitlines()[-1]))
    except (ValueError, IndexError):
        found = Outcomes(failures=[f"{name} ended with {done.returncode}: {done.stderr[-2000:]}"])
    return found


def keep_case(name: str, seed: int, case: int) -> None:
    """Read one damaged file in this process, and keep it."""
    from soak import worker
    from soak.readers import READERS

    warnings.simplefilter("ignore")  # as in the worker
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    where = folder, folder / "case", (str(seed), str(case))
    outcome = worker.attempt(READERS[name], *where, lambda **facts: print(facts, flush=True))
    print(*outcome, sep=": ")
    print(f"the file is in {folder / 'case'}")


def row(name: str, found: Outcomes, seconds: float) -> str:
    """Return one line of the table."""
    total = sum(found.counts.values())
    what = ", ".join(f"{n:,} {key}" for key, n in sorted(found.counts.items()))
    note = f"; {found.note}" if found.note else ""
    size = f"{found.memory / 1e6:.0f}" if found.memory else ""
    return f"| {name} | {total:,} | {what}{note} | {size} | {seconds:.0f} | {len(found.failures)} |"


def main() -> int:
    """Run the parts, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(
        prog="python -m soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts()))
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--full", action="store_true", help="no limit of time")
    parser.add_argument("--cases", type=int, help="most cases of a part")
    parser.add_argument("--case", type=int, help="repeat one damaged file, and keep it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    shares = parts()
    names = given.parts or list(shares)
    if unknown := set(names) - set(shares):
        parser.error(f"unknown part {min(unknown)!r}; choose from {', '.join(shares)}")
    seconds = 1e6 if given.full else given.seconds
    if given.case is not None:
        from soak.readers import READERS

        if len(names) > 1 or names[0] not in READERS:
            parser.error("--case needs one part with damaged files, such as CSV")
        keep_case(names[0], given.seed, given.case)
        return 0
    if given.json:
        print(json.dumps(vars(one_part(names[0], given.seed, seconds, given.cases))))
        return 0
    total, failures = sum(shares[name] for name in names), []
    print("| part | tried | of these | most MB | s | failed |", flush=True)
    print("|---|---:|---|---:|---:|---:|", flush=True)

    def run(name: str) -> tuple[str, Outcomes, float]:
        share = 1e6 if given.full else seconds * 2 * shares[name] / total
        begun = time.monotonic()
        found = in_child(name, given.seed, share, given.cases)
        return name, found, time.monotonic() - begun

    with ThreadPoolExecutor(2) as pool:  # two processes, half of the parts each
        for name, found, took in pool.map(run, names):
            print(row(name, found, took), flush=True)
            for failure in found.failures:
                print(f"{name}: {failure}\n", file=sys.stderr, flush=True)
            failures += found.failures
    print(f"\nseed {given.seed}: {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
