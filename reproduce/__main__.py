"""Run the papers' comparisons on the data next to the project and write docs/reproduction.md.

python -m reproduce                  everything; resumes where it stopped
python -m reproduce --only saola     one paper; the page keeps the earlier results
python -m reproduce --page           run nothing, write the page from stored results
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from reproduce import rows
from reproduce.page import write_page
from reproduce.plans import PLANS, Plan
from tamis.cli.output import progress
from tamis.core.errors import SourceError
from tamis.evaluate import Results, compare, open_results

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
OUT = ROOT / "bench-results" / "reproduce"


def run_plan(plan: Plan, seconds: float, n_jobs: int | None) -> Results:
    """Run one paper's comparison; finished cells are not recomputed."""
    data = {name: SHARED / "data" / folder for name, folder in plan.data.items()}
    with progress() as report:
        return compare(
            data, dict(plan.methods), list(plan.classifiers.values()), cv=plan.cv,
            split="never" if plan.split == "never" else "official", out=OUT / plan.paper,
            cell_seconds=seconds, cell_megabytes=4000.0, n_jobs=n_jobs, progress=report, paired="t",
        )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run the comparisons and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=[*PLANS, "sofs"], help="one paper")
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    parser.add_argument("--cell-seconds", type=float, default=120.0, help="cap of each cell")
    parser.add_argument("--n-jobs", type=int, help="worker processes")
    options = parser.parse_args(arguments)
    if not (SHARED / "paper_tables.json").is_file():
        sys.exit(f"found no paper tables and data sets next to the project ({SHARED.name}/)")
    found: dict[str, Results] = {}
    row_results: Any = None
    for plan in PLANS.values():
        wanted = not options.page and options.only in (None, plan.paper)
        if wanted:
            begun = time.monotonic()
            found[plan.paper] = run_plan(plan, options.cell_seconds, options.n_jobs)
            print(f"{plan.title}: {time.monotonic() - begun:.0f} s", flush=True)
        else:
            try:
                found[plan.paper] = open_results(OUT / plan.paper)
            except SourceError:
                continue
    if (not options.page and options.only in (None, "sofs")) or (OUT / "sofs").is_dir():
        row_results = rows.run(SHARED / "data", OUT / "sofs")
    page = ROOT / "docs" / "reproduction.md"
    write_page(page, SHARED / "paper_tables.json", found, row_results)
    print(f"wrote {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
