"""`--live`: a page in the browser that follows the run."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tamis.report.live_server import LivePage
    from tamis.sources.base import Report

F = TypeVar("F", bound=Callable[..., Any])


def live_option(command: F) -> F:
    """Add --live."""
    return click.option(
        "--live", is_flag=True,
        help="Open a page that follows the run; it can be closed at any time.",
    )(command)  # fmt: skip


def showing(report: Report, show: Callable[[], None]) -> Report:
    """Return a progress callback that also calls `show` between two decisions."""
    from tamis.methods.telling import SETTLED

    def both(what: str, done: int, total: int | None) -> None:
        report(what, done, total)
        if what == SETTLED:  # told by the thread that decides, between two decisions
            show()

    return both


@contextmanager
def followed(live: bool, title: str) -> Iterator[LivePage | None]:
    """Serve a page during the run, with --live, and print its address."""
    if not live:
        yield None
        return
    from tamis.report.live_server import LivePage

    with LivePage(title) as page:
        click.echo(f"follow the run at {page.url}", err=True)
        webbrowser.open(page.url)
        yield page
