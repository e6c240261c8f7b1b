"""OpenSpiel's algorithms on our games, as `docs/clients.md` says: what runs, and what OpenSpiel itself breaks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspiel
import pytest

import cardspiel
from tests.clients.clients import CLIENTS

ROOT = Path(__file__).resolve().parents[2]
TINY = "python_toepen(suits=2,ranks=2,hand_size=1)"
# OpenSpiel's Python takes minutes for the tree of four-player Kuhn; these have a few hundred nodes.
SMALL = (
    "python_toepen(suits=1,ranks=2,hand_size=1)",
    "python_card_isomorphism(game=python_toepen(suits=2,ranks=2,hand_size=1))",
    "python_bucketing(game=python_toepen(suits=2,ranks=2,hand_size=1))",
)
NEEDS = {"sequence-form LP": "ecos", "DQN": "tree", "NFSP": "tree", "policy gradient": "torch"}
HOURS_IN_PYTHON = ("magnetic mirror descent", "fictitious play", "sequence-form LP")  # of more than tiny games


@pytest.mark.parametrize(
    "client", [pytest.param(name, marks=pytest.mark.slow if c.slow else ()) for name, c in CLIENTS.items()]
)
def test_on_a_tiny_game(client: str) -> None:
    if client in NEEDS:
        pytest.importorskip(NEEDS[client])
    CLIENTS[client].run(pyspiel.load_game(TINY))


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    "client", [name for name, client in CLIENTS.items() if client.whole_tree and name not in HOURS_IN_PYTHON]
)
def test_on_small_games(client: str, name: str) -> None:
    game = pyspiel.load_game(name)
    if not CLIENTS[client].fits(game):
        pytest.skip(f"{client} is not for games like {name}: docs/clients.md says which it takes")
    CLIENTS[client].run(game)


@pytest.mark.slow
@pytest.mark.parametrize("name", cardspiel.GAMES)
@pytest.mark.parametrize("client", [name for name, client in CLIENTS.items() if not client.whole_tree])
def test_on_every_game(client: str, name: str) -> None:
    game = pyspiel.load_game(name)
    if not CLIENTS[client].fits(game):
        pytest.skip(f"{client} is not for games like {name}: docs/clients.md says which it takes")
    CLIENTS[client].run(game)


CRASHES = """
import sys, pyspiel, cardspiel
game = pyspiel.load_game(sys.argv[2])
evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
if sys.argv[1] == "ISMCTS":
    final = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
    bot = pyspiel.ISMCTSBot(1, evaluator, 5.0, 20, 1, final, False, False)
else:
    bot = pyspiel.MCTSBot(game, evaluator, 2.0, 5, 10, False, 1, False)
state = game.new_initial_state()
while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
bot.step(state)
"""


@pytest.mark.slow
@pytest.mark.parametrize("search", ["ISMCTS", "MCTS"])
def test_what_openspiel_breaks(search: str) -> None:
    """Its C++ searches die on games in Python, its own included; when they no longer do, the documentation is old."""
    for name, dies in (("kuhn_poker", False), (TINY, True), ("python_kuhn_poker", True)):
        code = CRASHES if name != "python_kuhn_poker" else f"from open_spiel.python.games import kuhn_poker\n{CRASHES}"
        done = subprocess.run([sys.executable, "-c", code, search, name], cwd=ROOT, capture_output=True)
        assert (done.returncode < 0) == dies, (name, done.returncode, done.stderr[-300:])
