"""`tamis demo`: select from data that needs no download, and write a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from tamis.cli.options import Command, json_option
from tamis.cli.output import echo, echo_json, progress
from tamis.core.files import make_folder

if TYPE_CHECKING:
    from tamis.engine.runs import Run


@click.command("demo", cls=Command)
@click.option(
    "--out", default="demo", show_default=True, type=click.Path(), help="Folder to write."
)
@click.option("--columns", default=1_000_000, show_default=True, type=click.IntRange(1000),
              help="Features in the generated stream.")  # fmt: skip
@json_option
def command(out: str, columns: int, as_json: bool) -> None:
    """Select features from a real data set and from a generated stream whose answer is known.

    \b
    Examples:
      tamis demo
      tamis demo --columns 100000 --out small
    """  # noqa: D301  (click needs the backspace character)
    from tamis.engine.runs import save_run
    from tamis.report.folder_page import write_page
    from tamis.report.run_page import page_of_run

    folder = make_folder(out)
    show = (lambda *lines: None) if as_json else echo
    show("1. Handwritten digits: 1,797 scans of 8 by 8 pixels (ships with scikit-learn)")
    real, accuracy = _real()
    show(f"   {accuracy}", f"2. A stream of {columns:,} rare binary features, 10 of which matter")
    stream, verdict = _generated(columns, quiet=as_json)
    show(f"   {verdict}")
    facts = {}
    for name, run, found in (("digits", real, accuracy), ("stream", stream, verdict)):
        save_run(run, folder / name, force=True)
        page = page_of_run(run, str(folder / name))
        page = replace(page, summary=f"{page.summary} {found[0].upper()}{found[1:]}.")
        report = write_page(page, folder / f"{name}.html")
        kept = len(run.kept_names)
        facts[name] = {
            "run": str(folder / name),
            "report": str(report),
            "kept": kept,
            "found": found,
        }
    show(
        f"Ask about any feature: tamis why {folder / 'digits'} pixel_3_4",
        f"A report of the stream is {folder / 'stream.html'}",
        f"The report is {folder / 'digits.html'}",
    )
    if as_json:
        echo_json(facts)


def _real() -> tuple[Run, str]:
    import numpy as np
    from sklearn.datasets import load_digits

    from tamis import SAOLA
    from tamis.core.names import Names
    from tamis.engine.selecting import select
    from tamis.sources import MemorySource

    X, y = load_digits(return_X_y=True)
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    source = MemorySource(X, y, names=Names.of(names))
    run = select(source, SAOLA(), command="tamis demo")
    run.source["name"] = "handwritten digits"
    kept = run.log.replay()
    rng = np.random.default_rng(0)
    chance = [_accuracy(X[:, rng.choice(64, len(kept), replace=False)], y) for _ in range(10)]
    return run, (
        f"3 nearest neighbours get {_accuracy(X, y, SAOLA()):.1%} right with the {len(kept)} kept "
        f"pixels (5-fold, selection inside each fold), {_accuracy(X, y):.1%} with all 64, and "
        f"{np.mean(chance):.1%} with {len(kept)} chosen at random"
    )


def _accuracy(X: Any, y: Any, *steps: Any) -> float:
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(*steps, KNeighborsClassifier(3))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return float(cross_val_score(pipeline, X, y, cv=folds).mean())


def _generated(columns: int, quiet: bool = False) -> tuple[Run, str]:
    from tamis import SAOLA
    from tamis.engine.selecting import select
    from tamis.kernels._uncompiled import compiling
    from tamis.measures import MutualInformation
    from tamis.sources.arrays.synthetic import SparseStream

    source = SparseStream(n_columns=columns)
    # At a level of 1%, ten thousand of a million features would pass by chance. At this level, one
    # does in about a hundred such streams.
    measure = MutualInformation(alpha=0.01 / columns)
    with progress(quiet) as report:
        with compiling():  # outside the clock
            select(SparseStream(n_columns=10_000), SAOLA(measure))
        run = select(
            source, SAOLA(measure), progress=report, command=f"tamis demo --columns {columns}"
        )
    run.source["name"] = f"a generated stream of {columns:,} features"
    kept, planted = set(run.log.replay()), set(source.planted.tolist())
    rate = len(run.log) / run.seconds["select"]
    return run, (
        f"found {len(kept & planted)} of the {len(planted)} planted features and "
        f"{len(kept - planted)} others, dropped their {len(source.copies)} weaker copies as "
        f"redundant, at {rate / 1e6:.1f} million features per second"
    )
