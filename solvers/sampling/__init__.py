"""The machinery of Monte Carlo CFR: on the rules with a table of exact keys, and on the tree."""
