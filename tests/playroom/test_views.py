"""What leaves the table is what the seat knows: hidden cards dealt again change nothing in it, byte for byte."""

import json
import random

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.parameters import UserError
from playroom.views import open_view, require_playable, view
from tests.variants import COINCHE_D0, COINCHE_M0

CEGO = [f"python_cego(subgame={name})" for name in ("standard", "solo", "ultimo", "bettel", "piccolo", "raeuber")]
MATCH = COINCHE_M0.replace("python_coinche(", "python_coinche_match(").replace(")", ",target=80,max_deals=3)")
QUICK = ["python_toepen", "python_kuhn_collab", "python_coinche", MATCH, *CEGO, "python_gongzhu"]
SLOWER = [
    COINCHE_D0,
    "python_tied_rewards(game=python_kuhn_collab())",
    "python_partner_oracle(game=python_kuhn_collab())",
    "python_partner_oracle(game=python_kuhn_collab(),accuracy=0.8)",
    "python_card_isomorphism(game=python_toepen())",
    "python_bucketing(game=python_card_isomorphism(game=python_toepen()),hand=bucket,history=ante)",
]
FOREIGN = ["leduc_poker", "kuhn_poker"]  # those that can deal again what a player does not see
GAMES = [*QUICK, *SLOWER]
SLOW_POSITIONS = 1000


def positions(game: pyspiel.Game, seed: int, number: int) -> list[pyspiel.State]:
    """Positions in which somebody is to move, from random games; in an auction half of the calls are passes, so that
    all of the play is reached."""
    rng = random.Random(seed)
    found: list[pyspiel.State] = []
    while len(found) < number:
        state = game.new_initial_state()
        path = []
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, weights)[0])
                continue
            path.append(state.clone())
            legal = state.legal_actions()
            state.apply_action(legal[0] if 32 in legal and rng.random() < 0.5 else rng.choice(legal))
        found += rng.sample(path, min(len(path), 4))
    return found[:number]


def check_no_interference(name: str, number: int) -> None:
    game = pyspiel.load_game(name)
    rng = random.Random(2)
    changed = 0
    for state in positions(game, 1, number):
        for seat in range(game.num_players()):
            other = state.resample_from_infostate(seat, rng.random)
            changed += str(other) != str(state)
            assert json.dumps(view(other, seat)) == json.dumps(view(state, seat))
    assert changed > number // 4, "hardly anything was dealt differently: nothing was tested"


@pytest.mark.parametrize("name", [*QUICK, "leduc_poker"])
def test_a_view_tells_nothing_that_the_seat_does_not_know(name: str) -> None:
    check_no_interference(name, 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*GAMES, *FOREIGN])
def test_a_view_tells_nothing_that_the_seat_does_not_know_at_length(name: str) -> None:
    check_no_interference(name, SLOW_POSITIONS)


def played_out(name: str, seed: int) -> pyspiel.State:
    rng = np.random.default_rng(seed)
    state = pyspiel.load_game(name).new_initial_state()
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
    return state


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOWER)])
def test_views_are_json_at_every_step(name: str) -> None:
    state = pyspiel.load_game(name).new_initial_state()
    rng = random.Random(5)
    while True:
        for seat in range(state.num_players()):
            shown = view(state, seat)
            assert json.loads(json.dumps(shown)) == shown
            legal = state.legal_actions() if state.current_player() == seat else []
            assert [action for action, _ in shown["actions"]] == legal
            assert shown["turn"] == (state.current_player() if state.current_player() >= 0 else None)
        json.dumps(open_view(state, 0))
        if state.is_terminal():
            break
        state.apply_action(rng.choice(state.legal_actions()))


@pytest.mark.parametrize(
    "name", ["python_toepen(betting=False)", "python_coinche", "python_cego(subgame=raeuber)", "python_gongzhu"]
)
def test_tricks_on_the_table_are_those_that_were_played(name: str) -> None:
    """The history of pyspiel says who played what; whoever plays after a full trick has won it."""
    state = pyspiel.load_game(name).new_initial_state()
    players, rng = state.num_players(), random.Random(7)
    names: list[list] = []
    contract = name != "python_coinche"
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
            continue
        seat, legal = state.current_player(), state.legal_actions()
        if contract and names and len(names) % players == 0 and (legal[0] < 32 or name != "python_coinche"):
            for looking in range(players):
                shown = view(state, looking)
                assert shown["trick"] == []
                assert shown["last_trick"] == {"cards": names[-players:], "winner": seat}
        elif names:
            assert view(state, 0)["trick"] == names[len(names) // players * players :]
        if name == "python_coinche" and legal[-1] >= 32:
            action = 32 if contract else legal[-1] if 33 not in legal else 33
            contract = True
        else:
            action = rng.choice(legal)
            names.append([seat, state.action_to_string(seat, action)])
        state.apply_action(action)
    final = view(state, 0)
    assert final["phase"] == "over"
    assert final["last_trick"]["cards"] == names[-players:]


@pytest.mark.parametrize("seed", range(3))
def test_points_on_the_table_are_those_that_are_paid(seed: int) -> None:
    gongzhu = played_out("python_gongzhu", seed)
    teams = [team["figures"]["points"] for team in view(gongzhu, 0)["teams"]]
    assert teams[0] - teams[1] == gongzhu.returns()[0]
    raeuber = played_out("python_cego(subgame=raeuber)", seed)
    points = [of_seat["figures"]["points"] for of_seat in view(raeuber, 0)["seats"]]
    assert points.index(max(points)) == raeuber.returns().index(0.0)
    standard = played_out("python_cego", seed)
    shown = view(standard, 0)
    legage = dict(map(tuple, shown["facts"]))["legage_points"]
    assert shown["seats"][0]["figures"]["points"] + legage == standard.returns()[0]
    kuhn = played_out("python_kuhn_collab(fold_topup=False)", seed)
    paid = [of_seat["figures"]["paid"] for of_seat in view(kuhn, 0)["seats"]]
    assert [-paid[seat] for seat in range(4) if kuhn.returns()[seat] < 0] == [r for r in kuhn.returns() if r < 0]


def test_only_the_single_player_sees_the_legage() -> None:
    state = positions(pyspiel.load_game("python_cego"), 3, 1)[0]
    assert len(view(state, 0)["piles"]["legage"]) == 10
    assert [view(state, seat)["piles"]["legage"] for seat in (1, 2, 3)] == [10, 10, 10]


def test_an_open_view_shows_every_hand() -> None:
    state = positions(pyspiel.load_game("python_coinche"), 3, 1)[0]
    shown = open_view(state, 0)
    assert [of_seat["shown"] for of_seat in shown["seats"]] == [view(state, seat)["hand"] for seat in range(4)]


def test_games_that_cannot_be_shown_are_refused() -> None:
    with pytest.raises(UserError, match="goofspiel is not a sequential game; allowed"):
        require_playable(pyspiel.load_game("goofspiel"))
    for name in ("tic_tac_toe", "leduc_poker", "hearts", "python_coinche", "chess"):
        require_playable(pyspiel.load_game(name))
