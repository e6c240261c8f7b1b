"""What networks are told of suits and seats, written again with lists of cards."""

import numpy as np
import pytest

from gongzhu_spiel import state as slots
from gongzhu_spiel.features import SUIT_FEATURES, suit_features
from tests.gongzhu_spiel.test_endings import ending

PIG, SHEEP, TRANSFORMER = 10, 35, 47
POINTS = {PIG: -100, SHEEP: 100}
POINTS |= {13 + rank: value for rank, value in enumerate([0] * 3 + [-10] * 6 + [-20, -30, -40, -50])}


def cards_of(cards: int) -> list[int]:
    return [card for card in range(52) if cards >> card & 1]


def padded(numbers: list[float]) -> list[float]:
    return numbers + [0.0] * (13 - len(numbers))


@pytest.mark.parametrize("spread", [False, True])  # the others' cards over their hands, as where they cannot be seen
def test_suits_and_seats(spread: bool) -> None:
    for seed in range(12):
        state = ending(seed, 18 + seed % 4, scored_late=seed % 2 == 0)
        player, played = int(state[slots.TURN]), int(state[slots.CARDS_PLAYED])
        hands = [cards_of(int(state[slots.HAND + (player + step) % 4])) for step in range(4)]
        trick = [slots.tricks.played_card(state, slots.TRICKS, played - 1 - back) for back in range(played % 4)]
        lying = {card: seat for seat, card in trick}
        led = trick[-1][1] // 13 if trick else None
        best = max((card for card in lying if card // 13 == led), default=-1)
        shares = np.zeros((4, 52), np.float32)
        for step, hand in enumerate(hands):
            if spread and step:
                shares[1:, hand] = 1 / 3
            else:
                shares[step, hand] = 1
        out = np.zeros(SUIT_FEATURES, np.float32)
        suit_features(state, player, shares, out)

        for suit in range(4):
            block = out[96 * suit : 96 * suit + 96].tolist()
            left = sorted((card for card in sum(hands, list(lying)) if card // 13 == suit), reverse=True)
            for step in range(4):
                expected = [float(shares[step, card]) for card in left]
                assert block[13 * step : 13 * step + 13] == pytest.approx(padded(expected))
                assert block[91 + step] == pytest.approx(sum(expected) / 4)
            assert block[52:65] == pytest.approx(padded([POINTS.get(card, 0) / 50 for card in left]))
            assert block[65:78] == padded([float(card == TRANSFORMER) for card in left])
            assert block[78:91] == padded([float(card in lying) for card in left])
            assert block[95] == (suit == led)
        for step in range(4):
            seat = (player + step) % 4
            taken = cards_of(int(state[slots.TAKEN + seat]))
            points, doubled = sum(POINTS.get(card, 0) for card in taken) / 100, TRANSFORMER in taken
            scored = [card for card in taken if card in POINTS or card == TRANSFORMER]
            hearts = [card for card in taken if card // 13 == 1]
            follows = sum(shares[step, card] for card in range(52) if card // 13 == led)
            beats = sum(shares[step, card] for card in range(best + 1, 52) if card // 13 == led)
            expected = [points, doubled, points * doubled, len(hearts) / 13, len(scored) / 16]
            expected += [lying.get(best) == seat, min(1, follows), min(1, beats)]
            assert out[384 + 8 * step : 392 + 8 * step].tolist() == pytest.approx([float(x) for x in expected])
