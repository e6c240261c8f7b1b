"""Command-line experiments: `python -m experiments.<name> --help`."""

from experiments.running.extras import explain_missing_extras

explain_missing_extras()
