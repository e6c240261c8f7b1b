"""The compiled rules against the plain ones, clause by clause, and against impossible parameters."""

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toepen_spiel  # noqa: F401
from cardtable import deck
from tests.toepen_spiel import oracle
from toepen_spiel import state as slots

WORDS = ("check", "bet", "call", "fold")


def load(suits: int, ranks: int, hand_size: int, betting: bool = True, follow_suit: bool = True) -> pyspiel.Game:
    return pyspiel.load_game(
        f"python_toepen(suits={suits},ranks={ranks},hand_size={hand_size},betting={betting},follow_suit={follow_suit})"
    )


@st.composite
def variants(draw: st.DrawFn) -> tuple[int, int, int, bool, bool]:
    suits = draw(st.integers(1, 4))
    ranks = draw(st.integers(2 if suits == 1 else 1, 8))
    hand_size = draw(st.integers(1, suits * ranks // 2))
    return suits, ranks, hand_size, draw(st.booleans()), draw(st.booleans())


def deal(game: pyspiel.Game, hands: tuple[set[int], set[int]]) -> pyspiel.State:
    """The state after a given deal of card ids."""
    state = game.new_initial_state()
    while state.is_chance_node():
        card = int(state.array[deck.NEXT_CARD])
        state.apply_action(0 if card in hands[0] else 1 if card in hands[1] else 2)
    return state


@settings(max_examples=1500)
@given(variants(), st.integers(0, 2**32 - 1))
def test_random_games_follow_the_plain_rules(variant: tuple, seed: int) -> None:
    suits, ranks, hand_size, betting, follow_suit = variant
    game = load(*variant)
    rng = np.random.default_rng(seed)
    cards = rng.permutation(suits * ranks).tolist()
    ids = set(cards[:hand_size]), set(cards[hand_size : 2 * hand_size])
    first, second = (frozenset(divmod(card, ranks) for card in hand) for hand in ids)
    hands = first, second
    state = deal(game, ids)
    events: tuple = ()
    while True:
        here = oracle.look(hands, events, betting, follow_suit)
        if isinstance(here, oracle.End):
            assert state.is_terminal()
            assert state.returns() == [here.payoff_of_first_player, -here.payoff_of_first_player]
            return
        assert state.current_player() == here.player
        options = {
            suits * ranks + WORDS.index(option) if isinstance(option, str) else option[0] * ranks + option[1]: option
            for option in here.options
        }
        assert state.legal_actions() == sorted(options)
        held = {card for card in range(suits * ranks) if state.array[slots.HAND + here.player] >> card & 1}
        assert {card for card in options if card < suits * ranks} <= held
        action = int(rng.choice(sorted(options)))
        events = (*events, options[action])
        state.apply_action(action)


@given(variants(), st.integers(0, 2**32 - 1))
def test_cards_are_conserved(variant: tuple, seed: int) -> None:
    """Hands, played cards and undealt cards are the whole deck, each card once, at every moment."""
    suits, ranks, hand_size = variant[:3]
    game = load(*variant)
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
        if state.is_chance_node():
            continue
        array = state.array
        played = [slots.history_entry(array, index)[0] for index in range(array[slots.CARDS_PLAYED])]
        places = [int(array[slots.HAND]), int(array[slots.HAND + 1]), int(array[deck.DEALT + 2])]
        in_places = [card for place in places for card in range(suits * ranks) if place >> card & 1]
        assert sorted(played + in_places) == list(range(suits * ranks))
        assert places[2].bit_count() == suits * ranks - 2 * hand_size


def play(state: pyspiel.State, *names: str) -> pyspiel.State:
    for name in names:
        state.apply_action(state.string_to_action(name))
    return state


def test_names() -> None:
    state = deal(load(4, 8, 4), ({0, 7, 16, 31}, {1, 2, 3, 4}))
    assert state.information_state_string() == "P0 J♣ 10♣ J♥ 10♠"
    play(state, "check", "10♠")
    assert state.information_state_string() == "P1 Q♣ K♣ A♣ 7♣ | P0 check 10♠"
    small = deal(load(2, 3, 2), ({0, 1}, {3, 4}))
    assert small.information_state_string() == "P0 8♣ 9♣", "a smaller deck keeps the highest ranks"


def test_example_of_the_thesis_pays_three_after_two_calls() -> None:
    """The ante starts at 1 and rises with each call, as in the thesis's Example 3.1.1."""
    state = deal(load(2, 2, 2), ({1, 2}, {0, 3}))
    play(state, "bet", "call", "10♣", "bet", "call", "9♣", "check", "9♦", "10♦")
    assert state.is_terminal()
    assert state.returns() == [-3, 3]


def test_fold_pays_the_ante_before_the_bet() -> None:
    state = deal(load(2, 2, 2), ({1, 2}, {0, 3}))
    assert play(state.clone(), "bet", "fold").returns() == [1, -1]
    assert play(state.clone(), "bet", "call", "10♣", "bet", "fold").returns() == [-2, 2]


def test_last_bettor_may_not_bet_until_the_opponent_does() -> None:
    state = deal(load(2, 2, 2), ({1, 2}, {0, 3}))
    play(state, "bet", "call", "10♣", "check", "9♣")
    assert [state.action_to_string(a) for a in state.legal_actions()] == ["9♦"], "player 0 bet last: no question"


def test_highest_ante() -> None:
    game = load(1, 4, 2)
    state = deal(game, ({3, 2}, {0, 1}))
    play(state, "bet", "call", "10♣", "bet", "call", "7♣", "bet", "call", "9♣", "bet", "call", "8♣")
    assert state.returns() == [5, -5]
    assert (game.max_utility(), game.min_utility()) == (5, -5)
    assert len([move for move in state.full_history() if move.player >= 0]) == game.max_game_length()


def test_no_duty_to_follow_in_the_rules_of_the_thesis_program() -> None:
    hands = ({1, 2}, {0, 3})
    for follow_suit, cards in ((True, ["9♣"]), (False, ["9♣", "10♦"])):
        state = play(deal(load(2, 2, 2, follow_suit=follow_suit), hands), "check", "10♣", "check")
        assert [state.action_to_string(a) for a in state.legal_actions()] == cards


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("suits=5", "suits is 5; allowed: 1 to 4"),
        ("suits=0", "suits is 0; allowed: 1 to 4"),
        ("suits=-1", "suits is -1; allowed: 1 to 4"),
        ("ranks=9", "ranks is 9; allowed: 1 to 8"),
        ("ranks=0", "ranks is 0; allowed: 1 to 8"),
        ("suits=1,ranks=1,hand_size=1", r"suits \* ranks is 1; allowed: 2 or more, as two players need a card each"),
        ("hand_size=0", "hand_size is 0; allowed: 1 to 16"),
        ("hand_size=-2", "hand_size is -2; allowed: 1 to 16"),
        ("suits=2,ranks=3,hand_size=4", "hand_size is 4; allowed: 1 to 3, half of the 6 cards"),
    ],
)
def test_impossible_parameters(parameters: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(f"python_toepen({parameters})")


@pytest.mark.parametrize("parameters", ["colours=4", "suits=many", "betting=1"])
def test_unknown_names_and_wrong_types_keep_openspiels_error(parameters: str) -> None:
    with pytest.raises(pyspiel.SpielError):
        pyspiel.load_game(f"python_toepen({parameters})")
