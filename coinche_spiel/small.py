"""Coinche in small: variants that the tabular solvers can hold whole. RULES.md lists their sizes.

M0 to M3 are games of four, where no solver promises an equilibrium. D0 and D1 are duels: zero-sum, for two players, so
CFR finds one. All but M0 keep jack, ten and ace, of which the jack is the weakest, or as a trump the strongest.
"""

_M0 = "suits=2,ranks=JA,hand_size=1,min_bid=30,max_bid=30,fall_points=50,capot_value=0"
_M = "suits=2,ranks=9JTA,hand_size=2,min_bid=50,fall_points=80,capot_value=0"
_D0 = "players=2,suits=2,ranks=JTA,hand_size=2,min_bid=40,max_bid=40,fall_points=70,capot_value=0"
_D1 = "players=2,suits=2,ranks=9JTA,hand_size=3,min_bid=50,max_bid=50,fall_points=80,capot_value=0"

SMALL_VARIANTS = {
    "M0": f"python_coinche({_M0})",
    "M1": f"python_coinche({_M},max_bid=50,coinche=False)",
    "M2": f"python_coinche({_M},max_bid=50)",
    "M3": f"python_coinche({_M},max_bid=60,coinche=False)",
    "D0": f"python_coinche({_D0})",
    "D1": f"python_coinche({_D1})",
}
