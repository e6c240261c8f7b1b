"""The fast bidder: its tables, its auction features, its calls and their likelihoods, against plain counting."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from cardtable import deck
from cardtable.parameters import UserError
from cardtable.randomness import generator
from coinche_spiel import state as slots
from coinche_spiel.auction import legal_calls, list_calls
from coinche_spiel.bidding.calls import VALUES_SIZE, best_call, call_values, chance_of_call
from coinche_spiel.bidding.contexts import (
    AUCTION_FEATURES,
    CONTEXT_SIZE,
    FRESH,
    NUM_AUCTION,
    OWN,
    PARTNERS,
    SITUATION_SIZE,
    THEIRS,
    auction_features,
    seats_heard,
    write_context,
)
from coinche_spiel.bidding.holdings import FEATURES, hand_points
from coinche_spiel.bidding.likelihood import new_auction, prepare, seat_likelihood
from coinche_spiel.bidding.numbers import read_numbers
from coinche_spiel.bidding.payoffs import write_payoff
from coinche_spiel.bidding.players import bidder_call
from coinche_spiel.bidding.shipped import NUMBERS
from coinche_spiel.cards import parse_cards
from coinche_spiel.match import SCORE, match_rules
from coinche_spiel.rules import coinche_rules
from tests.coinche_spiel.helpers import hand_features

VARIANTS: tuple[dict[str, int | float | bool | str], ...] = (
    {"belote": True, "reward": "points", "surcoinche_factor": 3},
    {"reward": "classic", "coinche_takes_over": True},
    {"reward": "good", "trick_reward": 0.1, "coinched_fall": "value"},
    {"coinche": False, "capot_value": 0, "min_bid": 82, "max_bid": 112},
)
CALLS = {"pass": slots.PASS, "coinche": slots.COINCHE, "surcoinche": slots.SURCOINCHE}


def dealt(seed: int, **parameters: int | float | bool | str) -> np.ndarray:
    rules = coinche_rules(**parameters)
    state = rules.new_state()
    rules.compiled_kernel().deal(state, generator(seed))
    return state


def call(text: str) -> int:
    if text in CALLS:
        return CALLS[text]
    value = slots.CAPOT if text.startswith("capot") else (int(text[:-1]) - 80) // 10
    return slots.FIRST_BID + 4 * value + "♠♥♣♦".index(text[-1])


def after(calls: str, seed: int = 1, **parameters: int | float | bool | str) -> np.ndarray:
    state = dealt(seed, **parameters)
    kernel = coinche_rules(**parameters).compiled_kernel()
    for text in calls.split():
        kernel.apply_action(state, call(text))
    return state


def with_hand(state: np.ndarray, cards: str) -> np.ndarray:
    """The same auction, the seat to call holding these cards; the rest of the deck does not matter for its call."""
    state = state.copy()
    state[slots.HAND + state[slots.TURN]] = parse_cards(cards)
    return state


def features_after(calls: str, suit: str) -> tuple[int, dict[str, float]]:
    state = after(calls)
    out = np.empty(NUM_AUCTION)
    situation = auction_features(state, state[slots.TURN], "♠♥♣♦".index(suit), seats_heard(state), out)
    return situation, {name: value for name, value in zip(AUCTION_FEATURES, out, strict=True) if value}


def test_tables_add_up_the_features() -> None:
    shipped = read_numbers()["contract"].weights
    rng = np.random.default_rng(1)
    for place, weights in enumerate(shipped.values()):
        vector = np.array([weights[name] for name in FEATURES])
        for _ in range(40):
            hand = int(sum(1 << int(card) for card in rng.permutation(32)[:8]))
            suit = int(rng.integers(4))
            found = hand_points(NUMBERS[0], place * SITUATION_SIZE, hand, suit)
            assert found == pytest.approx(vector @ hand_features(hand, suit))


def test_features_of_a_hand_read_as_their_names_say() -> None:
    hand = parse_cards("JS 9S AS 7S AH 10H KH 8C")
    found = {name for name, value in zip(FEATURES, hand_features(hand, 0), strict=True) if value}
    trumps = {"jack", "nine", "ace", "each_trump", "third_trump", "fourth_trump", "guarded_nine"}
    trumps |= {"jack_and_nine", "jack_and_third_trump", "jack_nine_ace"}
    side = {"side_ace", "side_ten", "side_king", "side_ace_and_ten", "side_ace_ten_king", "side_singleton"}
    assert found == trumps | side | {
        "void",
        "void_and_three_trumps",
        "void_and_four_trumps",
        "singleton_and_three_trumps",
    }


def test_features_of_an_auction_read_as_their_names_say() -> None:
    assert features_after("", "♠") == (FRESH, {"always": 1, "i_lead": 1})
    # East speaks after North's 100 of spades: North, who leads, sits before East.
    assert features_after("100♠", "♠") == (THEIRS, {"always": 1, "previous_bid_it": 1, "previous_bid_it_tens": 2})
    assert features_after("100♠", "♥") == (
        FRESH,
        {"always": 1, "previous_bid_another": 1, "previous_bid_another_tens": 2},
    )
    # South, whose partner North opened: East, who passed, sits before.
    assert features_after("90♠ pass", "♠") == (
        PARTNERS,
        {"always": 1, "partner_leads": 1, "partner_bid_it_tens": 1, "previous_passed": 1},
    )
    # North again, after West went over its opening: South and East have passed.
    situation, found = features_after("80♠ pass pass 110♥", "♠")
    assert situation == OWN
    assert found == {
        "always": 1,
        "i_lead": 1,
        "partner_passed": 1,
        "next_passed": 1,
        "previous_bid_another": 1,
        "previous_bid_another_tens": 3,
    }
    # South was coinched by West; North is asked first.
    situation, found = features_after("pass pass 80♣ coinche", "♣")
    assert situation == PARTNERS
    assert found["they_coinched_it"] == 1


def test_seats_that_have_been_heard() -> None:
    for calls, heard in (("", 0), ("pass pass", 2), ("80♠", 1), ("80♠ pass 90♥", 3), ("80♠ 90♥ 100♠ pass pass", 4)):
        assert seats_heard(after(calls)) == heard


def test_good_hands_are_bid_and_bad_ones_are_not() -> None:
    opening = after("")
    assert bidder_call(with_hand(opening, "7S 8S QH 7H 8C 9C 7D QD")) == slots.PASS
    strong = bidder_call(with_hand(opening, "JS 9S AS 10S AH AC 7D 8D"))
    assert strong > slots.FIRST_BID
    assert (strong - slots.FIRST_BID) % 4 == 0
    assert bidder_call(with_hand(opening, "JH 9H AH 10H AS AC 7D 8D")) == strong + 1  # suits are alike


def test_calls_are_legal_in_every_variant() -> None:
    legal = np.empty(slots.NUM_ACTIONS, np.int64)
    for number, parameters in enumerate(VARIANTS):
        kernel = coinche_rules(**parameters).compiled_kernel()
        rng = np.random.default_rng(number)
        for seed in range(20):
            state = dealt(seed, **parameters)
            while state[slots.PHASE] == slots.BIDDING:
                choices = legal[: legal_calls(state, legal)].tolist()
                chosen = bidder_call(state)
                assert chosen in choices
                kernel.apply_action(state, chosen if rng.random() < 0.6 else int(rng.choice(choices[:9])))


def test_chances_are_a_distribution_whose_mode_is_the_call() -> None:
    context, values = np.empty(CONTEXT_SIZE), np.empty(VALUES_SIZE)
    for seed, calls in enumerate(("", "80♠", "90♥ pass", "pass 100♣ pass pass", "80♠ coinche")):
        state = after(calls, seed)
        write_context(state, NUMBERS[0], context)
        hand = state[slots.HAND + state[slots.TURN]]
        call_values(hand, context, NUMBERS[0], values)
        chances = np.array([chance_of_call(values, place, 8.0) for place in range(slots.NUM_CALLS)])
        assert chances.sum() == pytest.approx(1.0)
        assert slots.PASS + int(np.argmax(chances)) == best_call(hand, context, NUMBERS[0])
        legal = np.empty(slots.NUM_ACTIONS, np.int64)
        allowed = legal[: legal_calls(state, legal)] - slots.PASS
        assert chances[np.setdiff1d(np.arange(slots.NUM_CALLS), allowed)].sum() == 0.0


def test_hands_that_would_call_so_are_likelier() -> None:
    """Auctions of the bidder itself: the true hands are likelier than others by far, on average."""
    contexts, positions = new_auction(slots.STATE_SIZE)
    values = np.empty(VALUES_SIZE)
    kernel = coinche_rules().compiled_kernel(resample=True)
    gains = []
    for seed in range(40):
        state = dealt(seed)
        while state[slots.PHASE] == slots.BIDDING:
            kernel.apply_action(state, bidder_call(state))
        calls = prepare(state, NUMBERS[0], contexts, positions)
        listed = np.empty(40, np.int64)
        assert calls == list_calls(state, listed)
        arguments = (calls, contexts, positions, NUMBERS[0], values)

        def likelihood(world: np.ndarray, arguments: tuple = arguments) -> float:
            return math.prod(seat_likelihood(world[deck.DEALT + seat], seat, *arguments) for seat in (1, 2, 3))

        true = likelihood(state)
        others = []
        for again in range(60):
            other = state.copy()
            other[slots.ABSENT : slots.ABSENT + 4] = 0
            kernel.resample(other, 0, generator(1000 * seed + again))
            others.append(likelihood(other))
        gains.append(np.log(true / np.mean(others)))
    assert np.mean(gains) > 0.8  # nats; knowing nothing has 0


def test_likelihood_of_a_silent_seat_is_that_of_nothing() -> None:
    contexts, positions = new_auction(slots.STATE_SIZE)
    state = after("80♠")
    calls = prepare(state, NUMBERS[0], contexts, positions)
    hand = int(state[slots.HAND + 2])
    assert seat_likelihood(hand, 2, calls, contexts, positions, NUMBERS[0], np.empty(VALUES_SIZE)) == pytest.approx(1.0)


def test_payoffs_are_what_the_deal_pays() -> None:
    pays = np.empty(4)
    write_payoff(coinche_rules().root, 2, 1, 0, pays, 0)
    assert pays.tolist() == [200, 0, -320, 0]
    write_payoff(coinche_rules(reward="classic").root, 2, 0, 0, pays, 0)
    assert pays.tolist() == [50, 0, -80, 0]  # half of own minus theirs
    write_payoff(coinche_rules(reward="points").root, 2, 0, 0, pays, 0)
    assert pays.tolist() == [100 - 162, 2, -262, 0]  # 100 + p - (162 - p) with p card points


def test_the_score_of_a_match_counts() -> None:
    """Where 80 wins the match, more is worth no more; where they win anyway with a fall of 160, nothing is worse."""
    rules = match_rules()
    state = rules.new_state()
    pays, more = np.empty(4), np.empty(4)
    state[[SCORE, SCORE + 1]] = 930, 500
    write_payoff(state, 0, 0, 0, pays, 0)
    write_payoff(state, 6, 0, 0, more, 0)
    assert more[0] == pays[0]
    assert pays[0] > 0 > pays[2]
    state[[SCORE, SCORE + 1]] = 500, 500
    write_payoff(state, 6, 0, 0, more, 0)
    write_payoff(state, 0, 0, 0, pays, 0)
    assert more[0] > pays[0]
    assert pays[0] == pytest.approx(80, abs=15)  # far from the end a point is a point, more or less


def test_damaged_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    found = json.loads((Path(slots.__file__).parent / "bidding" / "numbers.json").read_text())
    found["contract"]["judgement"]["kappa"] = "much"
    path.write_text(json.dumps(found))
    with pytest.raises(UserError, match="numbers of a bidder"):
        read_numbers(path)
    path.write_text("{}")
    with pytest.raises(UserError, match="numbers of a bidder"):
        read_numbers(path)
