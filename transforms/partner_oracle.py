"""`python_partner_oracle(game=...,accuracy=1.,step=0.,team=-1)`: players are told their partner's private card.

The *oracle* names a card to each player who sits in a listening team (`team` -1: both, 0 or 1: that one) before each of
her decisions. After j actions of the hand, anybody's, it names the partner's card with probability

    p(j) = accuracy if step = 0, else min(accuracy, step * j),

and otherwise a card drawn uniformly from the whole deck, which may be the partner's by luck or even the player's own.

* A perfect oracle (accuracy 1, step 0) needs no chance: the partner's card simply is part of what a player knows, and
  the game is solved like any other.
* A noisy oracle is a chance node before each decision. The signal is drawn afresh every time and forgotten: a player
  knows her own card, the public actions and the signal of the moment. **So she has imperfect recall**; there is no
  sequence form, and the tree is huge. `solvers.noisy_signals` averages the signals out exactly instead.

For games with one private card a seat and teams of two.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.display import Table
from cardtable.parameters import refusal, require, require_number
from cardtable.randomness import below, uniform
from cardtable.rules import CHANCE, Kernel, Piece, Rules
from cardtable.spiel import Wording
from transforms.wrapping import TransformedGame, base_game, transform_type

NAME = "python_partner_oracle"
DEFAULTS = {"accuracy": 1.0, "step": 0.0, "team": -1}
GAME_TYPE = transform_type(NAME, "Partner oracle", DEFAULTS)

BOTH_TEAMS = -1
NOT_LISTENING = -1


class PartnerOracleGame(TransformedGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        base = base_game(NAME, params, "python_kuhn_collab")
        options = DEFAULTS | {name: value for name, value in params.items() if name != "game"}
        rules = oracle_rules(base.rules, **options, name=str(base))
        partner = listening_partners(base.rules, options["team"])
        wording: Wording
        if is_perfect(options["accuracy"], options["step"]):
            wording = OpenCardWording(base.wording, partner)
        else:
            wording = SignalWording(base.wording, partner, base.rules)
        super().__init__(GAME_TYPE, base, rules, wording, params)


def oracle_rules(
    rules: Rules, accuracy: float = 1.0, step: float = 0.0, team: int = BOTH_TEAMS, name: str = "the game"
) -> Rules:
    """The same game with an oracle."""
    _check_oracle(accuracy, step, team)
    _check_game(rules, name)
    partner = listening_partners(rules, team)
    card = Piece("partner_card", (int(rules.root[deck.DECK_SIZE]),), "private")
    more: dict[str, Any] = {
        "key_words": rules.key_words + 1,
        "information_pieces": (*rules.information_pieces, card),
        "observation_pieces": (*rules.observation_pieces, card),
        "forgetting": None,
        "features": None,  # they do not know of the oracle
    }
    if is_perfect(accuracy, step):
        return dataclasses.replace(rules, kernel=_perfect_kernel(rules, partner), recall=None, **more)
    return dataclasses.replace(
        rules,
        kernel=_noisy_kernel(rules, partner, accuracy, step),
        root=np.append(rules.root, [NO_SIGNAL, 0]),
        max_chance_outcomes=max(rules.max_chance_outcomes, int(rules.root[deck.DECK_CARDS]).bit_count()),
        max_chance_nodes=rules.max_chance_nodes + rules.max_game_length,
        moves=None,  # chance acts between them
        moves_inside=rules.moves or rules.moves_inside,
        recall=None,
        interchangeable_suits=(),  # renaming the dealt cards would not rename the signal
        symmetry=None,
        **more,
    )


def is_perfect(accuracy: float, step: float) -> bool:
    return accuracy == 1.0 and step == 0.0


def chance_of_truth(accuracy: float, step: float, actions_taken: int) -> float:
    """p(j): how likely the oracle speaks the truth; it may still be right by luck otherwise."""
    return min(accuracy, step * actions_taken) if step > 0.0 else accuracy


def listening_partners(rules: Rules, team: int) -> np.ndarray:
    """The partner of each seat that hears the oracle, NOT_LISTENING for the others."""
    partner = np.full(rules.num_players, NOT_LISTENING, np.int64)
    for number, (first, second) in enumerate(rules.teams):
        if team in (BOTH_TEAMS, number):
            partner[first], partner[second] = second, first
    return partner


def _check_oracle(accuracy: float, step: float, team: int) -> None:
    require_number("accuracy", accuracy, 0, 1, NAME)
    require_number("step", step, 0, of=NAME)
    require(team in (BOTH_TEAMS, 0, 1), "team", team, f"{BOTH_TEAMS} (both teams), 0, 1", NAME)


def _check_game(rules: Rules, name: str) -> None:
    if not rules.teams:
        raise refusal(f"{name} declares no teams", "games with two teams of two", NAME)
    if sorted(len(team) for team in rules.teams) != [2, 2]:
        raise refusal(f"{name} has teams {rules.teams}", "two teams of two", NAME)
    hands = rules.root[deck.ROOM : deck.ROOM + rules.num_players].tolist()
    if set(hands) != {1}:
        raise refusal(f"{name} deals {hands} cards to the seats", "games with one private card each", NAME)


@compiled
def _card_of(state, seat):
    return bits.lowest(state[deck.DEALT + seat])


# --------------------------------------------------------------------------------------------- a perfect oracle


def _perfect_kernel(rules: Rules, partner: np.ndarray) -> Kernel:
    base = rules.kernel
    shown = _shown_card(partner)
    return base._replace(
        resample=_resample_knowing_partner(base.resample, partner),
        information_key=_longer_key(base.information_key, shown, rules.key_words),
        information_tensor=_longer_tensor(base.information_tensor, shown, rules.information_size),
        observation_tensor=_longer_tensor(base.observation_tensor, shown, rules.observation_size),
    )


def _shown_card(partner: np.ndarray) -> Callable:
    @compiled
    def shown_card(state, player):
        """One more than the card the player is shown; 0: none."""
        if partner[player] == NOT_LISTENING or not deck.is_dealt(state):
            return 0
        return 1 + _card_of(state, partner[player])

    return shown_card


def _longer_key(information_key: Callable, shown: Callable, words: int) -> Callable:
    @compiled
    def longer_key(state, player, out):
        information_key(state, player, out)
        out[words] = shown(state, player)

    return longer_key


def _longer_tensor(tensor: Callable, shown: Callable, size: int) -> Callable:
    @compiled
    def longer_tensor(state, player, out):
        tensor(state, player, out)
        card = shown(state, player)
        if card > 0:
            out[size + card - 1] = 1.0

    return longer_tensor


def _resample_knowing_partner(resample: Callable, partner: np.ndarray) -> Callable:
    @compiled
    def resample_knowing_partner(state, player, generator):
        """Redeals until the partner holds her card again: uniform over the deals in which she does."""
        other = partner[player]
        known = state[deck.DEALT + max(other, 0)]
        resample(state, player, generator)
        while other != NOT_LISTENING and state[deck.DEALT + other] != known:
            resample(state, player, generator)

    return resample_knowing_partner


class OpenCardWording:
    """The words of the base game, and the partner's card beside one's own."""

    def __init__(self, base: Wording, partner: np.ndarray) -> None:
        self._base = base
        self._partner = partner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # while a copy is being made there is no base yet
            raise AttributeError(name)
        return getattr(self._base, name)

    def private(self, state: np.ndarray, player: int) -> str:
        words = self._base.private(state, player)
        if self._partner[player] == NOT_LISTENING or not deck.is_dealt(state):
            return words
        return f"{words} (partner {self._base.card(state, int(_card_of(state, self._partner[player])))})"

    def table(self, state: np.ndarray, seat: int) -> Table:
        """The partner's card lies open to those who may see it."""
        base: Any = self._base
        shown = base.table(state, seat)
        partner = int(self._partner[seat])
        if partner != NOT_LISTENING and deck.is_dealt(state):
            shown["seats"][partner]["shown"] = [self._base.card(state, int(_card_of(state, partner)))]
        return shown


