"""The program: which command, and what its exit code is.

The modules of commands are imported when a command is asked for: what scikit-learn takes to be imported is most of a short one.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from surefoot import __version__
from surefoot.cli.commands import COMMANDS
from surefoot.cli.console import note, warn
from surefoot.cli.exit_codes import BAD_INPUT, BAD_USAGE, INTERRUPTED, NOT_WRITTEN
from surefoot.cli.option_words import in_options
from surefoot.cli.tables.file_lines import counted_rows, in_lines
from surefoot.exceptions import SurefootError

_EXAMPLES = """\
examples:
  surefoot demo
  surefoot fit visits.csv --target bought --output model.surefoot
  surefoot score model.surefoot new_visits.csv --output scores.csv
  surefoot report model.surefoot test.csv --target bought --output report.html
  surefoot verify model.surefoot visits.csv --target bought
  surefoot compare visits.csv new_visits.csv --model model.surefoot

'surefoot COMMAND --help' shows the options of a command. Exit codes: 0 done, 1 the input cannot be used or does
not verify, 2 wrong usage, 3 the output cannot be written, 4 a model was written without proof, 130 interrupted."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words behind ``surefoot``; None: those of the program.

    Returns
    -------
    int
        The exit code.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    args = program_parser(next((word for word in words if word in COMMANDS), None)).parse_args(words)
    try:
        with warnings.catch_warnings(), counted_rows():
            warnings.showwarning = _show_warning
            warnings.simplefilter("default")
            code: int = args.run(args)
            sys.stdout.flush()
            return code
    except KeyboardInterrupt as stop:
        note(f"interrupted{f': {stop}' if str(stop) else ''}")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough of it; the interpreter must not try to flush it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_WRITTEN
    except (SurefootError, ValueError, ImportError) as error:
        note(f"error: {in_options(str(error))}")
        return BAD_INPUT
    except MemoryError:
        note("error: there is not enough memory for this table. Take a sample of its rows, or lower --memory to read batches.")
        return BAD_INPUT
    except OSError as error:
        note(f"error: {error if error.filename is None else f'{error.filename}: {error.strerror}'}")
        if isinstance(error, IsADirectoryError):  # a folder where the words of the command should name a file
            return BAD_USAGE
        return BAD_INPUT if isinstance(error, FileNotFoundError) else NOT_WRITTEN


def program_parser(command: str | None) -> argparse.ArgumentParser:
    """The parser of the program, with the options of one command; of the others it knows the names only."""
    parser = argparse.ArgumentParser(
        prog="surefoot",
        description="Models you can stand behind: exact optimization, robust to shift, with a proof for each fit.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"surefoot {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        if name == command:
            getattr(importlib.import_module(f"surefoot.cli.{module}"), f"add_{name}")(subparsers)
        else:
            subparsers.add_parser(name, help=summary)
    return parser


def _show_warning(message: Any, *place: Any, **more: Any) -> None:
    warn(in_options(in_lines(str(message))))
