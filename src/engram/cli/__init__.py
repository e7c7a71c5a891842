"""The command line: parse, call, print. Everything heavy is imported inside the commands."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer

from engram.cli import data, looking, training
from engram.cli.once import Once
from engram.errors import EngramError, Stopped

_STYLE: dict[str, Any] = {"no_args_is_help": True, "add_completion": False, "rich_markup_mode": None}

app = typer.Typer(
    help="Train classifiers on data that arrives over time, and measure fairly what they forget.",
    pretty_exceptions_enable=False,
    **_STYLE,
)
_COMMANDS: tuple[Callable[..., None], ...] = (
    training.run,
    training.demo,
    training.paper,
    looking.runs,
    looking.show,
    training.resume,
    looking.clean,
    looking.check,
)
app.command("list", cls=Once)(looking.list_)
for _command in _COMMANDS:
    app.command(cls=Once)(_command)
datasets = typer.Typer(help="Datasets: list them, fetch them, verify their digests.", **_STYLE)
datasets.command("list", cls=Once)(data.list_)
datasets.command(cls=Once)(data.fetch)
datasets.command(cls=Once)(data.verify)
app.add_typer(datasets, name="data")


def main() -> None:
    """Run the command line: one line and exit code 2 for a user's mistake, 130 when interrupted."""
    warnings.showwarning = lambda message, *_, **__: print(f"engram: {message}", file=sys.stderr)
    try:
        code = app(prog_name="engram", standalone_mode=False)
    except EngramError as error:
        print(f"engram: {error}", file=sys.stderr)
        code = error.exit_code
    except (Stopped, KeyboardInterrupt):
        print("engram: stopped; everything so far is saved, 'engram resume' goes on", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        code = 141
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's own errors have it; anything else is a bug of ours
            raise
        code = _explain(error)
    sys.exit(code)


def _explain(error: Any) -> int:
    """What typer has to say about a command line, in our words and with the way out."""
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message)
        return 0
    message = message.rstrip(".").replace(" (Possible options: ", "; did you mean ").rstrip(")")
    message = message[0].lower() + message[1:].replace(". Did you mean", "; did you mean")
    if "did you mean" in message:
        message = message.rstrip("?") + "?"
    else:
        context = getattr(error, "ctx", None)
        message += f"; see '{context.command_path if context else 'engram'} --help'"
    print(f"engram: {message}", file=sys.stderr)
    return 2
