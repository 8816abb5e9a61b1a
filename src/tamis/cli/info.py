"""`tamis info`: show what a file, a run, a model or a comparison holds."""

from __future__ import annotations

import ast
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamis.cli.options import Command, json_option, missing_target_option, source_options
from tamis.cli.output import echo, echo_json, progress
from tamis.core.errors import TamisError
from tamis.core.files import kind_of

if TYPE_CHECKING:
    from tamis.engine.data_profile import Profile
    from tamis.sources.base import Progress


@click.command("info", cls=Command)
@click.argument("data", type=click.Path())
@source_options
@missing_target_option
@click.option("--verify", is_flag=True,
              help="Read the whole store and compare every file with its checksum.")  # fmt: skip
@json_option
def command(data: str, reading: dict[str, Any], verify: bool, as_json: bool) -> None:
    """Show what DATA holds: a data file, a store, or the folder of a run, model or comparison.

    For data: rows, columns by kind, what is suspicious (identifiers, copies, dates), the target,
    every problem that keeps tamis select from running, and a command that works.

    \b
    Examples:
      tamis info patients.csv --target died
      tamis info news20.svm
      tamis info run/ --json
      tamis info model/
      tamis info genes.cols --verify
    """  # noqa: D301  (click needs the backspace character)
    readers = {"run": _of_run, "model": _of_model, "comparison": _of_results, "path": _of_path}
    kind = kind_of(data)
    found = None
    if kind:
        facts = readers[kind](data)
        facts = {
            key: _value(value) if as_json and key.startswith("parameter ") else value
            for key, value in facts.items()
        }
    else:
        with progress() as report:
            facts, found = _of_source(data, reading, verify, report)
    if as_json:
        echo_json(facts if found is None else facts | {"profile": found.to_dict()})
        return
    if found is not None:
        echo(*found.lines(), "")
    width = max(map(len, facts))
    echo(*(f"{key:<{width}}  {_text(value)}" for key, value in facts.items()))


def _of_source(
    data: str, reading: dict[str, Any], verify: bool, report: Progress
) -> tuple[dict[str, Any], Profile | None]:
    """Return the description of a source, as far as its reader takes it, and its profile."""
    from tamis.engine.profiling import profile
    from tamis.sources import open_source

    facts: dict[str, Any] = {"name": Path(data).name}
    try:
        source = open_source(data, **reading)
        if verify:
            source.verify()
        about = dict(vars(source.info()))
    except TamisError:
        if verify:
            raise
        return facts, profile(data, progress=report, **reading)
    details = about.pop("details")
    facts |= about | details | ({"verified": True} if verify else {})
    stream = source.format == "redis"  # its rows are read once
    return facts, None if stream else profile(data, progress=report, **reading)


def _of_run(data: str) -> dict[str, Any]:
    from tamis.engine.persistent.saved_selection import is_persistent, read_saved
    from tamis.engine.runs import open_run

    run, unfinished = open_run(data), {}
    if is_persistent(Path(data)) and (saved := read_saved(data)).left_to_do():
        after = "; ".join(saved.status()["unfinished"])
        unfinished = {"unfinished": f"{after}; resume it with: tamis resume {shlex.quote(data)}"}
    return {
        **unfinished,
        "method": run.method,
        **{f"parameter {k}": v for k, v in run.parameters.items()},
        **({"measure in use": run.measure, "because": run.measure_reason} if run.measure else {}),
        "source": run.source.get("name", run.source["format"]),
        "rows": run.source["n_rows"],
        "features": len(run.log),
        **({"stopped": run.log.stopped.removeprefix("stopped ")} if run.log.stopped else {}),
        **run.log.counts(),
        **{f"{k} counted": v for k, v in run.work.items()},
        **{f"seconds {k}": round(v, 3) for k, v in run.seconds.items()},
        "command": run.command,
    }


def _of_model(data: str) -> dict[str, Any]:
    from tamis.engine.learning.model import open_model

    model = open_model(data)
    record = model.record
    test = record.get("test") or {}
    if model.task == "regression":
        predicted = {"predicts": "numbers"}
    else:
        predicted = {"classes": ", ".join(map(str, model.classes_.tolist()))}
    return {
        "method": record["method"],
        **{f"parameter {k}": v for k, v in record["parameters"].items()},
        "source": ", ".join(str(file.get("name", "")) for file in record.get("source") or []),
        **predicted,
        "columns seen": record["n_features_in"],
        "features kept": record["kept"],
        **{f"{k} counted": v for k, v in record["work"].items()},
        **{f"bad lines, {k}": v for k, v in record["bad_lines"].items()},
        **({"progressive error": record["error"]} if "error" in record else {}),
        **({"progressive R²": record["progressive_r2"]} if "progressive_r2" in record else {}),
        **{f"test {k}": test[k] for k in ("rows", "accuracy", "r2", "rmse") if k in test},
        "command": record.get("command"),
    }


def _of_path(data: str) -> dict[str, Any]:
    from tamis.evaluate.sizes import open_path

    path = open_path(data)
    means = path.mean.tolist()
    return {
        "scoring": path.scoring,
        "folds": len(path.scores),
        "enough": path.enough,
        "best": path.best,
        **{f"{path.scoring}, {n} features": m for n, m in zip(path.sizes, means, strict=True)},
    }


def _of_results(data: str) -> dict[str, Any]:
    from tamis.evaluate.results import open_results

    results = open_results(data)
    return {
        "data": ", ".join(results.data),
        "methods": ", ".join(results.methods),
        "classifiers": ", ".join(results.classifiers),
        "control": results.control,
        "folds": results.params.get("cv"),
        "random_state": results.params.get("random_state"),
        "results": results.rows.num_rows,
        "selections": results.selections.num_rows,
        "command": results.params.get("command"),
    }


def _value(value: Any) -> Any:
    """Return a parameter that is recorded as Python writes it as a value, if it is a plain one."""
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value  # such as a measure with its parameters


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "-" if value is None else "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_text(v)}" for k, v in value.items())
    return str(value)
