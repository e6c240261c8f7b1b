"""The average of a solved card tree of Toepen as a policy: saved, loaded, played, and asked for any hand.

For each player and turn: the keys of her views in the orbit quotient of the game without betting, her choices of a card
there, the order of leaders, and probabilities over betting histories (`solvers.toepen.histories`), in steps of
1 / 65535: of a bet or a call, then of each card she can tell apart, as in `solvers.toepen.blocks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cardtable import deck
from cardtable.compiled import compiled
from cardtable.files import read_arrays, write_arrays
from cardtable.parameters import UserError
from cardtable.player import Player, drawing_player, require_same_rules, write_player_file
from cardtable.rules import LABEL_SIGNATURE, compile_for
from cardtable.spiel import CardGame, is_game
from solvers.sampling.keys import KeyIndex
from solvers.toepen.histories import betting_histories, order_now, place_in_histories
from toepen_spiel import state as slots
from toepen_spiel.abstraction import CARD_BITS
from toepen_spiel.rules import toepen_rules
from transforms.card_isomorphism import isomorphic_rules

if TYPE_CHECKING:
    from solvers.toepen_cfr import ToepenSolver

KIND = "toepen_card_tree"
FILE = "card_tree.npz"
WHAT = "a solved card tree of Toepen"
STEPS = 65535


def arrays_of(solver: ToepenSolver) -> dict[str, np.ndarray]:
    """What is saved. The tree must have been built with its keys."""
    tree = solver.tree
    if tree.keys is None:
        raise UserError(
            "the card tree was built without the keys of its views; allowed: build_card_tree(keep_keys=True)"
        )
    arrays: dict[str, np.ndarray] = {}
    for player in (0, 1):
        for turn, layer in enumerate(tree.layers[player]):
            numbers = np.zeros(
                int(_lengths(tree.histories, player, turn, layer.order, layer.num_labels).sum()), np.uint16
            )
            below = min(turn + 1, tree.turns - 1)
            _behaviour(
                player,
                solver.turn_of(turn),
                solver.turn_of(below),
                layer,
                tree.layers[player][below],
                solver.average(player, turn),
                solver.average(player, below),
                turn < tree.turns - 1,
                numbers,
            )
            where = f"{player}.{turn}"
            arrays |= {
                f"keys.{where}": tree.keys[player][turn],
                f"labels.{where}": layer.num_labels,
                f"orders.{where}": layer.order,
                f"numbers.{where}": numbers,
            }
    return arrays


def save_tree_policy(folder: Path, game: CardGame, solver: ToepenSolver, made_by: Mapping[str, Any]) -> None:
    """Writes a saved player."""
    write_arrays(folder / FILE, arrays_of(solver))
    write_player_file(folder, KIND, game, {}, made_by)


def saved_player(folder: Path, head: Mapping[str, Any], game: CardGame) -> Player:
    """A saved player of this kind."""
    require_same_rules(folder, head, game)
    if not is_game(head["game"], game):
        raise UserError(f"{folder} was made for {head['game']}; it cannot play {game}")
    try:
        arrays = read_arrays(folder / FILE, WHAT)
    except FileNotFoundError:
        raise UserError(f"{folder} has no {FILE}") from None
    try:
        return tree_player(str(folder), game, arrays)
    except (KeyError, ValueError, IndexError) as error:
        raise UserError(f"{folder / FILE} is damaged or not {WHAT}: {error}") from None


def _lengths(histories: Any, player: int, turn: int, order: np.ndarray, num_labels: np.ndarray) -> np.ndarray:
    """How many numbers each view has."""
    choices = np.where((num_labels > 1) & (turn < histories.turns - 1), num_labels, 0).astype(np.int64)
    return histories.bets[turn][order] + choices * histories.after[turn][order]


class _Part:
    """The views of one player at one turn."""

    def __init__(
        self, arrays: Mapping[str, np.ndarray], histories: Any, player: int, turn: int, key_words: int
    ) -> None:
        keys, self.labels, order, self.numbers = (
            arrays[f"{name}.{player}.{turn}"] for name in ("keys", "labels", "orders", "numbers")
        )
        kinds = [(array.ndim, array.dtype.name) for array in (keys, self.labels, order, self.numbers)]
        if kinds != [(2, "int64"), (1, "int8"), (1, "int16"), (1, "uint16")]:
            raise ValueError("its arrays are of other kinds")
        sound = keys.shape == (len(order), key_words) and len(self.labels) == len(order) and (self.labels >= 0).all()
        if not sound or (order < 0).any() or (order >= 1 << turn // 2).any():
            raise ValueError("its views do not fit together")
        lengths = _lengths(histories, player, turn, order, self.labels)
        if lengths.sum() != len(self.numbers):
            raise ValueError("its numbers do not fit its views")
        # It may be wrong about the labels of the last view: what is looked up behind it is nothing.
        longest = histories.bets[turn].max() + histories.turns * histories.after[turn].max()
        self.numbers = np.append(self.numbers, np.zeros(longest, np.uint16))
        self.starts = np.cumsum(lengths) - lengths
        self.index = KeyIndex(keys)


def tree_player(name: str, game: CardGame, arrays: Mapping[str, np.ndarray]) -> Player:
    """A player of the game whose card tree was solved."""
    root = game.rules.root
    suits, ranks, hand_size = (int(root[slot]) for slot in (slots.SUITS, slots.RANKS, slots.HAND_SIZE))
    histories = betting_histories(hand_size, True)
    cards, _ = isomorphic_rules(toepen_rules(suits, ranks, hand_size, betting=False, follow_suit=True), "orbit")
    assert cards.origin is not None
    parts = [
        [_Part(arrays, histories, player, turn, cards.key_words) for turn in range(histories.turns)]
        for player in (0, 1)
    ]
    kernel, label = cards.compiled_kernel(), compile_for(cards.origin.label, LABEL_SIGNATURE)
    key, actions = np.empty(cards.key_words, np.int64), np.empty(64, np.int64)

    def answer(state: np.ndarray, chances: np.ndarray) -> None:
        mover, turn, num_cards = int(state[slots.TURN]), int(state[slots.CARDS_PLAYED]), int(state[deck.DECK_SIZE])
        player = 1 - mover if state[slots.PHASE] == slots.ANSWERING else mover
        order, history = place_in_histories(state)
        order = int(order_now(state, order, mover))
        view = without_bets(state, cards.root)
        kernel.information_key(view, player, key)
        part = parts[player][turn]
        found = part.index.find(key)
        if found < 0:
            raise UserError(f"{name} has no entry for this position")
        bets, first, after = (int(array[turn, order]) for array in (histories.bets, histories.first, histories.after))
        start = int(part.starts[found])
        if state[slots.PHASE] != slots.PLAYING:
            chance = part.numbers[start + history - first] / STEPS
            said = (slots.BET, slots.CHECK) if player == mover else (slots.CALL, slots.FOLD)
            chances[num_cards + said[0]], chances[num_cards + said[1]] = chance, 1.0 - chance
            return
        names = actions[: kernel.legal_actions(view, actions)].tolist()
        legal = np.empty(64, np.int64)
        own = legal[: game.rules.kernel.legal_actions(state, legal)].tolist()
        called = [int(label(view, card)) for card in own]
        at = histories.checked[turn, order] + history
        if state[slots.CALLED]:
            at = histories.called[turn, order] + history - first
        shares = np.ones(len(names))
        if len(names) > 1 and turn < histories.turns - 1:
            shares = part.numbers[start + bets + at + after * np.arange(len(names))] / STEPS
            shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(names), 1 / len(names))
        for card, title in zip(own, called, strict=True):
            chances[card] = shares[names.index(title)] / called.count(title)

    def probabilities_rows(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        chances = np.zeros((len(rows), game.rules.num_distinct_actions))
        for index, row in enumerate(rows.tolist()):
            answer(states[row], chances[index])
        return chances

    return drawing_player(name, game, probabilities_rows, every_dealer=False)


def without_bets(state: np.ndarray, root: np.ndarray) -> np.ndarray:
    """The same cards in the orbit quotient of the game without betting."""
    view = root.copy()
    view[: len(state)] = state
    view[[slots.BETTING, slots.PHASE, slots.ANTE, slots.CALLED]] = 0, slots.PLAYING, 1, 0
    view[slots.LAST_BETTOR] = slots.NOBODY
    view[slots.HISTORY : len(state)] &= CARD_BITS
    return view


@compiled
def _behaviour(player, turn, next_turn, layer, below, average, average_below, plays, numbers):
    """Probabilities of one player's views at a turn from averages of plans, in steps."""
    starts = np.empty(len(layer.parent), np.int64)
    place = 0
    for view in range(len(layer.parent)):
        starts[view] = place
        order = layer.order[view]
        bets, after, first = turn.bets[order], turn.after[order], turn.first[order]
        own_turn = turn.mover[order] == player
        for bet in range(bets):
            stays = average[layer.after[view] + turn.checked[order] + first + bet]
            goes = average[layer.after[view] + turn.called[order] + bet]
            total = stays + goes if own_turn else stays
            numbers[place + bet] = np.uint16(round(min(goes / total, 1.0) * STEPS) if total > 0.0 else STEPS // 2)
        place += bets
        if plays and layer.num_labels[view] > 1:
            for number in range(layer.num_labels[view] * after):
                numbers[place + number] = np.uint16(STEPS // layer.num_labels[view])
            place += layer.num_labels[view] * after
    if not plays:
        return
    for view in range(len(below.parent)):
        parent = below.parent[view]
        if below.label[view] < 0 or layer.num_labels[parent] <= 1:
            continue
        order = below.order[view]
        checked, called, first = next_turn.checked[order], next_turn.called[order], next_turn.first[order]
        own_turn = next_turn.mover[order] == player
        size = next_turn.before[order]
        at = starts[parent] + turn.bets[layer.order[parent]] + below.label[view] * size
        for history in range(size):
            reach = average_below[below.after[view] + checked + history]
            bet = history - first
            if own_turn and 0 <= bet < next_turn.bets[order]:
                reach += average_below[below.after[view] + called + bet]
            total = average[layer.after[parent] + history]
            if total > 0.0:
                numbers[at + history] = np.uint16(round(min(reach / total, 1.0) * STEPS))
