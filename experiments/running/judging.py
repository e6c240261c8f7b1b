"""How good a policy is, exactly, in the game that counts.

An abstraction (`python_bucketing`, `python_card_isomorphism(method=thesis)`) is judged in the game it was made from,
with the policy lifted to it. The orbit quotient loses nothing and is judged as it is; so are transforms that make
another game. What players of imperfect recall could gain inside their own game means little and is not computed.
"""

from __future__ import annotations

import pyspiel

from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import Evaluation, Policy, evaluate, evaluate_probabilities
from solvers.lifted import LiftingTable
from solvers.policies import TablePolicy
from transforms.bucketing import BucketingGame
from transforms.card_isomorphism import CardIsomorphismGame


def judged_in(game: pyspiel.Game) -> pyspiel.Game:
    """The game in which policies of `game` are judged."""
    while isinstance(game, BucketingGame) or (
        isinstance(game, CardIsomorphismGame) and game.get_parameters().get("method", "orbit") != "orbit"
    ):
        game = game.base
    return game


class Judge:
    """Evaluates policies of `game` in `form`, which is of the game where they are judged."""

    def __init__(self, game: pyspiel.Game, form: SequenceForm) -> None:
        self.form = form
        self._lifting = None if judged_in(game) is game else LiftingTable(form, game)

    @property
    def lifts(self) -> bool:
        return self._lifting is not None

    def evaluate(self, policy: Policy) -> Evaluation:
        """Values and best-response values; a policy that is lifted has to be a table."""
        if self._lifting is None:
            return evaluate(self.form, policy)
        assert isinstance(policy, TablePolicy)
        return evaluate_probabilities(self.form, self._lifting.lift(self._lifting.of_policy(policy)))
