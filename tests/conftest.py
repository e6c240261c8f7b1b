import gc
import os
import signal

import pytest
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: threads of four workers would wait for each other

from tests import commands
from tests.warm_up import warm_up_if_cold

# The first example pays for compilation, so no deadline; examples are chosen the same way in every run.
settings.register_profile("cardspiel", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("cardspiel")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's job in the background; tests press Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        commands.start()
        warm_up_if_cold()


def pytest_collection_finish() -> None:
    gc.freeze()  # hundreds of modules stay for good: the collector need not go through them again and again
