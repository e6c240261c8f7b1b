"""The paper's players: opening bids over all hands, every decision against a second program, and their matches."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest

from cardtable import deck
from cardtable.compiled import compiled
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import find_player
from cardtable.randomness import generator
from coinche_spiel.cards import parse_cards
from coinche_spiel.players import simple_opening, strong_opening
from coinche_spiel.rules import coinche_rules
from tests.coinche_spiel.helpers import dealt, load, move
from tests.coinche_spiel.oracle import POINTS, RANKS, SUITS, TRUMP_POINTS, Call, Card, OracleDeal, action_of_card

NUM_HANDS = 10_518_300


@compiled
def count_openings(strong, counts):
    """Opening values of all eight-card hands, as counts[value / 10]; 0 is no bid. Hands in ascending order."""
    hand = 255
    while hand < 1 << 32:
        opening = strong_opening(hand) if strong else simple_opening(hand)
        counts[opening // 4 // 10] += 1
        lowest = hand & -hand
        ripple = hand + lowest
        hand = ripple | ((hand ^ ripple) // lowest >> 2)


def openings(strong: bool) -> dict[int, int]:
    counts = np.zeros(20, np.int64)
    count_openings(strong, counts)
    assert counts.sum() == NUM_HANDS
    return {10 * index: int(count) for index, count in enumerate(counts) if count}


def test_simple_opening_probabilities() -> None:
    assert openings(False) == {0: 1_603_816, 80: 6_838_408, 90: 2_076_076}


def strong_openings_suit_by_suit() -> dict[int, int]:
    """The same for the strong player by another way: its view of a suit does not depend on the others.

    hands[length, value] counts the ways to hold `length` cards of the suits so far with `value` as the best bid.
    """
    one_suit: Counter[tuple[int, int]] = Counter()
    for size in range(9):
        for ranks in itertools.combinations(RANKS, size):
            bid = opening_of([("♠", rank) for rank in ranks], strong=True)
            one_suit[size, bid[0] if bid else 0] += 1
    hands = Counter({(0, 0): 1})
    for _ in SUITS:
        longer: Counter[tuple[int, int]] = Counter()
        for ((size, best), ways), ((more, value), others) in itertools.product(hands.items(), one_suit.items()):
            longer[size + more, max(best, value)] += ways * others
        hands = longer
    return {value: ways for (size, value), ways in sorted(hands.items()) if size == 8}


def test_strong_opening_probabilities() -> None:
    found = openings(True)
    assert found == strong_openings_suit_by_suit()
    # J 9 A 10 of a suit: four suits times C(28, 4), less the C(4, 2) hands that have two such suits.
    assert found[110] == 4 * 20_475 - 6
    assert found == {0: 2_558_206, 80: 6_169_368, 90: 1_708_832, 110: 81_894}


@pytest.mark.parametrize(
    ("hand", "simple", "strong"),
    [
        ("JS 9S 7S 7H 8H 7C 8C 7D", "90♠", "90♠"),
        ("JS 9S AH 7H 8H 7C 8C 7D", "90♠", "pass"),  # strong wants a third trump or the ace of the suit
        ("JS 9S 8H 7H 9H 7C 8C 7D", "80♥", "80♥"),
        ("JS 9S KH 7H 8H 7C 8C 7D", "pass", "pass"),
        ("JS 9S AS 10S 8H 7C 8C 7D", "90♠", "110♠"),
        ("JS AS KH 7H 8H 7C 8C 7D", "pass", "80♠"),
        ("9S 7S AH 7H 8H 7C 8C 7D", "80♠", "pass"),
        ("9S 8S 7S 9D 8D 7D 10D 7C", "80♦", "80♦"),  # the longer suit
        ("JC 8C 7C JH 8H 7H 7S 8S", "80♥", "80♥"),  # the first of equals
        ("JC 9C 7C JH 8H 7H QH KH", "90♣", "90♣"),  # value before length
        ("7S 8S 10S QS KS AS 7H 8H", "pass", "pass"),
    ],
)
def test_opening_hands(hand: str, simple: str, strong: str) -> None:
    rest = [card for card in range(32) if not parse_cards(hand) >> card & 1]
    game = load()
    state = game.new_initial_state()
    while state.is_chance_node():
        card = int(state.array[deck.NEXT_CARD])
        state.apply_action(0 if card not in rest else 1 + rest.index(card) % 3)
    for name, expected in (("simple", simple), ("strong", strong)):
        action = find_player(name, game).bot(game, 0).step(state)
        assert state.action_to_string(0, action) == expected


# A second program for both players, from the written description, on the independent rules.


def has(hand: Sequence[Card], suit: str, rank: str) -> bool:
    return (suit, rank) in hand


def length(hand: Sequence[Card], suit: str) -> int:
    return sum(s == suit for s, _ in hand)


def opening_of(hand: Sequence[Card], strong: bool) -> tuple[int, str] | None:
    choices = []
    for index, suit in enumerate(SUITS):
        jack, nine, ace = (has(hand, suit, rank) for rank in ("J", "9", "A"))
        k = length(hand, suit)
        ace_outside = any(rank == "A" and s != suit for s, rank in hand)
        value = 0
        if strong:
            if jack and nine and ace and has(hand, suit, "10"):
                value = 110
            elif jack and nine and k >= 3:
                value = 90
            elif (jack or nine) and (ace or k >= 3):
                value = 80
        elif jack and nine and (k >= 3 or ace_outside):
            value = 90
        elif (jack or nine) and (k >= 3 or (k >= 2 and ace_outside)):
            value = 80
        if value:
            choices.append((-value, -k, index))
    if not choices:
        return None
    value, _, index = min(choices)
    return -value, SUITS[index]


def call_of(oracle: OracleDeal, strong: bool, reraise: bool) -> Call:
    seat = oracle.turn()
    hand = oracle.hands[seat]
    bids = oracle.contracts()
    now = 0
    if bids:
        now = 250 if bids[-1][1][1] == "capot" else bids[-1][1][1]
    mine = [call for who, call in bids if who == seat]
    partners = [call for who, call in bids if who == (seat + 2) % 4]
    opponents = [250 if call[1] == "capot" else call[1] for who, call in bids if (who - seat) % 2]
    if oracle.caller_of("coinche") is not None or (mine and not reraise):
        return ("pass",)
    if not partners:
        opening = opening_of(hand, strong)
        if opening is None or max(opponents, default=0) > 80:
            return ("pass",)
        value, suit = opening
        value += 10 if opponents else 0
    else:
        _, value, suit = partners[-1]
        if value not in (80, 90):
            return ("pass",)
        nine_counts = has(hand, suit, "9") and (length(hand, suit) >= 2 or not strong)
        aces = sum(rank == "A" and s != suit for s, rank in hand)
        more = 20 * has(hand, suit, "J") + 10 * nine_counts + 10 * aces
        if more == 0:
            return ("pass",)
        value += more
    return ("bid", value, suit) if now < value <= 160 else ("pass",)


def card_of(oracle: OracleDeal, strong: bool) -> Card:
    legal = oracle.legal_cards()
    trump = oracle.trump
    hand = oracle.hands[oracle.turn()]
    trumps = [card for card in legal if card[0] == trump]
    side = [card for card in legal if card[0] != trump]

    def points(card: Card) -> int:
        return TRUMP_POINTS[card[1]] if card[0] == trump else POINTS[card[1]]

    def suit_index(card: Card) -> int:
        return SUITS.index(card[0])

    if not strong:
        if trumps:
            return max(trumps, key=oracle.strength)
        return min(legal, key=lambda card: (-RANKS.index(card[1]), suit_index(card)))
    cheapest = sorted(legal, key=lambda c: (points(c), c[0] == trump, oracle.strength(c), suit_index(c)))
    if oracle.trick:
        best = oracle.best()[1]
        led = oracle.trick[0][1][0]

        def beats(card: Card) -> bool:
            if best[0] == trump:
                return card[0] == trump and oracle.strength(card) > oracle.strength(best)
            return card[0] == trump or (card[0] == led and oracle.strength(card) > oracle.strength(best))

        winners = sorted(filter(beats, legal), key=oracle.strength)
        return winners[0] if winners else cheapest[0]
    aces = [card for card in side if card[1] == "A"]
    if oracle.turn() % 2 == oracle.attack():
        if trumps:
            return max(trumps, key=oracle.strength)
        if aces:
            return min(aces, key=lambda card: (-length(hand, card[0]), suit_index(card)))
        return min(side, key=lambda card: (length(hand, card[0]), oracle.strength(card), suit_index(card)))
    if aces:
        return min(aces, key=lambda card: (length(hand, card[0]), suit_index(card)))
    if side:
        return min(side, key=lambda card: (points(card), oracle.strength(card), suit_index(card)))
    return min(trumps, key=oracle.strength)


@pytest.mark.parametrize("name", ["simple", "strong", "simple_reraising", "strong_reraising"])
@pytest.mark.parametrize("opponents", ["same", "random"])
def test_every_decision_against_the_second_program(name: str, opponents: str) -> None:
    rules = coinche_rules()
    kernel = rules.compiled_kernel()
    stream = generator(11)
    rng = np.random.default_rng(12)
    strong, reraise = name.startswith("strong"), name.endswith("reraising")
    choose = find_player(name, load()).compiled
    assert choose is not None
    calls: Counter[int | str] = Counter()
    for _ in range(300):
        state = rules.new_state()
        kernel.deal(state, stream)
        hands = [
            [(SUITS[card // 8], RANKS[card % 8]) for card in range(32) if int(state[deck.DEALT + seat]) >> card & 1]
            for seat in range(4)
        ]
        oracle = OracleDeal(hands)
        while not oracle.over():
            legal = oracle.legal()
            if opponents == "random" and oracle.turn() % 2:
                cheap = list(legal)[:6] if rng.random() < 0.9 else list(legal)
                action = int(rng.choice(cheap))
            elif oracle.auction_over():
                action = action_of_card(card_of(oracle, strong))
                assert choose(state, stream) == action
            else:
                call = call_of(oracle, strong, reraise)
                action = oracle.action_of_call(call)
                assert choose(state, stream) == action
                calls[call[1] if call[0] == "bid" else call[0]] += 1
            oracle.apply(legal[action])
            kernel.apply_action(state, action)
    assert len(calls) > 5


@pytest.mark.parametrize(
    ("north_south", "east_west", "low", "high"),
    [("simple", "simple", 0, 0), ("strong", "random", 229, 229), ("strong", "simple", 50, 100)],
)
def test_matches(north_south: str, east_west: str, low: float, high: float) -> None:
    """The means of the literature, allowing for four standard errors (and one point for theirs)."""
    game = load()
    result = play_match(game, find_player(north_south, game), find_player(east_west, game), 4000, seed=1).score
    error = 4 * result.standard_error + 1
    assert low - error < result.mean < high + error


@pytest.mark.parametrize("name", ["random", "simple", "strong", "simple_reraising", "strong_reraising"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"players": 2},
        {"suits": 2, "ranks": "9JTA", "hand_size": 2, "min_bid": 50, "max_bid": 60, "capot_value": 0},
        {"pisser": "forced", "under_partner": "no_under", "min_bid": 82, "max_bid": 112},
    ],
    ids=str,
)
def test_bots_play_every_variant_legally(name: str, parameters: dict[str, Any]) -> None:
    game = load(**parameters)
    bots = [find_player(name, game).bot(game, seat, seed=seat) for seat in range(game.num_players())]
    rng = np.random.default_rng(4)
    for _ in range(5):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(rng.choice(state.legal_actions()))
            else:
                state.apply_action(bots[state.current_player()].step(state))  # raises if it is not legal


def test_openspiel_can_play_the_bots() -> None:
    game = load()
    bots = [find_player(("strong", "simple")[seat % 2], game).bot(game, seat) for seat in range(4)]
    played = pyspiel.evaluate_bots(game.new_initial_state(), bots, 1)
    assert len(played) == 4
    assert sum(played) == 0


def test_bot_errors() -> None:
    game = load(hand_size=2)
    with pytest.raises(ValueError, match=r"there is no player 'stronger' .* did you mean strong"):
        find_player("stronger", game)
    strong = find_player("strong", game)
    with pytest.raises(ValueError, match="seat is 4; allowed: 0 to 3"):
        strong.bot(game, 4)
    state = move(dealt(game, ["7S 8S", "7H 8H", "7C 8C", "7D 8D"]), "pass")
    with pytest.raises(ValueError, match="not the turn of player 0, but of 1"):
        strong.bot(game, 0).step(state)


@pytest.mark.parametrize("options", ["", "belote=True,pisser=forced", "reward=points,belote=True,surcoinche_factor=3"])
def test_the_network_beats_strong_under_all_rules_of_the_whole_game(options: str) -> None:
    """By 70 to 100 points a deal where it was measured, whatever pays."""
    game = pyspiel.load_game(f"python_coinche({options})")
    network, strong = find_player("deep_monte_carlo", game), find_player("strong", game)
    assert play_match(game, network, strong, 400, seed=3).score.low > 30


def test_the_network_plays_the_whole_game_only() -> None:
    with pytest.raises(UserError, match="deep_monte_carlo"):
        find_player("deep_monte_carlo", pyspiel.load_game("python_coinche(players=2,suits=2,ranks=JTA,hand_size=2)"))
