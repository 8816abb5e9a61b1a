"""Output of the commands: safe lines, progress, and a live page."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from tamis.core.masking import masked

if TYPE_CHECKING:
    from tamis.report.live_server import LivePage
    from tamis.sources.base import Progress

# --- lines ------------------------------------------------------------------------------------


def one_line(text: str) -> str:
    r"""Return text with its control characters escaped, and without passwords.

    Characters that change the direction of the text around them are escaped as well.

    >>> print(one_line("two\nlines, \x1b[2Jgène 🧬 \u202elive"))
    two\nlines, \x1b[2Jgène 🧬 \u202elive
    """
    control = r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
    return re.sub(control, lambda found: repr(found[0])[1:-1], masked(text))


def typed_command() -> str:
    """Return the command as it was typed, for the run record; passwords become three stars."""
    return shlex.join(["tamis", *(masked(word, whole=True) for word in sys.argv[1:])])


def echo(*lines: str, err: bool = False) -> None:
    """Print lines to standard output or to standard error."""
    for line in lines:
        click.echo(one_line(line), err=err)


def echo_json(facts: Any) -> None:
    """Print facts as one JSON document; numbers that JSON does not have become null."""
    click.echo(json.dumps(_plain(facts), indent=1, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def messages(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints a sentence to standard error, unless `quiet`."""
    return lambda sentence: None if quiet else echo(sentence, err=True)


@contextmanager
def resumable(run: str) -> Iterator[None]:
    """Say how to resume a run whose decisions are saved as it goes, if Ctrl-C stops it."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped; the decisions until a moment ago are saved in {run}; resume it with: tamis "
            f"resume {shlex.quote(run)}"
        ) from None


# --- progress ---------------------------------------------------------------------------------

#: Printed when kernels are not in the cache yet.
COMPILING = "compiling (a few seconds, once per method)"

#: Returns what to show in place of the rate; "" for nothing.
Note = Callable[[], str]

#: Seconds between two plain lines.
PLAIN_EVERY = 5.0


@contextmanager
def progress(quiet: bool = False, note: Note = str) -> Iterator[Progress]:
    """Yield a progress callback: a bar if standard error is a terminal, else lines."""
    from tamis.kernels._jit import on_first_compilation

    if quiet:
        yield lambda what, done, total: None
        return
    with on_first_compilation(lambda: print(COMPILING, file=sys.stderr, flush=True)):
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            with _bar(note) as report:
                yield report
        else:
            yield _plain_lines(note)


@contextmanager
def _bar(note: Note) -> Iterator[Progress]:
    from rich import progress as rich
    from rich.console import Console

    tasks: dict[str, rich.TaskID] = {}
    bar = rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        rich.TextColumn("{task.fields[rate]}"),
        rich.TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )

    def report(what: str, done: int, total: int | None) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(what, total=total, rate="")
        elapsed = bar.tasks[tasks[what]].elapsed or 0.0
        rate = f"{short(done / elapsed)}/s" if elapsed > 0.2 else ""
        bar.update(tasks[what], completed=done, total=total, rate=note() or rate)

    with bar:
        yield report


def _plain_lines(note: Note) -> Progress:
    """Return a callback that prints a line every few seconds of a long stage, and at its end."""
    stages: dict[str, tuple[float, float]] = {}  # when it began, and when the last line was printed

    def report(what: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        begun, last = stages.setdefault(what, (now, now))
        finished = total is not None and done >= total
        if now - last < PLAIN_EVERY and not (finished and now - begun >= PLAIN_EVERY):
            return
        stages[what] = begun, now
        rate = done / max(now - begun, 1e-9)
        line = f"{what}: {short(done)}"
        if total:
            left = (total - done) / max(rate, 1e-9)
            line += f" of {short(total)} ({100 * done / total:.0f}%), {left:.0f} s left"
        with suppress(OSError):  # nobody reads it, but the work goes on
            print(f"{line}, {note() or f'{short(rate)}/s'}", file=sys.stderr, flush=True)

    return report


def short(number: float) -> str:
    """Return a large number in a few characters.

    >>> short(34_796_249), short(950), short(999_999)
    ('34.8M', '950', '1M')
    """
    sizes = (1e9, "G"), (1e6, "M"), (1e3, "k")
    size, letter = next((pair for pair in sizes if number >= 0.9995 * pair[0]), (1.0, ""))
    digits = number / size
    return f"{digits:.0f}{letter}" if digits >= 999.5 else f"{digits:.3g}{letter}"


# --- a live page ------------------------------------------------------------------------------


@contextmanager
def followed(title: str) -> Iterator[LivePage]:
    """Serve a page during the run, and print its address."""
    import webbrowser

    from tamis.report.live_server import LivePage

    with LivePage(title) as page:
        click.echo(f"follow the run at {page.url}", err=True)
        webbrowser.open(page.url)
        yield page
