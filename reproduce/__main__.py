"""Run the papers' experiments on the data next to the project and write docs/reproduction.md.

python -m reproduce                  everything; resumes where it stopped
python -m reproduce --only saola     one part; the page keeps the earlier results
python -m reproduce --page           run nothing, write the page from stored results
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from reproduce import rows
from reproduce.page import write_page
from reproduce.plans import LARGE, PLANS, SAOLA, Plan
from reproduce.studies import (
    OUT,
    ROOT,
    SHARED,
    STUDIES,
    folder_of,
    method,
    open_study,
    run_ofs,
    run_study,
)
from tamis.cli.output import progress
from tamis.evaluate import compare, open_results


def run_plan(plan: Plan, n_jobs: int | None, report: Any) -> None:
    """Run one paper's comparison; finished cells are not recomputed."""
    compare(
        {name: folder_of(folder) for name, folder in plan.sets.items()},
        {label: method(text) for label, text in plan.methods.items()},
        list(plan.classifiers.values()), cv=plan.cv,
        split="never" if plan.split == "never" else "official", out=OUT / plan.paper,
        cell_seconds=plan.cell_seconds, cell_megabytes=6000.0, n_jobs=n_jobs, progress=report,
        paired="t",
    )  # fmt: skip


def ofs(n_jobs: int | None, report: Any) -> None:
    """Run OFS1 and OFS2 where SAOLA has results."""
    for plan, place in ((SAOLA, "saola"), (LARGE, "large")):
        results = open_results(OUT / place)
        kept = results.grid("kept")[:, results.methods.index("SAOLA")]
        sizes = dict(zip(results.data, kept.tolist(), strict=True))
        sets = {**plan.data, **_stand_ins(plan)}
        if plan is LARGE:
            sets = {name: folder for name, folder in sets.items() if name not in SAOLA.sets}
        run_ofs(sets, sizes, n_jobs=n_jobs, progress=report)


def _stand_ins(plan: Plan) -> dict[str, str]:
    names = set(plan.data) | set(plan.more)
    return {name: folder for name, folder in plan.sets.items() if name not in names}


def study(name: str, n_jobs: int | None, report: Any) -> None:
    """Run one study."""
    run_study(STUDIES[name], OUT / name, n_jobs=n_jobs, progress=report)


def parts() -> dict[str, Callable[[int | None, Any], Any]]:
    """Return every part, in the order in which they run."""
    found: dict[str, Callable[[int | None, Any], Any]] = {}
    for name, plan in PLANS.items():
        found[name] = partial(run_plan, plan)
    for name in STUDIES:
        found[name] = partial(study, name)
    found["ofs"] = ofs
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
    write_page(page, SHARED / "paper_tables.json", {name: open_study(name) for name in STUDIES})
    print(f"wrote {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
