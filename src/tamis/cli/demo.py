"""`tamis demo`: the main job on data that needs no download, with a report at the end."""

from __future__ import annotations

from pathlib import Path

import click
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis.cli.progress import progress
from tamis.core.errors import OutputError
from tamis.engine.record import save_run
from tamis.engine.run import Run
from tamis.engine.select import select
from tamis.measures import MutualInformation
from tamis.report.markdown import write_markdown
from tamis.selectors import SAOLA
from tamis.sources.synthetic import SparseStream


@click.command("demo")
@click.option(
    "--out", default="demo", show_default=True, type=click.Path(), help="Folder to write."
)
@click.option("--columns", default=1_000_000, show_default=True, type=click.IntRange(1000),
              help="Features in the generated stream.")  # fmt: skip
def command(out: str, columns: int) -> None:
    """Select features from a real data set and from a generated stream whose answer is known.

    \b
    Examples:
      tamis demo
      tamis demo --columns 100000 --out /tmp/demo
    """  # noqa: D301  (click wants the backspace itself)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}") from error
    click.echo("1. Wisconsin breast cancer: 569 tumours, 30 measurements (ships with scikit-learn)")
    real, accuracy = _real()
    click.echo(f"   {accuracy}")
    click.echo(f"2. A stream of {columns:,} rare binary features, 10 of which matter")
    stream, verdict = _generated(columns)
    click.echo(f"   {verdict}")
    runs = {"Breast cancer, real": real, f"A stream of {columns:,} features, generated": stream}
    for name, run in (("breast-cancer", real), ("stream", stream)):
        save_run(run, folder / name, force=True)
    page = write_markdown(runs, folder / "report.md", "tamis demo", f"{accuracy}.\n\n{verdict}.")
    click.echo(f"Ask about any feature: tamis why {folder / 'breast-cancer'} 'mean radius'")
    click.echo(f"The report is {page}")


def _real() -> tuple[Run, str]:
    data = load_breast_cancer(as_frame=True)
    run = select(data.data, SAOLA(), data.target, command="tamis demo")
    model = LogisticRegression(max_iter=1000)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    scores = {
        name: cross_val_score(pipeline, data.data, data.target, cv=folds).mean()
        for name, pipeline in (
            ("all", make_pipeline(StandardScaler(), model)),
            ("kept", make_pipeline(SAOLA(), StandardScaler(), model)),
        )
    }
    kept = run.kept()
    names = ", ".join(row["name"] for row in kept)
    return run, (
        f"kept {len(kept)} of {len(run.log)}: {names}; logistic regression on the kept features "
        f"gets {scores['kept']:.1%} right (10-fold, selection inside each fold), on all "
        f"{len(run.log)}: {scores['all']:.1%}"
    )


def _generated(columns: int) -> tuple[Run, str]:
    source = SparseStream(n_columns=columns)
    # With a million chances a 1% level would let ten thousand through by luck; this level lets one
    # through in a hundred such streams.
    measure = MutualInformation(alpha=0.01 / columns)
    with progress() as report:
        run = select(
            source, SAOLA(measure), report=report, command=f"tamis demo --columns {columns}"
        )
    kept, planted = set(run.log.replay()), set(source.planted.tolist())
    rate = len(run.log) / run.seconds["select"]
    return run, (
        f"found {len(kept & planted)} of the {len(planted)} planted features and "
        f"{len(kept - planted)} others, dropped their {len(source.copies)} weaker copies as "
        f"redundant, at {rate / 1e6:.1f} million features a second"
    )
