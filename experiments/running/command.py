"""What every command has around it: one line for a mistake of the user, exit codes, Ctrl-C.

    @command
    def main() -> None: ...

    if __name__ == "__main__":
        start(main)

What a user can get wrong ends in one line on stderr and exit code 1: `UserError`, whatever the operating system
refuses (a path that is a file, a full disk), and memory that is not there. A traceback is a fault of the program.
Ctrl-C exits with 130, SIGTERM with 143.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from absl import app, flags, logging

from cardtable.parameters import UserError
from experiments.running.interruptions import InterruptedRunError, stopping_anywhere

Main = Callable[[Sequence[str]], None]


def command(run: Callable[[], None]) -> Main:
    """The main function of a command, whose flags are parsed: takes what the command line has left."""

    @functools.wraps(run)
    def main(argv: Sequence[str]) -> None:
        if len(argv) > 1:
            _leave(argv, f"unexpected arguments {' '.join(argv[1:])}; see --help (values with spaces need quotes)")
        if not flags.FLAGS["verbosity"].present:
            logging.set_verbosity(logging.WARNING)  # OpenSpiel tells which game an environment has, and the like
        try:
            with stopping_anywhere():
                run()
        except InterruptedRunError as error:
            print(f"{_name(argv)}: {error.words or f'interrupted; {_how_to_go_on()}'}", file=sys.stderr)
            sys.exit(error.exit_code)
        except UserError as error:
            _leave(argv, str(error))
        except OSError as error:
            _leave(argv, os_complaint(error))
        except MemoryError as error:
            _leave(argv, str(error) or "out of memory")

    return main


def start(main: Main) -> NoReturn:
    """Parses the flags and runs the command, as `python -m` does."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows another
    app.run(main, flags_parser=_parse_flags)


def os_complaint(error: OSError) -> str:
    """What the operating system refused, without its number: `runs/x: No space left on device`."""
    what = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {what}" if error.filename else what


def _parse_flags(argv: Sequence[str]) -> list[str]:
    try:
        for argument in argv:
            argument.encode()
        return flags.FLAGS(argv)
    except UnicodeEncodeError:
        _leave(argv, f"{os.fsencode(argument)!r} is not text in UTF-8")
    except flags.Error as error:
        _leave(argv, f"{' '.join(str(error).split())}; see --help")


def _how_to_go_on() -> str:
    if "resume" in flags.FLAGS:
        return "--resume goes on with what is in --out"
    return "what is finished is in --out" if "out" in flags.FLAGS else "nothing was to be kept"


def _name(argv: Sequence[str]) -> str:
    return f"experiments.{Path(argv[0]).stem}"


def _leave(argv: Sequence[str], complaint: str) -> NoReturn:
    sys.exit(f"{_name(argv)}: {' '.join(complaint.split())}")
