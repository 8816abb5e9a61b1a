"""The `tamis` command: find the sub-command, and turn errors into one sentence and an exit code.

Exit codes: 0 done, 1 `watch --once` could not feed a file, 2 something the user can fix, 130
stopped with Ctrl-C, 143 stopped with SIGTERM.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import threading
import warnings
from types import FrameType
from typing import Any, NoReturn

import click

from tamis._version import __version__
from tamis.cli.output import echo
from tamis.core.errors import TamisError
from tamis.core.interrupts import handle_termination, repeat, was_terminated
from tamis.core.sentences import suggestion

#: Sub-commands in the order a user meets them, each with the module that defines it as `command`.
#: Modules are imported when needed, so that help does not wait for the numeric libraries.
COMMANDS = {
    "select": ("tamis.cli.select", "Select features from a file; write which were kept, and why."),
    "resume": ("tamis.cli.resume", "Resume a selection that was stopped."),
    "report": ("tamis.cli.report", "Write one page about a run, a model or a comparison."),
    "learn": ("tamis.cli.learn", "Learn from a stream of rows; write a small model."),
    "predict": ("tamis.cli.predict", "Predict rows with a model from tamis learn."),
    "apply": ("tamis.cli.apply", "Write only the columns of a file that a run kept."),
    "why": ("tamis.cli.why", "Explain why a feature was kept or dropped."),
    "feed": ("tamis.cli.feed", "Feed new columns to an earlier selection."),
    "status": ("tamis.cli.status", "Show the state of a selection."),
    "drop": ("tamis.cli.drop", "Withdraw a feature that no longer exists."),
    "log": ("tamis.cli.log", "Print the decisions of a selection, in order."),
    "watch": ("tamis.cli.watch", "Feed files to a selection as they appear in a folder."),
    "info": ("tamis.cli.info", "Show what a file holds, or what a run did."),
    "compare": ("tamis.cli.compare", "Compare methods on your own data, with rank tests."),
    "convert": ("tamis.cli.convert", "Convert a file to a column store or a row store."),
    "demo": ("tamis.cli.demo", "Run on built-in data and write a report."),
}


#: What Python says when a library or a thread does not fit into memory.
_NO_ROOM = ("failed to map segment", "annot allocate memory", "can't start new thread")


class LazyGroup(click.Group):
    """A group that imports a sub-command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every sub-command."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the sub-command that was typed, or raise a sentence that suggests one."""
        if cmd_name not in COMMANDS:
            if cmd_name.startswith("-"):  # click says that there is no such option
                return None
            known = suggestion(cmd_name, COMMANDS)
            raise click.UsageError(f"there is no command {cmd_name!r}; {known}", ctx)
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the sub-commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


cli = click.version_option(__version__, prog_name="tamis")(
    LazyGroup(
        "tamis",
        subcommand_metavar="[COMMAND] [ARGS]...",
        no_args_is_help=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="""Pick the features worth keeping from data that keeps growing.

        \b
        A first run:
          tamis info houses.csv --target price
          tamis select houses.csv --target price --out run/
          tamis why run/ area
          tamis apply run/ houses.csv --out small.csv
        """,
    )
)


def run() -> None:
    """Run the command line and exit with its code."""
    if "_TAMIS_COMPLETE" in os.environ:  # for shell completion
        cli.main(prog_name="tamis")
    _prepare()
    try:
        _invoke(sys.argv[1:] or ["--help"])
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        sentence, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
        where = "" if context is None else f"; see {context.command_path} --help"
        where = "" if sentence.endswith("?") else where  # it says what to type instead
        _stop(f"{sentence}{where}", 2)
    except TamisError as error:
        _stop(str(error), 2)
    except (KeyboardInterrupt, click.Abort) as stop:
        if sys.stderr.isatty() and not was_terminated():
            click.echo(err=True)  # after the ^C of the terminal
        plain = "stopped; only what earlier steps had finished was written"
        _stop(str(stop) or plain, 143 if was_terminated() else 130)
    except BrokenPipeError:
        # The output was closed early, as in `tamis info | head`.
        _drop_output()
        sys.exit(0)
    except (ImportError, RuntimeError) as error:  # with a limit of address space or threads
        if not any(why in str(error) for why in _NO_ROOM):
            raise
        _stop("there is no room for a library or a thread; allow more (ulimit -v, ulimit -u)", 2)
    except MemoryError:
        _stop("there is not enough memory; try a smaller --width or --memory", 2)
    except OSError as error:  # standard output on a full disk, a drive that was removed
        _drop_output()
        where = "" if error.filename is None else f"{error.filename}: "
        _stop(f"{where}{error.strerror or error}; fix that and try again", 2)


def _invoke(arguments: list[str]) -> None:
    """Run a sub-command; whatever is raised because of Ctrl-C is raised as Ctrl-C."""
    try:
        # Not cli.main(), which has its own exit codes.
        with cli.make_context("tamis", arguments) as ctx:
            cli.invoke(ctx)
    except Exception as error:
        # An interrupt inside a lock or file of the standard library can leave it half-way; what
        # then fails in a `finally` hides the interrupt.
        for behind in _chain(error):
            if isinstance(behind, KeyboardInterrupt):
                raise KeyboardInterrupt(*behind.args) from None
        raise


def _chain(error: BaseException | None) -> list[BaseException]:
    """Return an error and what it was raised from, each once: chains can be circular."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def _prepare() -> None:
    """Set up input and output, warnings, Ctrl-C, SIGTERM and imports of this process."""
    _open_closed()
    handle_termination()
    if isinstance(sys.stdout, io.TextIOWrapper):  # for unusual characters in names
        sys.stdout.reconfigure(errors="backslashreplace")
    warnings.showwarning = _warn
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _repeat_interrupt
    if "pandas" not in sys.modules and not any(isinstance(f, _NoPandas) for f in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())


def _open_closed() -> None:
    """Connect standard streams that were closed, as by ``<&-``, to nothing.

    Python has None for them; and the next file that is opened would take the number of one.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _repeat_interrupt(lost: Any) -> None:
    """Repeat a Ctrl-C that came during a callback of the interpreter, which would swallow it."""
    starting = isinstance(getattr(lost.object, "__self__", None), threading.Thread)
    # Since Python 3.13 only the message says what was started.
    starting = starting or "Thread._bootstrap of" in (lost.err_msg or "")
    if starting and any(isinstance(e, RuntimeError) for e in _chain(lost.exc_value)):
        return  # Ctrl-C released a lock of the thread that was being started
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    while True:
        try:
            again = threading.Timer(0.01, repeat)
            again.daemon = True
            again.start()
            break
        except KeyboardInterrupt:  # before the end of this function, which is a callback too
            continue


def _drop_output() -> None:
    """Discard what standard output has not written yet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _NoPandas:
    """Keep pyarrow from importing pandas.

    It does so at the first array, in case that is a Series. Commands never use one, and the
    import takes a third of a second.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Block the import of pandas by tamis and pyarrow; other packages may import it."""
        if name != "pandas":
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and "importlib" in frame.f_globals["__name__"]:
            frame = frame.f_back
        importer = "" if frame is None else frame.f_globals["__name__"].partition(".")[0]
        if importer in ("tamis", "pyarrow"):
            raise ModuleNotFoundError("tamis does not need pandas here", name=name)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning on one line, without its source location."""
    echo(f"tamis: {message}", err=True)


def _stop(sentence: str, code: int) -> NoReturn:
    """Print one sentence on one line, and exit."""
    echo(f"tamis: {sentence}", err=True)
    sys.exit(code)
