"""Solve an abstraction and judge it in the real game.

python examples/judge_an_abstraction.py

Players of the abstraction forget all of the history but the stakes. What they learn there is lifted to the game itself,
where a best response that forgets nothing says what it is worth.
"""

import pyspiel

import cardspiel  # noqa: F401 registers games and transforms
from solvers.best_response import nash_conv
from solvers.cfr import CFRSolver
from solvers.tree_cfr import TreeCFRSolver
from transforms.lifting import lift

BASE = "python_toepen(suits=2,ranks=3,hand_size=2)"
base = pyspiel.load_game(BASE)
coarse = pyspiel.load_game(f"python_bucketing(game=python_card_isomorphism(game={BASE}),history=ante)")

exact = CFRSolver(base, variant="cfr_plus")
forgetful = TreeCFRSolver(coarse, variant="cfr_plus")  # for games in which players forget
print("iterations  NashConv, whole game  NashConv, abstraction lifted")
for iterations in (10, 90, 900):
    exact.run(iterations)
    forgetful.run(iterations)
    lifted = lift(forgetful.average_policy(), coarse, base)
    print(f"{exact.iterations:10,}  {nash_conv(base, exact.average_policy()):20.5f}  {nash_conv(base, lifted):28.5f}")
