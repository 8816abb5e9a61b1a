"""`tamis info`: what a file holds, or what a run did."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tamis.cli.options import open_data, source_options
from tamis.cli.text import one_line
from tamis.engine.record import open_run


@click.command("info")
@click.argument("data", type=click.Path())
@source_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(data: str, reading: dict[str, Any], as_json: bool) -> None:
    """Say what DATA holds: a data file, a column store, or the folder of a run.

    \b
    Examples:
      tamis info news20.svm
      tamis info run/ --json
    """  # noqa: D301  (click wants the backspace itself)
    facts = (
        _of_run(data)
        if os.path.isfile(os.path.join(data, "run.json"))
        else _of_source(data, reading)
    )
    if as_json:
        import json

        click.echo(json.dumps(facts, indent=1, ensure_ascii=False))
        return
    width = max(map(len, facts))
    for key, value in facts.items():
        click.echo(f"{key:<{width}}  {one_line(_text(value))}")


def _of_source(data: str, reading: dict[str, Any]) -> dict[str, Any]:
    facts = asdict(open_data(data, reading).info())
    details = facts.pop("details")
    return {"name": Path(data).name, **facts, **details}


def _of_run(data: str) -> dict[str, Any]:
    run = open_run(data)
    return {
        "method": run.method,
        **{f"parameter {k}": v for k, v in run.parameters.items()},
        **({"measure in use": run.measure, "because": run.measure_reason} if run.measure else {}),
        "source": run.source.get("name", run.source["format"]),
        "rows": run.source["n_rows"],
        "features": len(run.log),
        **run.log.counts(),
        **{f"{k} counted": v for k, v in run.work.items()},
        **{f"seconds {k}": round(v, 3) for k, v in run.seconds.items()},
        "command": run.command,
    }


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "-" if value is None else "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_text(v)}" for k, v in value.items())
    return str(value)
