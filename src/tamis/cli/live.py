"""`--live`: a page on this machine that follows the run."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from tamis.report.live import LivePage

F = TypeVar("F", bound=Callable[..., Any])


def live_option(command: F) -> F:
    """Add --live."""
    return click.option(
        "--live", is_flag=True,
        help="Open a page that follows the run; it can be closed at any time.",
    )(command)  # fmt: skip


@contextmanager
def followed(live: bool, title: str) -> Iterator[LivePage | None]:
    """Serve a page while the run goes on, if asked to, and say where it is."""
    if not live:
        yield None
        return
    with LivePage(title) as page:
        click.echo(f"follow the run at {page.url}", err=True)
        webbrowser.open(page.url)
        yield page
