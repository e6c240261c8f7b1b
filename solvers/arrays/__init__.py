"""The machinery of tabular solvers: the tree, the sequence form, and the sweeps over its arrays."""