# ----------------------------------------------------------------------------------------------- a noisy oracle

# Two slots behind the base game's: the signal of the moment (0: none, else the card + 1), and the actions so far.
NO_SIGNAL = 0


def _noisy_kernel(rules: Rules, partner: np.ndarray, accuracy: float, step: float) -> Kernel:
    base = rules.kernel
    signal = rules.state_size
    truth = _truth(signal + 1, accuracy, step)
    waiting = _waiting(base.current_player, partner, signal)
    draw = _draw(base.current_player, partner, truth)
    heard = _heard_card(base.current_player, signal)
    return Kernel(
        current_player=_current_player(base.current_player, waiting),
        legal_actions=base.legal_actions,
        apply_action=_apply_action(base, waiting, signal),
        chance_outcomes=_chance_outcomes(base, partner, waiting, truth),
        deal=_deal(base.deal, waiting, draw, signal),
        resample=_resample(base, partner, truth, draw, signal),
        returns=base.returns,
        information_key=_longer_key(base.information_key, heard, rules.key_words),
        information_tensor=_longer_tensor(base.information_tensor, heard, rules.information_size),
        observation_tensor=_longer_tensor(base.observation_tensor, heard, rules.observation_size),
    )


def _truth(actions_taken: int, accuracy: float, step: float) -> Callable:
    accuracy, step = float(accuracy), float(step)

    @compiled
    def truth(state):
        return min(accuracy, step * state[actions_taken]) if step > 0.0 else accuracy

    return truth


def _waiting(current_player: Callable, partner: np.ndarray, signal: int) -> Callable:
    @compiled
    def waiting(state):
        """Whether the oracle speaks next."""
        player = current_player(state)
        return player >= 0 and partner[player] != NOT_LISTENING and state[signal] == NO_SIGNAL

    return waiting


