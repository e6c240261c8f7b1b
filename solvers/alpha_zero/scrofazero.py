"""ScrofaZero's worlds (Shi, Li and Sun, 2021): stratified sampling (SS), and weights by what others did (IEC).

*Stratified sampling*: the first two cards of a list of key cards that the player has not seen; for each way in which
the others can hold them, equally many uniform worlds, all strata counting the same.

*Integral over equivalent class*: the weight of a world is the product over the others' important past cards of

    gamma = exp(-beta * regret),    regret = (highest logit - logit of the card played) * temperature

among the legal cards of the suit played, beta = 0.015 for each point. The network is fed with the actor's hand in that
world, and a third of each card that she cannot see in each of the other hands. Important are cards from the eight up,
if the player leads now, or if they are of the suit that she has to follow. *Naive Bayes* normalises: each factor is
gamma over the sum of all legal cards' gammas.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cardtable import deck
from cardtable.parameters import refusal
from cardtable.player import Player, legal_mask
from cardtable.replay import past
from cardtable.search.worlds import Worlds
from cardtable.spiel import CardGame
from gongzhu_spiel.state import (
    ACE,
    CLUBS,
    DIAMONDS,
    FULL_DECK,
    HAND,
    HEARTS,
    JACK,
    KING,
    LED_SUIT,
    MAX_RANKS,
    QUEEN,
    SPADES,
    TEN,
    TURN,
)
from solvers.alpha_zero.network import forward
from solvers.alpha_zero.views import GongzhuView

BETA = 0.015
EIGHT = 6
DRAWS = 8  # uniform worlds for each one that is wanted: rare strata may stay empty


def _cards(suit: int, *ranks: int) -> list[int]:
    return [suit * MAX_RANKS + rank for rank in ranks]


PIG, SHEEP, TRANSFORMER = _cards(SPADES, QUEEN)[0], _cards(DIAMONDS, JACK)[0], _cards(CLUBS, TEN)[0]
FOLLOWING = {
    SPADES: _cards(SPADES, QUEEN, ACE, KING, JACK, TEN),
    HEARTS: _cards(HEARTS, ACE, KING, QUEEN, JACK, TEN),
    DIAMONDS: _cards(DIAMONDS, JACK, ACE, KING, QUEEN, TEN),
    CLUBS: _cards(CLUBS, TEN, ACE, KING, QUEEN, JACK),
}


def card_sets(cards: np.ndarray | int) -> np.ndarray:
    """Card sets as 52 zeros and ones each, along a new last axis."""
    return (np.asarray(cards, np.int64)[..., None] >> np.arange(FULL_DECK) & 1).astype(np.float32)


def key_cards(state: np.ndarray, unseen: int) -> list[int]:
    """The first two cards of the list that the player has not seen."""
    led = int(state[LED_SUIT])
    if led:
        wanted = FOLLOWING[((led & -led).bit_length() - 1) // MAX_RANKS]
    else:
        wanted = []
        for key, cards in (
            (PIG, _cards(SPADES, QUEEN, ACE, KING)),
            (SHEEP, _cards(DIAMONDS, JACK, ACE, KING, QUEEN)),
            (None, _cards(HEARTS, ACE, KING, QUEEN)),
            (TRANSFORMER, _cards(CLUBS, TEN, ACE, KING, QUEEN, JACK)),
        ):
            if key is None or unseen >> key & 1:
                wanted += cards
    return [card for card in wanted if unseen >> card & 1][:2]


class ScrofaBelief:
    """Worlds and weights as ScrofaZero has them."""

    def __init__(
        self,
        game: CardGame,
        view: GongzhuView,
        tensors: Mapping[str, np.ndarray],
        worlds: int,
        stratified: bool,
        weights: str,
        temperature: float,
    ) -> None:
        if weights not in ("none", "iec", "bayes"):
            raise refusal(f"weights are {weights!r}", "none, iec, bayes")
        self.game, self.view, self.tensors, self.worlds = game, view, tensors, worlds
        self.stratified, self.weights, self.temperature = stratified, weights, temperature
        self._drawn = Worlds(game, drawn=worlds, kept=worlds)

    def __call__(self, state: np.ndarray, seat: int, stream: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.stratified:
            worlds = self._strata(state, seat, stream)
        else:
            worlds = self._drawn.uniform(state, seat, stream, self.worlds)
        return worlds, np.ones(len(worlds)) if self.weights == "none" else self.scores(state, seat, worlds)

    def _strata(self, state: np.ndarray, seat: int, stream: np.ndarray) -> np.ndarray:
        """Uniform worlds, thrown away where their stratum is full: what is left is uniform inside each stratum."""
        unseen = sum(int(state[HAND + other]) for other in range(4) if other != seat)
        keys = key_cards(state, unseen)
        drawn = self._drawn.uniform(state, seat, stream, DRAWS * self.worlds)
        where = np.zeros(len(drawn), np.int64)
        for card in keys:
            owner = np.argmax(drawn[:, HAND : HAND + 4] >> card & 1, axis=1)
            where = 4 * where + owner
        strata = np.unique(where)
        room = max(1, self.worlds // len(strata))
        return drawn[np.concatenate([np.flatnonzero(where == stratum)[:room] for stratum in strata])]

    def scores(self, state: np.ndarray, seat: int, worlds: np.ndarray) -> np.ndarray:
        """The weights of worlds that look alike to the seat."""
        positions, actions = past(self.game.rules, state)
        led = int(state[LED_SUIT])
        important = actions % MAX_RANKS >= EIGHT
        important &= positions[: len(actions), TURN] != seat
        if led:
            important &= (led >> actions & 1).astype(np.bool_)
        if not important.any():
            return np.ones(len(worlds))
        total = self.log_gammas(positions[: len(actions)][important], actions[important], worlds).sum(axis=0)
        return np.exp(total - total.max())

    def log_gammas(self, positions: np.ndarray, cards: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """(cards, worlds): the log of gamma, or of its share among the legal cards, of past cards in each world."""
        rows = np.arange(len(cards))
        movers = positions[:, TURN]
        played = positions[rows, deck.DEALT + movers] ^ positions[rows, HAND + movers]
        hands = worlds[:, deck.DEALT + movers].T ^ played[:, None]
        inputs = [thirds_inputs(self.view, *one) for one in zip(positions, movers.tolist(), hands, strict=True)]
        values = self.temperature * forward(self.tensors, np.concatenate(inputs))[0].reshape(*hands.shape, FULL_DECK)
        followed = hands & positions[:, LED_SUIT, None]
        compared = np.where(followed, followed, hands)
        if self.weights == "iec":
            compared &= ((1 << MAX_RANKS) - 1 << cards // MAX_RANKS * MAX_RANKS)[:, None]
        known = card_sets(compared) > 0
        regrets = np.where(known, values, -np.inf).max(axis=2, keepdims=True) - values
        found = -BETA * np.take_along_axis(regrets, cards[:, None, None], axis=2)[:, :, 0]
        if self.weights == "bayes":
            found -= np.log(np.where(known, np.exp(-BETA * regrets), 0.0).sum(axis=2))
        return found


def thirds_inputs(view: GongzhuView, position: np.ndarray, mover: int, hands: np.ndarray) -> np.ndarray:
    """A network's input for one position and several hands of its mover, the others' cards spread evenly."""
    own, left = card_sets(hands), card_sets(np.bitwise_or.reduce(position[HAND : HAND + 4]))
    shares = np.repeat(((left - own) / 3)[:, None, :], 4, axis=1)
    shares[:, 0] = own
    return view.inputs_of_shares(position, mover, shares)


def policy_head_player(game: CardGame, view: GongzhuView, tensors: Mapping[str, np.ndarray], thirds: bool) -> Player:
    """The policy head alone: with a third of each unseen card in each hand, or with one uniform world (Table 8)."""
    drawn = Worlds(game, drawn=1, kept=1)

    def inputs_of(state: np.ndarray, stream: np.ndarray) -> np.ndarray:
        seat = int(state[TURN])
        if thirds:
            return thirds_inputs(view, state, seat, state[HAND + seat : HAND + seat + 1])
        return view.inputs(drawn.uniform(state, seat, stream, 1), np.arange(1))

    def choose_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        inputs = [inputs_of(states[row], stream) for row, stream in zip(rows, streams, strict=True)]
        logits = forward(tensors, np.concatenate(inputs))[0]
        return np.argmax(np.where(legal_mask(game.rules, states, rows), logits, -np.inf), axis=1)

    return Player("policy_head", game, choose_rows=choose_rows, batch_size=64)
