"""The command line: parse, call, print. Everything heavy is imported inside the commands."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from engram import __version__
from engram.cli import advising, answering, data, exporting, looking, own_data, training
from engram.cli.once import Once
from engram.cli.output import say, warn
from engram.cli.report import report
from engram.cli.run import run
from engram.cli.standard import standard_streams
from engram.errors import EngramError, Stopped

_STYLE: dict[str, Any] = {"no_args_is_help": True, "add_completion": False, "rich_markup_mode": None}

app = typer.Typer(
    help="Train classifiers on data that arrives over time, and measure fairly what they forget.",
    pretty_exceptions_enable=False,
    **_STYLE,
)
_COMMANDS: tuple[Callable[..., None], ...] = (
    looking.list_,
    advising.advise,
    own_data.learn,
    answering.predict,
    answering.examine,
    answering.inspect,
    own_data.undo,
    own_data.forget,
    run,
    training.demo,
    training.paper,
    looking.runs,
    looking.show,
    exporting.export,
    exporting.import_,
    report,
    training.resume,
    looking.clean,
    looking.check,
    data.redundancy,
)
_NAMES = {
    looking.list_: "list",
    answering.examine: "test",
    exporting.import_: "import",
}  # words that mean something else in Python


def _say_version(wanted: bool) -> None:
    if wanted:
        say(f"engram {__version__}")
        raise typer.Exit


for _command in _COMMANDS:
    app.command(_NAMES.get(_command), cls=Once)(_command)
datasets = typer.Typer(help="Datasets: list them, fetch them, verify their digests.", **_STYLE)
datasets.command("list", cls=Once)(data.list_)
datasets.command(cls=Once)(data.fetch)
datasets.command(cls=Once)(data.verify)
app.add_typer(datasets, name="data")


@app.callback()
def engram(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """What can be asked before any command."""


def main() -> None:
    """Run the command line: one line and exit code 2 for a user's mistake, 130 when interrupted."""
    with standard_streams():
        warnings.showwarning = lambda message, *_, **__: warn(str(message))
        code = _code_of(_asked_for)
    sys.exit(code)


def _asked_for() -> int | None:
    try:
        code: int | None = app(prog_name="engram", standalone_mode=False)
        return code
    finally:
        sys.stdout.flush()


def _code_of(call: Callable[[], int | None]) -> int:
    """The exit code of what is called; what it raises on purpose is told in a line."""
    try:
        return call() or 0
    except EngramError as error:
        if str(error):
            warn(str(error))
        return error.exit_code
    except Stopped as stopped:
        warn(f"stopped; everything so far is saved, '{stopped}' goes on")
        return 130
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's own errors have it; anything else is a bug of ours
            raise
        return _explain(error)


def _explain(error: Any) -> int:
    """What typer has to say about a command line, in our words and with the way out."""
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message)  # help, in many lines
        return 0
    message = re.sub(r" \(Possible options: (.*)\)$", r"; did you mean \1", message.rstrip("."))
    message = message[0].lower() + message[1:].replace(". Did you mean", "; did you mean")
    if "did you mean" in message:
        message = message.rstrip("?") + "?"
    else:
        context = getattr(error, "ctx", None)
        message += f"; see '{context.command_path if context else 'engram'} --help'"
    warn(message)
    return 2
