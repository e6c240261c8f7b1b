"""Command-line experiments: `python -m experiments.<name> --help`."""

import os

# numpy's matrix products on one thread, unless the user says otherwise: work is shared out by executors, and OpenBLAS's
# threads spin while they wait, which made ScrofaZero's training six times as slow beside other work. Read at import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from experiments.running.extras import explain_missing_extras

explain_missing_extras()
