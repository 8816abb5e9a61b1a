"""The `tamis` command: finds the sub-command, and turns errors into one sentence and a code.

Exit codes: 0 done, 2 something the user can mend, 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import warnings
from typing import Any, NoReturn

import click

from tamis._version import __version__
from tamis.cli.text import one_line
from tamis.core.errors import TamisError

#: Sub-commands in the order a user meets them: the module that holds each as `command`, and what it
#: does. Modules are imported when needed, so that help does not wait for the numeric libraries.
COMMANDS = {
    "select": ("tamis.cli.select", "Select features from a file; write what was kept, and why."),
    "resume": ("tamis.cli.resume", "Go on with a selection that was stopped."),
    "report": ("tamis.cli.report", "Write one page about a run, to look at."),
    "learn": ("tamis.cli.learn", "Learn from rows as they stream; write a small model."),
    "predict": ("tamis.cli.predict", "Predict rows with a model that was learned."),
    "why": ("tamis.cli.why", "Say why a feature was kept or dropped."),
    "feed": ("tamis.cli.feed", "Feed new columns to a selection made before."),
    "status": ("tamis.cli.status", "Say where a selection stands."),
    "drop": ("tamis.cli.drop", "Withdraw a feature that no longer exists."),
    "log": ("tamis.cli.log", "Print what a selection decided, and when."),
    "watch": ("tamis.cli.watch", "Feed files to a selection as they appear in a folder."),
    "info": ("tamis.cli.info", "Say what a file holds, or what a run did."),
    "compare": ("tamis.cli.compare", "Compare methods on your own data, with rank tests."),
    "convert": ("tamis.cli.convert", "Turn a file into a column store or a row store."),
    "demo": ("tamis.cli.demo", "Run on built-in data and write a report."),
}


class LazyGroup(click.Group):
    """A group that imports a sub-command only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every sub-command."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one sub-command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the sub-commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="tamis")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Pick the features worth keeping from data that keeps growing.

    \b
    A first run:
      tamis select data.svm --method saola --out run/
      tamis why run/ 17
      cat run/selected.csv
    """  # noqa: D301  (click wants the backspace itself)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run() -> None:
    """Run the command line and exit with its code."""
    if "_TAMIS_COMPLETE" in os.environ:  # a shell asks what could be typed next
        cli.main(prog_name="tamis")
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name the terminal cannot show must not stop us
        sys.stdout.reconfigure(errors="backslashreplace")
    warnings.showwarning = _tell
    try:
        # Not cli.main(), which has exit codes of its own.
        with cli.make_context("tamis", sys.argv[1:]) as ctx:
            cli.invoke(ctx)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        _stop(_usage(error), 2)
    except TamisError as error:
        _stop(str(error), 2)
    except (KeyboardInterrupt, click.Abort) as stop:
        if sys.stderr.isatty():
            click.echo(err=True)  # the terminal has written ^C
        plain = "stopped; nothing was written but what an earlier step had finished"
        _stop(str(stop) or plain, 130)
    except BrokenPipeError:
        # The reader of our output has gone (`tamis info | head`); that is no error of ours.
        _drop_output()
        sys.exit(0)
    except MemoryError:
        _stop("there is not enough memory; try a smaller --width or --memory", 2)
    except OSError as error:  # a full disk under standard output, a drive that was pulled out
        _drop_output()
        where = "" if error.filename is None else f"{error.filename}: "
        _stop(f"{where}{error.strerror or error}; mend that and try again", 2)


def _drop_output() -> None:
    """Let what standard output still holds go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(message: Warning | str, *_: Any, **__: Any) -> None:
    """Say a warning on one line; where in the code it arose is no matter for a user."""
    click.echo(f"tamis: {one_line(str(message))}", err=True)


def _stop(sentence: str, code: int) -> NoReturn:
    """Say one sentence on one line, and exit."""
    click.echo(f"tamis: {one_line(sentence)}", err=True)
    sys.exit(code)


def _usage(error: click.ClickException) -> str:
    """What is wrong with the words given, and where to read about them."""
    sentence = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    return sentence if context is None else f"{sentence}; see {context.command_path} --help"
