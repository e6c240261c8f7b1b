"""CFR against a noisy partner oracle, with the signals averaged out exactly.

In `python_partner_oracle(game=...,accuracy=...,step=...)` a player is told a card before each of her decisions and
forgets it afterwards. As explicit chance that multiplies the tree by the number of cards at every decision. But a
signal matters only for the decision it precedes, so it can be averaged out: a player with card c and partner's card m
moves, as the others see it, with probability

    behaviour(a | c, m, h) = sum over signals s of P(s | m, j) * strategy(a | c, s, h)

where j counts the actions before h. The tree stays that of the base game, the information sets are (c, s, h). With
reach_i = product of player i's own behaviour on the way and reach_-i = chance * product of everybody else's,

    regret(c, s, h, a) += sum over deals with card c of reach_-i * P(s | m, j) * (value_i(ha) - value_i(h if told s))
    average(c, s, h)   += sum over deals with card c of chance * P(s | m, j) * reach_i * strategy(c, s, h).

Forgetting is imperfect recall: reach_i depends on m, which an information set does not determine, and CFR's guarantees
do not hold. With P(s | m, j) = [s = m] or uniform signals the formulas are those of ordinary CFR on the game with a
perfect oracle or without one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyspiel

from cardtable import bits, deck
from cardtable.compiled import compiled
from solvers.learning.trainer import require_iterations
from solvers.teams.public_tree import PublicTree
from transforms.partner_oracle import DEFAULTS, NOT_LISTENING, PartnerOracleGame, chance_of_truth, listening_partners


class NoisySignals:
    """A game with a partner oracle as the public tree of its base game and the probabilities of signals."""

    def __init__(self, game: pyspiel.Game) -> None:
        if not isinstance(game, PartnerOracleGame):
            raise ValueError(f"game is {game}; allowed: python_partner_oracle(game=...), outermost")
        options = DEFAULTS | {name: value for name, value in game.get_parameters().items() if name in DEFAULTS}
        self.game = game
        self.tree = PublicTree.from_game(game.base)
        self.partner = listening_partners(game.base.rules, options["team"])
        self.cards = _cards(self.tree)  # (players, deals): who holds what
        # (players, deals): what the oracle would tell a player if it told the truth; 0 for who cannot hear it.
        self.partner_cards = np.zeros_like(self.cards)
        for player, partner in enumerate(self.partner):
            if partner != NOT_LISTENING:
                self.partner_cards[player] = self.cards[partner]
        num_cards = int(game.base.rules.root[deck.DECK_SIZE])
        in_deck = np.array([game.base.rules.root[deck.DECK_CARDS] >> card & 1 for card in range(num_cards)])
        noise = in_deck / in_deck.sum()
        self.signal_probability = np.zeros((self.tree.num_nodes, num_cards, num_cards))  # node, partner's card, signal
        for node in np.flatnonzero(self.tree.player >= 0):
            if self.partner[self.tree.player[node]] == NOT_LISTENING:
                self.signal_probability[node, :, 0] = 1.0
                continue
            truth = chance_of_truth(options["accuracy"], options["step"], int(self.tree.depth[node]))
            self.signal_probability[node] = (1.0 - truth) * noise + truth * np.eye(num_cards)

    @property
    def table_shape(self) -> tuple[int, int, int]:
        """Tables are (nodes, own card, signal): an entry belongs to the move that leads to the node."""
        return self.signal_probability.shape

    def behaviour(self, strategy: np.ndarray) -> np.ndarray:
        """(nodes, deals): the probability with which, signals averaged out, the player above a node moves to it."""
        result = np.ones((self.tree.num_nodes, self.tree.num_deals))
        for node in range(1, self.tree.num_nodes):
            above = self.tree.parent[node]
            who = self.tree.player[above]
            if who >= 0:
                by_card = strategy[node] @ self.signal_probability[above].T  # own card, partner's card
                result[node] = by_card[self.cards[who], self.partner_cards[who]]
        return result


class NoisySignalSolver:
    """CFR with simultaneous or alternating updates. `initial` is uniform, random (Dirichlet) or a table of weights."""

    def __init__(
        self,
        game: pyspiel.Game | NoisySignals,
        alternating: bool = True,
        initial: Literal["uniform", "random"] | np.ndarray = "uniform",
        seed: int | np.random.SeedSequence | None = None,
    ) -> None:
        if isinstance(initial, str) and initial not in ("uniform", "random"):
            raise ValueError(f"initial is {initial!r}; allowed: uniform, random")
        self.signals = game if isinstance(game, NoisySignals) else NoisySignals(game)
        self.alternating = alternating
        self.iterations = 0
        tree = self.signals.tree
        self._child_offset = np.concatenate([[0], np.cumsum([len(below) for below in tree.children])]).astype(np.int64)
        self._child = np.array([child for below in tree.children for child in below], np.int64)
        self._regret = np.zeros(self.signals.table_shape)
        self._average = np.zeros(self.signals.table_shape)
        if isinstance(initial, np.ndarray):
            weights = initial
        elif initial == "random":
            weights = np.random.default_rng(seed).standard_exponential(self.signals.table_shape)
        else:
            weights = np.ones(self.signals.table_shape)
        self._strategy = self._normalised(weights)

    def _normalised(self, weights: np.ndarray) -> np.ndarray:
        """Probabilities proportional to the weights; uniform where those are all zero."""
        strategy = np.ones_like(weights)
        for node in np.flatnonzero(self.signals.tree.player >= 0):
            children = self.signals.tree.children[node]
            total = weights[children].sum(axis=0)
            shares = weights[children] / np.where(total > 0, total, 1.0)
            strategy[children] = np.where(total > 0, shares, 1.0 / len(children))
        return strategy

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        tree = self.signals.tree
        _iterate(
            iterations,
            self.alternating,
            (tree.player, tree.parent, self._child_offset, self._child, tree.chance, tree.returns),
            (self.signals.cards, self.signals.partner_cards, self.signals.signal_probability),
            self._strategy,
            self._regret,
            self._average,
        )
        self.iterations += iterations

    def current_strategy(self) -> np.ndarray:
        """What the next iteration plays, as a table like the average."""
        return self._strategy.copy()

    def average_strategy(self) -> np.ndarray:
        """(nodes, own card, signal): see `NoisySignals.table_shape`."""
        return self._normalised(self._average)


def _cards(tree: PublicTree) -> np.ndarray:
    """The card of each player in each deal."""
    card_of_type = np.zeros((tree.num_players, int(tree.num_types.max())), np.int64)
    for node, own_type, state in tree.examples:
        who = tree.player[node]
        card_of_type[who, own_type] = bits.lowest(state.array[deck.DEALT + who])
    return np.take_along_axis(card_of_type, tree.types, axis=1)


@compiled(nogil=True)
def _iterate(iterations, alternating, tree, signals, strategy, regret, average):
    player, parent, child_offset, child, chance, returns = tree
    cards, partner_cards, signal_probability = signals
    num_nodes, num_deals = chance.shape
    num_players = len(cards)
    behaviour = np.ones((num_nodes, num_deals))
    reach = np.ones((num_players, num_nodes, num_deals))
    value = np.zeros((num_nodes, num_deals))
    for who in range(num_players):
        _average_out(who, player, parent, cards, partner_cards, signal_probability, strategy, behaviour)
        _walk_down(who, player, parent, behaviour, reach)
    for _ in range(iterations):
        for who in range(num_players):
            _accumulate(
                who,
                player,
                child_offset,
                child,
                chance,
                cards,
                partner_cards,
                signal_probability,
                reach,
                strategy,
                average,
            )
            _walk_up(who, player, child_offset, child, returns, behaviour, value)
            _add_regrets(
                who,
                player,
                child_offset,
                child,
                chance,
                cards,
                partner_cards,
                signal_probability,
                reach,
                value,
                strategy,
                regret,
            )
            if alternating:
                _match_regrets(who, player, child_offset, child, regret, strategy)
                _average_out(who, player, parent, cards, partner_cards, signal_probability, strategy, behaviour)
                _walk_down(who, player, parent, behaviour, reach)
        if not alternating:
            for who in range(num_players):
                _match_regrets(who, player, child_offset, child, regret, strategy)
                _average_out(who, player, parent, cards, partner_cards, signal_probability, strategy, behaviour)
                _walk_down(who, player, parent, behaviour, reach)


@compiled
def _average_out(who, player, parent, cards, partner_cards, signal_probability, strategy, behaviour):
    """Behaviour of one player's moves, for each pair of cards and then for each deal."""
    num_cards, num_signals = strategy.shape[1:]
    by_cards = np.empty((num_cards, num_signals))
    for node in range(1, len(player)):
        above = parent[node]
        if player[above] != who:
            continue
        for own in range(num_cards):
            for other in range(num_signals):
                total = 0.0
                for signal in range(num_signals):
                    total += signal_probability[above, other, signal] * strategy[node, own, signal]
                by_cards[own, other] = total
        for deal in range(behaviour.shape[1]):
            behaviour[node, deal] = by_cards[cards[who, deal], partner_cards[who, deal]]


