"""What runners share: the run directory, checkpoints, tables, plots and processes."""