def _heard_card(current_player: Callable, signal: int) -> Callable:
    @compiled
    def heard_card(state, player):
        """One more than the card the player is being told; 0: none."""
        return state[signal] if current_player(state) == player else 0

    return heard_card


def _current_player(current_player: Callable, waiting: Callable) -> Callable:
    @compiled
    def player_or_oracle(state):
        return CHANCE if waiting(state) else current_player(state)

    return player_or_oracle


def _apply_action(base: Kernel, waiting: Callable, signal: int) -> Callable:
    current_player, apply_base_action = base.current_player, base.apply_action
    actions_taken = signal + 1

    @compiled
    def apply_action(state, action):
        if waiting(state):
            state[signal] = action + 1
            return
        by_a_player = current_player(state) >= 0
        apply_base_action(state, action)
        if by_a_player:
            state[signal] = NO_SIGNAL
            state[actions_taken] += 1

    return apply_action


def _chance_outcomes(base: Kernel, partner: np.ndarray, waiting: Callable, truth: Callable) -> Callable:
    current_player, base_outcomes = base.current_player, base.chance_outcomes

    @compiled
    def chance_outcomes(state, outcomes, probabilities):
        if not waiting(state):
            return base_outcomes(state, outcomes, probabilities)
        card = _card_of(state, partner[current_player(state)])
        p = truth(state)
        if p == 1.0:
            outcomes[0] = card
            probabilities[0] = 1.0
            return 1
        cards = state[deck.DECK_CARDS]
        size = bits.count(cards)
        for n in range(size):
            outcomes[n] = bits.nth(cards, n)
            probabilities[n] = (1.0 - p) / size
            if outcomes[n] == card:
                probabilities[n] += p
        return size

    return chance_outcomes


def _draw(current_player: Callable, partner: np.ndarray, truth: Callable) -> Callable:
    @compiled
    def draw(state, generator):
        """A random signal for the player to move."""
        if uniform(generator) < truth(state):
            return 1 + _card_of(state, partner[current_player(state)])
        cards = state[deck.DECK_CARDS]
        return 1 + bits.nth(cards, below(generator, bits.count(cards)))

    return draw


def _deal(deal: Callable, waiting: Callable, draw: Callable, signal: int) -> Callable:
    @compiled
    def deal_and_signal(state, generator):
        deal(state, generator)
        if waiting(state):
            state[signal] = draw(state, generator)

    return deal_and_signal


def _resample(base: Kernel, partner: np.ndarray, truth: Callable, draw: Callable, signal: int) -> Callable:
    current_player, base_resample = base.current_player, base.resample

    @compiled
    def resample(state, player, generator):
        """Deals in proportion to how likely they make the signal that the player hears (Bayes).

        A deal in which the partner holds another card than the one named is dealt again as often as it is less likely.
        Signals that other players hear are drawn to fit the deal.
        """
        base_resample(state, player, generator)
        if state[signal] == NO_SIGNAL:
            return
        if current_player(state) != player:
            state[signal] = draw(state, generator)
            return
        named = state[signal] - 1
        if _card_of(state, player) == named:  # the partner cannot have it: all deals are alike
            return
        p = truth(state)
        by_luck = (1.0 - p) / bits.count(state[deck.DECK_CARDS])
        share = by_luck / (by_luck + p)
        while _card_of(state, partner[player]) != named and uniform(generator) >= share:
            base_resample(state, player, generator)

    return resample


class SignalWording:
    """The words of the base game, and what the oracle says at the moment."""

    def __init__(self, base: Wording, partner: np.ndarray, rules: Rules) -> None:
        self._base = base
        self._partner = partner
        self._rules = rules

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._base, name)

    def private(self, state: np.ndarray, player: int) -> str:
        words = self._base.private(state, player)
        signal = int(state[self._rules.state_size])
        if signal == NO_SIGNAL or self._mover(state) != player:
            return words
        return f"{words} (oracle {self._base.card(state, signal - 1)})"

    def table(self, state: np.ndarray, seat: int) -> Table:
        """The oracle says to the seat to move which card the partner might have."""
        base: Any = self._base
        shown = base.table(state[: self._rules.state_size], seat)
        signal = int(state[self._rules.state_size])
        if signal != NO_SIGNAL and self._mover(state) == seat:
            shown["facts"].append(["oracle", self._base.card(state, signal - 1)])
        return shown

    def chance(self, state: np.ndarray, outcome: int) -> str:
        """A chance outcome after the deal."""
        mover = self._mover(state)
        if mover == CHANCE or self._partner[mover] == NOT_LISTENING:
            base: Any = self._base
            return base.chance(state, outcome)
        return f"oracle tells P{mover} {self._base.card(state, outcome)}"

    def _mover(self, state: np.ndarray) -> int:
        return int(self._rules.kernel.current_player(state))


pyspiel.register_game(GAME_TYPE, PartnerOracleGame)
