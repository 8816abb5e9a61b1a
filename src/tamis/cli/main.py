"""The `tamis` command: finds the sub-command, and turns errors into one sentence and a code.

Exit codes: 0 done, 2 something the user can mend, 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import importlib
import os
import sys

import click

from tamis._version import __version__
from tamis.core.errors import TamisError

#: Sub-commands in the order a user meets them: the module that holds each as `command`, and what it
#: does. Modules are imported when needed, so that help does not wait for the numeric libraries.
COMMANDS = {
    "select": ("tamis.cli.select", "Select features from a file; write what was kept, and why."),
    "why": ("tamis.cli.why", "Say why a feature was kept or dropped."),
    "info": ("tamis.cli.info", "Say what a file holds, or what a run did."),
    "convert": ("tamis.cli.convert", "Turn a file into a column store."),
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


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tamis")
def cli() -> None:
    r"""Pick the features worth keeping from data that keeps growing.

    \b
    A first run:
      tamis select data.svm --method saola --out run/
      tamis why run/ 17
      cat run/selected.csv
    """


def run() -> None:
    """Run the command line and exit with its code."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except TamisError as error:
        click.echo(f"tamis: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo(
            "tamis: stopped; nothing was written but what an earlier step had finished", err=True
        )
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone (`tamis info | head`); that is no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        click.echo("tamis: there is not enough memory; try a smaller --width or --memory", err=True)
        sys.exit(2)
