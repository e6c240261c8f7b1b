"""The rules of Coinche: the auction, the ten rows of the table of legal cards, the score, and all of it in lockstep
with an independent program."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest

from cardtable import deck
from cardtable.randomness import generator
from cardtable.rules import TERMINAL
from coinche_spiel.play import BEATERS, playable, shown_absent
from coinche_spiel.rules import coinche_rules
from tests.coinche_spiel.helpers import cards, dealt, legal, load, move
from tests.coinche_spiel.oracle import RANKS, SUITS, Card, OracleDeal

# With hands of two or three cards the rest of the deck stays undealt.
CONTRACT = ("80♠", "pass", "pass", "pass")


def position(hands: Sequence[str], played: str, size: int = 2, **parameters: Any) -> pyspiel.State:
    """Spades are trumps, North leads."""
    return move(dealt(load(hand_size=size, **parameters), hands), *CONTRACT, *played.split())


# The ten rows of the table, with real cards.


def test_row_1_the_leader_plays_any_card() -> None:
    state = position(["AH 7S", "KH QH", "7H 8H", "9H JH"], "")
    assert legal(state) == cards("AH 7S")


def test_row_2_follow_suit_with_no_duty_to_beat() -> None:
    state = position(["10H 7S 7C", "AH 7H JS", "8H 9S 8C", "9H JH 9C"], "10H", size=3)
    assert legal(state) == cards("AH 7H")


def test_row_3a_trump_led_go_higher_even_over_partner() -> None:
    state = position(["8S 7H 7C", "7S QS 8C", "KS JS 8H", "9H JH 9C"], "8S QS", size=3)
    assert legal(state) == cards("KS JS")
    over_partner = position(["9S 7H", "7S 8S", "JS 10S", "9H JH"], "9S 8S")
    assert legal(over_partner) == cards("JS")


def test_row_3b_trump_led_any_trump_if_none_is_higher() -> None:
    state = position(["9S 7H 7C", "AS 7S 8C", "KS 8H 9C", "9H JH 10C"], "9S", size=3)
    assert legal(state) == cards("AS 7S")


def test_row_4_void_without_trumps_plays_any_card() -> None:
    state = position(["AH 7H", "KC QD", "8H 9H", "JH QH"], "AH")
    assert legal(state) == cards("KC QD")
    trump_led = position(["JS 7H", "KC QD", "8H 9H", "JH QH"], "JS")
    assert legal(trump_led) == cards("KC QD")


def test_row_5a_partner_holds_with_a_plain_card() -> None:
    state = position(["AH 7H", "KH QH", "JS 7C", "8H 9H"], "AH KH")
    assert legal(state) == cards("JS 7C")
    same_in_the_variant = position(["AH 7H", "KH QH", "JS 7C", "8H 9H"], "AH KH", under_partner="no_under")
    assert legal(same_in_the_variant) == cards("JS 7C")


ROW_5B = (["7H 8H 9H", "10S KC QC", "KH QH JH", "JS 7S AC"], "7H 10S KH")


def test_row_5b_partner_holds_with_a_ruff() -> None:
    assert legal(position(*ROW_5B, size=3)) == cards("JS 7S AC")
    assert legal(position(*ROW_5B, size=3, under_partner="no_under")) == cards("JS AC")


def test_row_5b_no_under_with_no_higher_trump() -> None:
    hands = ["7H 8H 9H", "JS KC QC", "KH QH JH", "9S 7S AC"]
    assert legal(position(hands, "7H JS KH", size=3, under_partner="no_under")) == cards("9S 7S AC")


def test_row_6_opponent_holds_ruff() -> None:
    state = position(["AH 7H 8H", "7S JS AC", "KH QH JH", "9H 7C 8C"], "AH", size=3)
    assert legal(state) == cards("7S JS")


ROW_7 = (["7H 8H 9H", "10S KC QC", "JS QS AC", "KH QH JH"], "7H 10S")


def test_row_7_opponent_has_ruffed_overtrump() -> None:
    assert legal(position(*ROW_7, size=3)) == cards("JS")


ROW_8 = (["7H 8H 9H", "9S KC QC", "AS QS AC", "KH QH JH"], "7H 9S")


def test_row_8_opponent_has_ruffed_and_no_higher_trump() -> None:
    assert legal(position(*ROW_8, size=3)) == cards("AS QS AC")
    assert legal(position(*ROW_8, size=3, pisser="forced")) == cards("AS QS")


def test_pisser_forced_does_not_touch_a_partners_ruff() -> None:
    assert legal(position(*ROW_5B, size=3, pisser="forced")) == cards("JS 7S AC")


def test_trump_order_and_winner_leads() -> None:
    # J > 9 > A > 10 > K > Q > 8 > 7 among trumps: each card beats the one before it.
    state = position(["7S AH", "QS KH", "10S QH", "9S JH"], "7S QS 10S 9S")
    assert state.current_player() == 3
    assert legal(state) == cards("JH")


# The auction.


def bidding(*calls: str, **parameters: Any) -> pyspiel.State:
    return move(dealt(load(hand_size=2, **parameters), ["7S 8S", "7H 8H", "7C 8C", "7D 8D"]), *calls)


def test_first_call_is_a_pass_or_any_contract() -> None:
    assert len(legal(bidding())) == 1 + 40
    assert {"pass", "80♠", "160♦", "capot♥"} <= legal(bidding())
    assert not {"coinche", "surcoinche"} & legal(bidding())


def test_contracts_rise_strictly_and_suits_are_not_ranked() -> None:
    assert legal(bidding("150♦")) == {"pass", "coinche", *(v + s for v in ("160", "capot") for s in "♠♥♣♦")}


def test_partner_may_overcall_but_not_coinche() -> None:
    assert legal(bidding("160♠", "pass")) == {"pass", *("capot" + s for s in "♠♥♣♦")}


def test_over_capot_only_pass_and_coinche() -> None:
    assert legal(bidding("capot♠")) == {"pass", "coinche"}
    assert legal(bidding("capot♠", "pass")) == {"pass"}


def test_a_seat_that_passed_may_speak_again() -> None:
    state = bidding("pass", "pass", "pass", "80♠")
    assert state.current_player() == 0
    assert "90♥" in legal(state)


def test_coinche_freezes_the_contract() -> None:
    state = bidding("80♠", "coinche")
    assert legal(state) == {"pass", "surcoinche"}
    assert legal(move(state, "pass")) == {"pass"}  # the coincher's partner
    assert legal(move(state, "pass")) == {"pass", "surcoinche"}


def test_surcoinche_ends_the_auction_at_once() -> None:
    state = bidding("80♠", "coinche", "surcoinche")
    assert state.current_player() == 0
    assert legal(state) == cards("7S 8S")


def test_three_passes_end_the_auction_four_make_the_deal_void() -> None:
    assert legal(bidding("pass", "80♠", "pass", "pass", "pass")) == cards("7S 8S")
    void = bidding("pass", "pass", "pass", "pass")
    assert void.is_terminal()
    assert void.returns() == [0, 0, 0, 0]


def test_two_players_one_pass_ends_it() -> None:
    game = load(players=2, hand_size=2)
    state = move(dealt(game, ["7S 8S", "7H 8H"]), "pass", "80♠", "pass")
    assert state.current_player() == 0
    assert legal(state) == cards("7S 8S")
    assert move(dealt(game, ["7S 8S", "7H 8H"]), "pass", "pass").is_terminal()


def test_no_coinche_variant() -> None:
    assert "coinche" not in legal(bidding("80♠", coinche=False))


def test_dealer_decides_who_speaks_and_leads() -> None:
    state = dealt(load(hand_size=2, dealer=0), ["7S 8S", "7H 8H", "7C 8C", "7D 8D"])
    assert state.current_player() == 1
    assert move(state, "80♠", "pass", "pass", "pass").current_player() == 1


# The score. One card each; with spades as trumps West ruffs and wins 11 + 0 + 10 + 20 + der 10 = 51 points.

ONE_TRICK = ["AH", "7H", "10H", "JS"]


def one_trick(*calls: str, hands: Sequence[str] = ONE_TRICK, **parameters: Any) -> list[float]:
    game = load(**{"hand_size": 1, "min_bid": 40, "max_bid": 60, "capot_value": 100, "fall_points": 70} | parameters)
    state = move(dealt(game, hands), *calls)
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    return state.returns()


@pytest.mark.parametrize(
    ("scheme", "made", "failed"),
    [
        ("classic", (50, 0), (0, 70)),
        ("mirror", (50, -50), (-70, 70)),
        ("no_defense", (50, -50), (-70, 0)),
        ("good", (50, -50), (-60, 70)),
        ("points", (50 + 51 + 90, -50 - 51 - 90), (-60 - 51, 60 + 51)),
    ],
)
def test_payoff_schemes(scheme: str, made: tuple[int, int], failed: tuple[int, int]) -> None:
    attack, defence = made
    assert one_trick("pass", "50♠", "pass", "pass", "pass", reward=scheme) == [defence, attack] * 2
    attack, defence = failed
    assert one_trick("pass", "60♠", "pass", "pass", "pass", reward=scheme) == [defence, attack] * 2


@pytest.mark.parametrize(
    ("scheme", "made", "failed"),
    [
        ("classic", (4 * 50, 0), (0, 2 * 70)),
        ("mirror", (4 * 50, -4 * 50), (-2 * 70, 2 * 70)),
        ("no_defense", (4 * 50, -4 * 50), (-2 * 70, 0)),
        ("good", (4 * 50, -4 * 50), (-2 * 60, 2 * 70)),
        ("points", (4 * 50 + 51 + 90, -4 * 50 - 51 - 90), (-2 * 60 - 51, 2 * 60 + 51)),
    ],
)
def test_payoff_schemes_coinched(scheme: str, made: tuple[int, int], failed: tuple[int, int]) -> None:
    attack, defence = made
    assert one_trick("pass", "50♠", "coinche", "surcoinche", reward=scheme) == [defence, attack] * 2
    attack, defence = failed
    calls = ("pass", "60♠", "coinche", "pass", "pass", "pass")
    assert one_trick(*calls, reward=scheme) == [defence, attack] * 2


def test_the_contract_is_made_with_exactly_its_points() -> None:
    # Trump is clubs: North's ace of hearts takes 11 + 10 + 2 + der 10 = 33.
    hands = ["AH", "7H", "10H", "JS"]
    made = one_trick("33♣", "pass", "pass", "pass", hands=hands, min_bid=33, max_bid=33)
    assert made == [33, -33, 33, -33]
    failed = one_trick("34♣", "pass", "pass", "pass", hands=hands, min_bid=34, max_bid=34)
    assert failed == [-70, 70, -70, 70]


def test_capot_counts_tricks_and_pays_its_value_both_ways() -> None:
    west_wins = ("pass", "capot♠", "pass", "pass", "pass")
    assert one_trick(*west_wins) == [-100, 100, -100, 100]
    assert one_trick("capot♠", "pass", "pass", "pass") == [-100, 100, -100, 100]
    assert one_trick("capot♠", "coinche", "surcoinche") == [-400, 400, -400, 400]


def test_capot_fails_on_a_worthless_trick() -> None:
    # Spades are trumps. North takes everything but a trick of 7♦ 8♦ 9♦ 7♣, which East wins with the 9.
    hands = ["JS 7D", "7S 9D", "8S 8D", "QS 7C"]
    calls = ("capot♠", "pass", "pass", "pass")
    state = move(dealt(load(hand_size=2), hands), *calls, "JS", "7S", "8S", "QS", "7D", "9D", "8D", "7C")
    assert state.returns() == [-250, 250, -250, 250]
    with_the_points = move(
        dealt(load(hand_size=2, der=0, min_bid=20, max_bid=20), hands), "20♠", "pass", "pass", "pass"
    )
    move(with_the_points, "JS", "7S", "8S", "QS", "7D", "9D", "8D", "7C")
    assert with_the_points.returns() == [20, -20, 20, -20]


def test_coinched_fall_value() -> None:
    calls = ("pass", "60♠", "coinche", "pass", "pass", "pass")
    assert one_trick(*calls, coinched_fall="value") == [120, -120, 120, -120]
    plain = ("pass", "60♠", "pass", "pass", "pass")
    assert one_trick(*plain, coinched_fall="value") == [70, -70, 70, -70]


def test_surcoinche_factor() -> None:
    assert one_trick("pass", "50♠", "coinche", "surcoinche", surcoinche_factor=3) == [-150, 150, -150, 150]


def test_coinche_takes_over() -> None:
    """North bids 50, East coinches: now East and West must make the 50, and do."""
    calls = ("50♠", "coinche", "pass", "pass", "pass")
    assert one_trick(*calls) == [-140, 140, -140, 140]
    assert one_trick(*calls, coinche_takes_over=True) == [-100, 100, -100, 100]
    assert one_trick(*calls, coinche_takes_over=True, reward="classic") == [0, 100, 0, 100]
    assert one_trick(*calls, reward="classic") == [0, 140, 0, 140]


def test_belote_counts_towards_the_contract_only() -> None:
    # South was dealt K♠ Q♠. Tricks: A♥ 7♥ K♠ 8♥ (11 + 4) and Q♠ 9♥ 7♣ 8♣ (3), der 10: 28 points for North and South.
    hands = ["AH 7C", "7H 9H", "KS QS", "8H 8C"]
    played = ("AH", "7H", "KS", "8H", "QS", "8C", "7C", "9H")
    for belote, value, expected in ((False, 28, 28), (False, 48, -160), (True, 48, 48), (True, 49, -160)):
        game = load(hand_size=2, belote=belote, min_bid=value, max_bid=value)
        state = move(dealt(game, hands), f"{value}♠", "pass", "pass", "pass", *played)
        assert state.returns()[0] == expected, (belote, value)


def test_belote_of_the_defence_changes_nothing() -> None:
    hands = ["KS QS", "AH 7C", "8H 8C", "7H 9H"]
    game = load(hand_size=2, belote=True, min_bid=11, max_bid=11)
    state = move(dealt(game, hands), "pass", "11♠", "pass", "pass", "pass")
    move(state, "KS", "7C", "8H", "7H", "QS", "AH", "8C", "9H")
    assert state.returns()[1] == -160


def test_trick_reward_is_zero_sum_and_counts_the_last_trick() -> None:
    calls = ("pass", "50♠", "pass", "pass", "pass")
    assert one_trick(*calls, trick_reward=0.1) == pytest.approx([-50 - 5.1, 50 + 5.1] * 2)
    bounds = coinche_rules(trick_reward=0.1)
    assert (bounds.min_utility, bounds.max_utility) == pytest.approx((-1016.2, 1016.2))


# Lockstep with the independent program.

VARIANTS = [
    {},
    {"pisser": "forced", "reward": "classic", "dealer": 1},
    {"under_partner": "no_under", "belote": True, "reward": "good"},
    {"pisser": "forced", "under_partner": "no_under", "belote": True, "trick_reward": 0.25, "dealer": 2},
    {"coinche_takes_over": True, "coinched_fall": "value", "surcoinche_factor": 3, "reward": "no_defense"},
    {"coinche_takes_over": True, "fall_points": 162, "reward": "classic", "der": 0},
    {"reward": "points", "belote": True, "surcoinche_factor": 3},
    {"reward": "points", "suits": 2, "hand_size": 2, "min_bid": 20, "max_bid": 60, "coinche_takes_over": True},
    {"coinche": False, "capot_value": 0, "min_bid": 82, "max_bid": 112},
    {"players": 2},
    {"players": 2, "suits": 2, "ranks": "9JTA", "hand_size": 3, "min_bid": 50, "max_bid": 50, "capot_value": 0},
    {"suits": 3, "ranks": "9JQKTA", "hand_size": 4, "min_bid": 30, "max_bid": 60, "capot_value": 100, "belote": True},
    {"suits": 2, "hand_size": 4, "ranks": "789JQKTA", "pisser": "forced"},
    {"suits": 1, "hand_size": 2, "min_bid": 20, "max_bid": 50, "capot_value": 60, "fall_points": 0},
]


def names_of(cards: int) -> list[Card]:
    return [(SUITS[card // 8], RANKS[card % 8]) for card in range(32) if cards >> card & 1]


def choose(actions: list[int], rng: random.Random) -> int:
    """Mostly modest auctions (a uniform choice among the calls jumps to capot nearly always), some wild ones."""
    if actions[0] == 32 and rng.random() < 0.85:
        cheap = [action for action in actions if action == 32 or action >= 73] + actions[1:6]
        return rng.choice(cheap)
    return rng.choice(actions)


@pytest.mark.parametrize("parameters", VARIANTS, ids=str)
def test_lockstep_with_the_oracle(parameters: dict[str, Any]) -> None:
    rules = coinche_rules(**parameters)
    kernel = rules.compiled_kernel()
    rng = random.Random(str(parameters))
    stream = generator(7)
    out = np.empty(75, np.int64)
    returns = np.empty(rules.num_players)
    decisions = 0
    for _ in range(400):
        state = rules.new_state()
        kernel.deal(state, stream)
        oracle = OracleDeal(
            [names_of(int(state[deck.DEALT + seat])) for seat in range(rules.num_players)], **parameters
        )
        while not oracle.over():
            assert kernel.current_player(state) == oracle.turn()
            legal_moves = oracle.legal()
            actions = out[: kernel.legal_actions(state, out)].tolist()
            assert actions == sorted(legal_moves)
            kernel.returns(state, returns)
            assert not returns.any()
            action = choose(actions, rng)
            kernel.apply_action(state, action)
            oracle.apply(legal_moves[action])
            decisions += 1
        assert kernel.current_player(state) == TERMINAL
        kernel.returns(state, returns)
        assert returns.tolist() == pytest.approx(oracle.returns())
        assert rules.min_utility <= returns.min()
        assert returns.max() <= rules.max_utility
    assert decisions > 400 * 3


def test_a_card_shows_exactly_what_it_must() -> None:
    """`shown_absent` is the converse of `playable`: a card is legal from a hand without the cards it denies."""
    rng = random.Random(5)
    seen = set()
    for _ in range(40_000):
        trump, led_suit = rng.randrange(4), rng.randrange(4)
        deck_order = rng.sample(range(32), 9)
        led_card = led_suit * 8 + rng.randrange(8)
        best = rng.choice([led_card, trump * 8 + rng.randrange(8)])
        trumps, led = 255 << 8 * trump, 255 << 8 * led_suit
        higher = int(BEATERS[32 * trump + best]) & trumps
        flags = tuple(rng.random() < 0.5 for _ in range(3))
        hand = sum(1 << card for card in deck_order if card not in (led_card, best))
        legal_set = playable(hand, led, trumps, higher, *flags)
        for card in (c for c in deck_order if hand >> c & 1):
            absent = shown_absent(1 << card, led, trumps, higher, *flags)
            assert bool(legal_set >> card & 1) == (hand & absent == 0)
            seen.add((flags, absent == 0, absent & ~led == 0, bool(legal_set >> card & 1)))
    assert len(seen) > 30


def test_passing_for_ever_is_no_equilibrium() -> None:
    """With eight cards of a suit a capot cannot fail, however the others call and play: 250 points or more."""
    rules = coinche_rules()
    kernel = rules.compiled_kernel()
    rng = random.Random(9)
    out, returns = np.empty(75, np.int64), np.empty(4)
    for _ in range(500):
        state = rules.new_state()
        trump = rng.randrange(4)
        room = {1: 8, 2: 8, 3: 8}
        while kernel.current_player(state) < 0:
            owners = [seat for seat, left in room.items() for _ in range(left)]
            seat = 0 if state[deck.NEXT_CARD] // 8 == trump else rng.choice(owners)
            if seat:
                room[seat] -= 1
            kernel.apply_action(state, seat)
        kernel.apply_action(state, 69 + trump)
        while kernel.current_player(state) >= 0:
            kernel.apply_action(state, rng.choice(out[: kernel.legal_actions(state, out)].tolist()))
        kernel.returns(state, returns)
        assert returns[0] in (250, 500, 1000)
