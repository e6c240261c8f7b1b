"""The suites of `experiments.benchmark`; each module has `run(out, quick)`."""
