"""Write a player and put it into a match: a compiled function that looks at a position and chooses an action.

python examples/write_a_player.py

As an OpenSpiel bot it sits down in every command, as `module:function`:
python -m experiments.arena --game=python_gongzhu --north_south=examples.write_a_player:Bot --east_west=if --deals=200
"""

import numpy as np
import pyspiel

import cardspiel  # noqa: F401 registers the games
from cardtable.compiled import compiled
from cardtable.match import play_match
from cardtable.player import find_player, players_of, register_compiled
from gongzhu_spiel.rules import legal_actions

MOST_CARDS = 13


@compiled
def highest_card(state, generator):
    """Always the legal card with the highest number; `generator` is there for players that draw."""
    cards = np.empty(MOST_CARDS, np.int64)
    return cards[legal_actions(state, cards) - 1]


class Bot(pyspiel.Bot):
    """The same as an OpenSpiel bot, for those who would rather not compile."""

    def __init__(self, game: pyspiel.Game, player_id: int) -> None:
        super().__init__()

    def step(self, state: pyspiel.State) -> int:
        return state.legal_actions()[-1]


if __name__ == "__main__":
    register_compiled("python_gongzhu", "highest", highest_card)
    game = pyspiel.load_game("python_gongzhu")
    print("players:", ", ".join(players_of(game)))
    highest = find_player("highest", game)
    for opponent in ("random", "team", "monte_carlo(worlds=5,rollout=team)"):
        match = play_match(game, highest, find_player(opponent, game), deals=200)
        print(f"highest against {opponent}: {match.score} points a deal, 200 deals, each played twice")
