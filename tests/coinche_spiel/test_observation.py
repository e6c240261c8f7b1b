"""Keys, tensors and the paper's observation, written again from the moves of the independent program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from cardtable import deck
from cardtable.randomness import generator
from coinche_spiel.observation import PAPER_OBSERVATION_SIZE, paper_observation
from coinche_spiel.rules import coinche_rules
from tests.coinche_spiel.helpers import dealt, load, move
from tests.coinche_spiel.oracle import RANKS, SUITS, Card, OracleDeal, action_of_card

VARIANTS = [{}, {"dealer": 1, "coinche_takes_over": True}, {"players": 2}, {"suits": 3, "hand_size": 4, "dealer": 0}]


def names_of(cards: int) -> list[Card]:
    return [(SUITS[card // 8], RANKS[card % 8]) for card in range(32) if int(cards) >> card & 1]


def random_walk(parameters: dict[str, Any], games: int, seed: int) -> Iterator[tuple[np.ndarray, OracleDeal]]:
    """Yields (state, oracle) at every point of random games, the end included."""
    rules = coinche_rules(**parameters)
    kernel = rules.compiled_kernel()
    rng = np.random.default_rng(seed)
    stream = generator(seed)
    for _ in range(games):
        state = rules.new_state()
        kernel.deal(state, stream)
        oracle = OracleDeal([names_of(state[deck.DEALT + seat]) for seat in range(rules.num_players)], **parameters)
        yield state, oracle
        while not oracle.over():
            legal = oracle.legal()
            action = int(rng.choice(list(legal)[:7] + [a for a in legal if a >= 73] * 2))
            kernel.apply_action(state, action)
            oracle.apply(legal[action])
            yield state, oracle


def one_hot(size: int, *indices: int) -> list[float]:
    return [1.0 if index in indices else 0.0 for index in range(size)]


def shared_pieces(oracle: OracleDeal, player: int) -> tuple[list[float], list[float], list[float]]:
    """phase, dealer | auction | contract, from the spoken rules of the encoding."""
    n = oracle.n

    def seat(absolute: int) -> list[float]:
        return one_hot(4, (absolute - player) % n)

    nobody = one_hot(4)
    phase = one_hot(2, *([] if oracle.over() else [1] if oracle.auction_over() else [0]))
    dealer = seat(oracle.first - 1)
    values = [oracle.p["min_bid"] + 10 * index for index in range(9)] + ["capot"]
    auction = []
    for value in values:
        bids = [(who, call[2]) for who, call in oracle.contracts() if call[1] == value]
        auction += seat(bids[0][0]) + one_hot(4, SUITS.index(bids[0][1])) if bids else [0.0] * 8
    for word in ("coinche", "surcoinche"):
        caller = oracle.caller_of(word)
        auction += nobody if caller is None else seat(caller)
    words = [call[0] for _, call in oracle.calls]
    trailing = 0
    while trailing < len(words) and words[-1 - trailing] == "pass":
        trailing += 1
    auction += one_hot(4, trailing)
    contract = [0.0] * 18
    if oracle.contracts():
        _, (_, value, suit) = oracle.contracts()[-1]
        level = ("coinche" in words) + ("surcoinche" in words)
        attacks = [1.0 if oracle.attack() == player % 2 else 0.0]
        contract = one_hot(4, SUITS.index(suit)) + one_hot(10, values.index(value)) + attacks + one_hot(3, level)
    return phase + dealer, auction, contract


def hand_piece(cards: Iterable[Card]) -> list[float]:
    return one_hot(32, *map(action_of_card, cards))


def plays(oracle: OracleDeal) -> dict[int, tuple[int, int]]:
    """{card: (seat, trick)}"""
    tricks = [*oracle.tricks, oracle.trick]
    return {action_of_card(card): (seat, number) for number, trick in enumerate(tricks) for seat, card in trick}


@pytest.mark.parametrize("parameters", VARIANTS, ids=str)
def test_information_tensor(parameters: dict[str, Any]) -> None:
    rules = coinche_rules(**parameters)
    assert rules.information_size == 532
    for state, oracle in random_walk(parameters, 6, seed=1):
        for player in range(oracle.n):
            first, auction, contract = shared_pieces(oracle, player)
            expected = first + hand_piece(oracle.dealt[player]) + auction + contract
            played = plays(oracle)
            for card in range(32):
                if card in played:
                    seat, trick = played[card]
                    expected += one_hot(4, (seat - player) % oracle.n) + one_hot(8, trick)
                else:
                    expected += [0.0] * 12
            out = np.zeros(532, np.float32)
            rules.kernel.information_tensor(state, player, out)
            assert out.tolist() == expected


@pytest.mark.parametrize("parameters", VARIANTS, ids=str)
def test_observation_tensor(parameters: dict[str, Any]) -> None:
    rules = coinche_rules(**parameters)
    assert rules.observation_size == 414
    for state, oracle in random_walk(parameters, 6, seed=2):
        for player in range(oracle.n):
            first, auction, contract = shared_pieces(oracle, player)
            expected = first + hand_piece(oracle.hands[player]) + auction + contract
            played = plays(oracle)
            for card in range(32):
                seats = [(played[card][0] - player) % oracle.n] if card in played else []
                expected += one_hot(4, *seats)
            for relative in range(4):
                expected += hand_piece([card for seat, card in oracle.trick if (seat - player) % oracle.n == relative])
            running = oracle.auction_over() and not oracle.over()
            expected += one_hot(8, *([len(oracle.tricks)] if running else []))
            points = oracle.points() if oracle.trump else [0, 0]
            expected += [points[player % 2] / 162, points[1 - player % 2] / 162]
            out = np.zeros(414, np.float32)
            rules.kernel.observation_tensor(state, player, out)
            assert out.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("parameters", VARIANTS, ids=str)
def test_key_is_exact(parameters: dict[str, Any]) -> None:
    """For every seat at every moment: equal keys if and only if equal hands and equal histories."""
    rules = coinche_rules(**parameters)
    key_of: dict[tuple, tuple] = {}
    known_of: dict[tuple, tuple] = {}
    for state, oracle in random_walk(parameters, 150, seed=3):
        public = (tuple(oracle.calls), tuple(play for trick in [*oracle.tricks, oracle.trick] for play in trick))
        for player in range(oracle.n):
            known = (player, tuple(oracle.dealt[player]), public)
            words = np.empty(4, np.int64)
            rules.kernel.information_key(state, player, words)
            assert key_of.setdefault(known, tuple(words.tolist())) == tuple(words.tolist())
            assert known_of.setdefault(tuple(words.tolist()), known) == known
            assert (words >= 0).all()
    assert len(key_of) > 10_000 if parameters == {} else len(key_of) > 1_000


def test_keys_tell_the_last_cards_apart() -> None:
    """Two ends of one deal that differ only in who plays which of the last two cards."""
    game = load(suits=4, ranks="JA", hand_size=2, min_bid=10, max_bid=10, capot_value=0)
    hands = ["AS AH", "JS JH", "AC AD", "JC JD"]
    keys = set()
    for swapped in (hands, ["AS AH", "JS JH", "AC JD", "JC AD"]):
        state = move(dealt(game, swapped), "10♠", "pass", "pass", "pass", "AS", "JS")
        keys.add(state.information_key(0))
    assert len(keys) == 1
    for rest in ("AD", "JD"):
        state = move(dealt(game, ["AS AH", "JS JH", f"AC {rest}", f"JC {'JD' if rest == 'AD' else 'AD'}"]), "10♠")
        move(state, "pass", "pass", "pass", "AS", "JS", "AC", "JC", "JH", rest)
        keys.add(state.information_key(0))
    assert len(keys) == 3


def test_nothing_but_the_dealer_shows_before_the_deal() -> None:
    rules = coinche_rules(dealer=2)
    out = np.zeros(532, np.float32)
    rules.kernel.information_tensor(rules.new_state(), 1, out)
    assert np.flatnonzero(out).tolist() == [2 + 1]


def test_paper_observation() -> None:
    assert PAPER_OBSERVATION_SIZE == 140
    bidding, playing = 0, 0
    for state, oracle in random_walk({}, 20, seed=4):
        if oracle.over():
            continue
        for player in range(4):
            calls = [oracle.action_of_call(call) - 32 for _, call in oracle.calls]
            in_play = oracle.auction_over()
            trump = SUITS.index(str(oracle.trump)) if in_play else 0

            def rotated(cards: Iterable[Card], trump: int = trump) -> list[float]:
                return [
                    1.0 if (SUITS[(position // 8 + trump) % 4], RANKS[position % 8]) in cards else 0.0
                    for position in range(32)
                ]

            finished = [card for trick in oracle.tricks for _, card in trick]
            points = oracle.points() if in_play else [0, 0]
            contracts = oracle.contracts()
            value = contracts[-1][1][1] if contracts else 0
            expected: list[float] = [*[43] * (37 - len(calls)), *calls]
            expected += rotated(finished) + rotated(oracle.hands[player]) + rotated([card for _, card in oracle.trick])
            expected += [points[player % 2] / 162, points[1 - player % 2] / 162]
            expected += [
                1.0 if contracts and oracle.attack() == player % 2 else 0.0,
                250 if value == "capot" else value,
                SUITS.index(contracts[-1][1][2]) if contracts else -1,
                sum(oracle.caller_of(word) is not None for word in ("coinche", "surcoinche")),
                1 if in_play else 0,
            ]
            out = np.zeros(140, np.float32)
            paper_observation(state, player, out)
            assert out.tolist() == pytest.approx(expected)
        bidding += not in_play
        playing += in_play
    assert bidding > 40
    assert playing > 200
