"""What to install when a command needs more than the games and the tabular solvers do.

matplotlib, tensorboard and torch are extras of the project (`pyproject.toml`). A command that imports one which is not
there ends in one sentence instead of a traceback. Whoever imports with `try` is not disturbed.
"""

from __future__ import annotations

import sys
from types import TracebackType

EXTRA_OF = {
    "gymnasium": "rl",
    "matplotlib": "experiments",
    "sb3_contrib": "rl",
    "stable_baselines3": "rl",
    "tensorboard": "experiments",
    "torch": "deep",
}


def what_to_install(error: BaseException) -> str | None:
    """The sentence for an import that failed for want of an extra; None if that is not what happened."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    package = error.name.partition(".")[0]
    if package not in EXTRA_OF:
        return None
    return f"this command needs {package}, which is not installed: pip install 'cardspiel[{EXTRA_OF[package]}]'"


def explain_missing_extras() -> None:
    """From now on an import that fails for want of an extra, and that nobody catches, is explained in one sentence."""
    usual = sys.excepthook

    def explain(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        sentence = what_to_install(error)
        if sentence is None:
            usual(kind, error, traceback)
        else:
            print(sentence, file=sys.stderr)

    sys.excepthook = explain
