"""Small pyspiel games that the solvers' tests need and OpenSpiel has not got."""

from __future__ import annotations

from collections.abc import Callable

import pyspiel

Load = Callable[[str], pyspiel.Game]  # what the fixture `load` is
UTILITY = pyspiel.GameType.Utility


class ForgetfulGame(pyspiel.Game):
    """One player flips two switches in turn and is paid for turning both the same way, but forgets the first."""

    def __init__(self) -> None:
        super().__init__(
            pyspiel.GameType(
                short_name="python_forgetful",
                long_name="A player who forgets",
                dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
                chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
                information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
                utility=UTILITY.GENERAL_SUM,
                reward_model=pyspiel.GameType.RewardModel.TERMINAL,
                max_num_players=2,
                min_num_players=2,
                provides_information_state_string=True,
                provides_information_state_tensor=False,
                provides_observation_string=False,
                provides_observation_tensor=False,
                parameter_specification={},
            ),
            pyspiel.GameInfo(
                num_distinct_actions=2,
                max_chance_outcomes=0,
                num_players=2,
                min_utility=0.0,
                max_utility=2.0,
                utility_sum=None,
                max_game_length=3,
            ),
            {},
        )

    def new_initial_state(self) -> ForgetfulState:
        return ForgetfulState(self)


class ForgetfulState(pyspiel.State):
    """Player 0 moves twice without remembering, then player 1 guesses the second switch."""

    def __init__(self, game: ForgetfulGame) -> None:
        super().__init__(game)
        self.moves: list[int] = []

    def current_player(self) -> int:
        return (0, 0, 1, pyspiel.PlayerId.TERMINAL)[len(self.moves)]

    def is_terminal(self) -> bool:
        return len(self.moves) == 3

    def _legal_actions(self, player: int) -> list[int]:
        return [0, 1]

    def _apply_action(self, action: int) -> None:
        self.moves.append(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return str(action)

    def returns(self) -> list[float]:
        if not self.is_terminal():
            return [0.0, 0.0]
        return [1.0 + self.moves[1] if self.moves[0] == self.moves[1] else 0.0, float(self.moves[2] == self.moves[1])]

    def information_state_string(self, player: int | None = None) -> str:
        return f"player {self.current_player() if player is None else player}, forgetful"

    def __str__(self) -> str:
        return str(self.moves)
