"""The machinery of `solvers.toepen_cfr`: all ways a hand of Toepen can be played."""