@compiled
def _walk_down(who, player, parent, behaviour, reach):
    for node in range(1, len(player)):
        above = parent[node]
        if player[above] == who:
            for deal in range(behaviour.shape[1]):
                reach[who, node, deal] = reach[who, above, deal] * behaviour[node, deal]
        else:
            reach[who, node] = reach[who, above]


@compiled
def _walk_up(who, player, child_offset, child, returns, behaviour, value):
    """Expected return of one player from every node on."""
    num_nodes, num_deals = value.shape
    for node in range(num_nodes - 1, -1, -1):
        if child_offset[node] == child_offset[node + 1]:
            for deal in range(num_deals):
                value[node, deal] = returns[node, deal, who]
            continue
        value[node] = 0.0
        for i in range(child_offset[node], child_offset[node + 1]):
            for deal in range(num_deals):
                value[node, deal] += behaviour[child[i], deal] * value[child[i], deal]


@compiled
def _accumulate(
    who, player, child_offset, child, chance, cards, partner_cards, signal_probability, reach, strategy, average
):
    num_cards, num_signals = strategy.shape[1:]
    own_reach = np.empty((num_cards, num_signals))
    for node in range(len(player)):
        if player[node] != who:
            continue
        own_reach[:] = 0.0
        for deal in range(chance.shape[1]):
            own_reach[cards[who, deal], partner_cards[who, deal]] += chance[node, deal] * reach[who, node, deal]
        for own in range(num_cards):
            for signal in range(num_signals):
                weight = 0.0
                for other in range(num_signals):
                    weight += own_reach[own, other] * signal_probability[node, other, signal]
                for i in range(child_offset[node], child_offset[node + 1]):
                    average[child[i], own, signal] += weight * strategy[child[i], own, signal]


