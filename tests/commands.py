"""Runs our commands as a user would, each in a process of its own, without paying for the same imports every time.

Importing OpenSpiel, numba, torch, matplotlib and our own packages takes a command two to seven seconds, and the tests
run some hundred of them. So a test run keeps one process that has imported them, played nothing and started no thread;
it forks for every command, and the fork runs the module as `python -m` would. All workers ask the same one. What
start-up itself does is tested elsewhere, in truly fresh processes (`tests/test_start_up.py`, `tests/test_layers.py`).
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (
    "open_spiel.python.games",
    "torch._inductor.config",
    "matplotlib.pyplot",
    "tensorboard.summary",
    "rich.progress",
)
# Not the front doors of experiments: each defines flags, and two of them do not fit into one process.
PACKAGES = ("cardspiel", "cardtable", "solvers", *(f"experiments.{part}" for part in ("running", "toepen", "kuhn")))

PEERS = ("gymnasium", "pettingzoo", "sb3_contrib", "stable_baselines3")  # what `make test` does not install


ADDRESS = "CARDSPIEL_TEST_COMMANDS"  # in the environment: the socket of the process that workers share


def run(program: str, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """`python -m module arguments`, or `python path.py arguments`, in a folder: exit code, output, errors."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as asked:
        out, err = Path(folder) / "out", Path(folder) / "err"
        request: dict[str, Any] = {"argv": [program, *arguments], "cwd": str(cwd), "out": str(out), "err": str(err)}
        asked.connect(os.environ.get(ADDRESS) or start())
        with asked.makefile("rw") as file:
            file.write(json.dumps(request) + "\n")
            file.flush()
            code = int(file.readline())
        return subprocess.CompletedProcess(request["argv"], code, out.read_text(), err.read_text())


@functools.cache
def start() -> str:
    """Starts the process, tells all that are started from now on, and returns where it listens.

    It ends by itself when this process ends and its input is closed.
    """
    path = Path(tempfile.mkdtemp()) / "socket"
    server = subprocess.Popen([sys.executable, "-m", "tests.commands", str(path)], cwd=ROOT, stdin=subprocess.PIPE)
    atexit.register(server.communicate)
    while not path.exists():  # requests wait in line while it is still importing
        assert server.poll() is None, "the process that runs commands has ended"
        time.sleep(0.01)
    os.environ[ADDRESS] = str(path)
    return str(path)


def import_everything() -> None:
    """What commands import, the commands themselves excepted."""
    for name in (*LIBRARIES, *PACKAGES):
        package = importlib.import_module(name)
        if name in PACKAGES:
            for module in pkgutil.walk_packages(package.__path__, f"{name}."):
                try:
                    importlib.import_module(module.name)
                except ModuleNotFoundError as error:
                    if error.name not in PEERS:
                        raise
    start_libraries()
    gc.freeze()  # forks neither look through nor copy what they share


def start_libraries() -> None:
    """matplotlib's and numba's own start: a second that every command with a picture or compiled code would spend."""
    from matplotlib import pyplot
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    figure, axis = pyplot.subplots()
    axis.loglog([1, 10], [1, 10], label="$10^1$")
    axis.legend()
    figure.tight_layout()
    figure.savefig(io.BytesIO(), format="png")
    pyplot.close(figure)


def main(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        import_everything()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who answer
        while sys.stdin not in (ready := select.select([listener, sys.stdin], [], [])[0]):
            assert ready == [listener]
            with listener.accept()[0] as asked:
                if os.fork() == 0:
                    answer(asked)
    os.unlink(path)
    os.rmdir(os.path.dirname(path))


def answer(asked: socket.socket) -> NoReturn:
    """Runs the command that somebody asks for in a fork of its own, and tells its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with asked.makefile("rw") as file:
        request = json.loads(file.readline())
        child = os.fork()
        if child == 0:
            end(exit_code(request))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=file, flush=True)
    os._exit(0)


def exit_code(request: dict[str, Any]) -> int:
    """Of the command that was asked for; what it had to say of its end is said, as Python itself would."""
    try:
        become(request)
    except SystemExit as stopped:
        if stopped.code is None or isinstance(stopped.code, int):
            return stopped.code or 0
        print(stopped.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def end(code: int) -> NoReturn:
    """As Python ends, but nothing that was imported is taken apart, which would take longer than most commands do."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def become(request: dict[str, Any]) -> None:
    """Makes this process the command that was asked for."""
    for number, path, mode in ((0, os.devnull, os.O_RDONLY), (1, request["out"], os.O_WRONLY | os.O_CREAT)):
        os.dup2(os.open(path, mode), number)
    os.dup2(os.open(request["err"], os.O_WRONLY | os.O_CREAT), 2)
    os.chdir(request["cwd"])
    sys.argv = request["argv"]
    if sys.argv[0].endswith(".py"):
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        runpy._run_module_as_main(sys.argv[0])  # type: ignore[attr-defined]  # what `python -m` itself calls


if __name__ == "__main__":
    main(sys.argv[1])
