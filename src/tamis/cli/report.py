"""`tamis report`: one page about a run, a model or a comparison."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path

import click

from tamis.cli.options import Choice, Command, json_option
from tamis.cli.output import echo, echo_json
from tamis.report.folder_page import FORMS, page_of_folder, write_page


@click.command("report", cls=Command)
@click.argument("folder", type=click.Path())
@click.option("--format", "form", default="html", type=Choice(list(FORMS)), show_default=True,
              help="HTML, Markdown, or JSON for programs.")  # fmt: skip
@click.option("--out", type=click.Path(), help="File to write. Default: report.* in FOLDER.")
@click.option("--open", "look", is_flag=True, help="Open it in the browser.")
@json_option
def command(folder: str, form: str, out: str | None, look: bool, as_json: bool) -> None:
    """Write one page about FOLDER: a run, a model, a comparison or a size path.

    The HTML page is one file. It works without a network and can be sent by mail.

    \b
    Examples:
      tamis report run/
      tamis report run/ --open
      tamis report results/ --format md --out results.md
    """  # noqa: D301  (click needs the backspace character)
    page = page_of_folder(folder)
    path = write_page(page, Path(folder) / f"report.{form}" if out is None else Path(out), form)
    size = os.path.getsize(path)
    if as_json:
        echo_json({"report": str(path), "bytes": size})
    else:
        echo(f"wrote {path} ({size / 1000:,.0f} kB)")
    if look:
        webbrowser.open(path.resolve().as_uri())