@compiled
def _add_regrets(
    who, player, child_offset, child, chance, cards, partner_cards, signal_probability, reach, value, strategy, regret
):
    num_players, _, num_deals = reach.shape
    num_cards, num_signals = strategy.shape[1:]
    most = 0
    for node in range(len(player)):
        most = max(most, child_offset[node + 1] - child_offset[node])
    gain = np.empty((most, num_cards, num_signals))  # by own and partner's card
    told = np.empty(most)
    for node in range(len(player)):
        if player[node] != who:
            continue
        start = child_offset[node]
        count = child_offset[node + 1] - start
        gain[:] = 0.0
        for deal in range(num_deals):
            others = chance[node, deal]
            for player_number in range(num_players):
                if player_number != who:
                    others *= reach[player_number, node, deal]
            for i in range(count):
                gain[i, cards[who, deal], partner_cards[who, deal]] += others * value[child[start + i], deal]
        for own in range(num_cards):
            for signal in range(num_signals):
                mean = 0.0
                for i in range(count):
                    told[i] = 0.0
                    for other in range(num_signals):
                        told[i] += signal_probability[node, other, signal] * gain[i, own, other]
                    mean += strategy[child[start + i], own, signal] * told[i]
                for i in range(count):
                    regret[child[start + i], own, signal] += told[i] - mean


@compiled
def _match_regrets(who, player, child_offset, child, regret, strategy):
    num_cards, num_signals = strategy.shape[1:]
    for node in range(len(player)):
        if player[node] != who:
            continue
        start = child_offset[node]
        end = child_offset[node + 1]
        for own in range(num_cards):
            for signal in range(num_signals):
                total = 0.0
                for i in range(start, end):
                    total += max(regret[child[i], own, signal], 0.0)
                for i in range(start, end):
                    if total > 0.0:
                        strategy[child[i], own, signal] = max(regret[child[i], own, signal], 0.0) / total
                    else:
                        strategy[child[i], own, signal] = 1.0 / (end - start)
