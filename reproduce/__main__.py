"""Run the papers' experiments on the data next to the project and write docs/reproduction.md.

python -m reproduce                  everything; resumes where it stopped
python -m reproduce --only saola     one part; the page keeps the earlier results
python -m reproduce --page           run nothing, write the page from stored results

Results are stored in reproduce/results. A cell is computed again only if its data, or code that
decides it, has changed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from reproduce import rows, stored
from reproduce.page import write_page
from reproduce.plans import PLANS, Plan
from reproduce.studies import (
    OUT,
    ROOT,
    SHARED,
    STUDIES,
    Study,
    ofs_sets,
    run_baselines,
    run_ofs,
    run_study,
)
from tamis.cli.output import progress


def run_plan(plan: Plan, n_jobs: int | None, report: Any) -> None:
    """Run one paper's comparison; finished cells are not recomputed."""
    study = Study("compare", plan.sets, plan.methods, tuple(plan.classifiers.values()), plan.cv,
                  {"split": plan.split})  # fmt: skip
    run_study(plan.paper, study, n_jobs=n_jobs, progress=report)


def ofs(n_jobs: int | None, report: Any) -> None:
    """Run OFS1 and OFS2 where SAOLA has results."""
    for part, sets in ofs_sets().items():
        run_ofs(sets, _kept(part, "SAOLA"), n_jobs=n_jobs, progress=report)


def baselines(n_jobs: int | None, report: Any) -> None:
    """Run the baselines of the NIPS 2003 sets, as large as what Sieve kept."""
    kept = _kept("nips", "Sieve") | _kept("nips-gisette", "Sieve")
    run_baselines(kept, n_jobs=n_jobs, progress=report)


def _kept(part: str, method: str) -> dict[str, float]:
    results = stored.read(part)
    if results is None:
        return {}
    kept = results.grid("kept")[:, results.methods.index(method)]
    return dict(zip(results.data, kept.tolist(), strict=True))


def study(name: str, n_jobs: int | None, report: Any) -> None:
    """Run one study."""
    run_study(name, STUDIES[name], n_jobs=n_jobs, progress=report)


def parts() -> dict[str, Callable[[int | None, Any], Any]]:
    """Return every part, in the order in which they run."""
    found: dict[str, Callable[[int | None, Any], Any]] = {}
    for name, plan in PLANS.items():
        found[name] = partial(run_plan, plan)
    for name in STUDIES:
        found[name] = partial(study, name)
    found["ofs"] = ofs
    found["nips-baselines"] = baselines
    found["sofs"] = lambda n_jobs, report: rows.run(SHARED / "data", OUT / "sofs")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the parts and write the page."""
    known = parts()
    parser = argparse.ArgumentParser(
        prog="python -m reproduce",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=list(known), help="some parts")
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    parser.add_argument("--n-jobs", type=int, help="worker processes")
    options = parser.parse_args(arguments)
    if not (SHARED / "paper_tables.json").is_file():
        sys.exit(f"found no paper tables and data sets next to the project ({SHARED.name}/)")
    for name in () if options.page else options.only or known:
        begun = time.monotonic()
        with progress() as report:
            known[name](options.n_jobs, report)
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    page = ROOT / "docs" / "reproduction.md"
    write_page(page, SHARED / "paper_tables.json", {name: stored.read(name) for name in STUDIES})
    print(f"wrote {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
