"""The games that every shared test runs: each registered game, and variants that reach its special rules."""

# Trees small enough to walk in Python.
SMALL = (
    "python_toepen(suits=2,ranks=2,hand_size=2)",
    "python_toepen(suits=2,ranks=2,hand_size=2,follow_suit=False)",
    "python_toepen(suits=2,ranks=3,hand_size=2,betting=False)",
    "python_toepen(suits=3,ranks=2,hand_size=2,betting=False,follow_suit=False)",
    "python_toepen(suits=1,ranks=2,hand_size=1)",
)
LARGE = (
    "python_toepen",
    "python_toepen(suits=3,ranks=3,hand_size=3)",
    "python_toepen(suits=4,ranks=8,hand_size=16)",
    "python_toepen(betting=False)",
    "python_kuhn_collab",
    "python_kuhn_collab(fold_topup=False)",
    "python_tied_rewards(game=python_kuhn_collab())",
)
ALL = SMALL + LARGE
