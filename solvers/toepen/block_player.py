"""A policy over views of Toepen (`solvers.toepen.blocks`) as a player."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cardtable import deck
from cardtable.compiled import compiled
from cardtable.files import read_arrays, write_arrays
from cardtable.parameters import UserError
from cardtable.player import (
    PLAYER_FILE,
    Player,
    drawing_player,
    read_player_file,
    require_same_rules,
    write_player_file,
)
from cardtable.spiel import CardGame, is_game
from solvers.toepen.blocks import (
    CONTEXT,
    FREE,
    LABELS,
    PLACES,
    SLOT_WORDS,
    START,
    Blocks,
    block_lengths,
    enter_all,
    free_slots,
    order_of,
    require_views,
    seat_of,
    slot_of,
    turn_of,
)
from solvers.toepen.histories import Histories, betting_histories, order_now, place_in_histories
from solvers.toepen.last_bet import bluffs
from solvers.toepen.views import (
    NUM_SEEN,
    Abstraction,
    cards_played,
    context_word,
    label_cards,
    look,
    memories_of,
    places_word,
    suit_numbers,
)
from toepen_spiel.game import EXPERT
from toepen_spiel.rules import apply_action, beats, current_player, deal, legal_cards
from toepen_spiel.state import (
    ANSWERING,
    ANTE,
    BET,
    CALL,
    CALLED,
    CARDS_PLAYED,
    CHECK,
    FOLD,
    HAND,
    HAND_SIZE,
    LED_CARD,
    MAX_SUITS,
    NUM_BETTING_ACTIONS,
    PHASE,
    PLAYING,
    RANKS,
    SUITS,
    TURN,
    VOID,
    moves,
)
from toepen_spiel.state import BETTING as BETTING_SLOT


def block_player(name: str, game: CardGame, blocks: Blocks) -> Player:
    """Plays Toepen as the blocks say; uniformly where they say nothing."""
    root = game.rules.root
    histories = betting_histories(int(root[HAND_SIZE]), bool(root[BETTING_SLOT]))
    memory, classes = blocks.abstraction.arrays()
    numbers = suit_numbers()

    def probabilities_rows(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        chances = np.zeros((len(rows), game.rules.num_distinct_actions))
        policy = blocks.slots, blocks.numbers, numbers, memory, classes
        _answer(states, rows, histories, policy, chances)
        if blocks.arithmetic:
            _answer_last_bets(states, rows, root, histories, policy, chances)
        return chances

    return drawing_player(name, game, probabilities_rows, every_dealer=False)


@compiled(nogil=True)
def _answer(states, rows, histories, policy, chances):
    slots, numbers, suits_table, memory, classes = policy
    seen, own_numbers = np.zeros((MAX_SUITS, NUM_SEEN), np.int64), np.zeros(MAX_SUITS, np.int64)
    memories, scratch = np.zeros(2, np.int64), np.zeros(states.shape[1], np.int64)
    actions, labels, shares = np.zeros(64, np.int64), np.zeros(64, np.int64), np.zeros(64, np.int64)
    for index in range(len(rows)):
        state = states[rows[index]]
        player = current_player(state)
        turn, suits, ranks = state[CARDS_PLAYED], state[SUITS], state[RANKS]
        mover = state[TURN]
        order, history = place_in_histories(state)
        order = order_now(state, order, mover)
        look(state, player, cards_played(state), seen)
        places = places_word(suits_table, seen, state[HAND + player], suits, ranks, own_numbers)
        memories_of(state, memory, classes, scratch, memories)
        slot = slot_of(slots, places, context_word(memories[player], player, turn, order))
        start = slots[slot, START]
        num_cards = state[deck.DECK_SIZE]
        bets, first = histories.bets[turn, order], histories.first[turn, order]
        if state[PHASE] != PLAYING:
            chance = 0.5 if start == FREE else np.float64(numbers[start + history - first])
            if mover == player:
                chances[index, num_cards + BET] = chance
                chances[index, num_cards + CHECK] = 1.0 - chance
            else:
                chances[index, num_cards + CALL] = chance
                chances[index, num_cards + FOLD] = 1.0 - chance
            continue
        count, num_labels = label_cards(
            own_numbers, legal_cards(state, state[HAND + player]), suits, ranks, actions, labels, shares
        )
        after = histories.after[turn, order]
        place = (
            histories.called[turn, order] + history - first
            if state[CALLED]
            else histories.checked[turn, order] + history
        )
        for card in range(count):
            chance = 1.0 / count
            if num_labels > 1 and start != FREE and slots[slot, LABELS] == num_labels:  # a file may say otherwise
                chance = np.float64(numbers[start + bets + labels[card] * after + place]) / shares[card]
            chances[index, actions[card]] = chance


@compiled(nogil=True)
def _answer_last_bets(states, rows, root, histories, policy, chances):
    """Overwrites the choices at the last bet by those of `solvers.toepen.last_bet`."""
    for index in range(len(rows)):
        state = states[rows[index]]
        bettor = state[TURN]
        if state[CARDS_PLAYED] < 2 * state[HAND_SIZE] - 1 or state[PHASE] == PLAYING:
            continue
        num_cards, led, stake = state[deck.DECK_SIZE], state[LED_CARD], state[ANTE]
        played = cards_played(state)
        possible = (1 << num_cards) - 1 & ~played & ~state[VOID + bettor]
        winners = 0
        for card in range(num_cards):
            if possible >> card & 1 and beats(state, card, led):
                winners |= 1 << card
        if state[PHASE] == ANSWERING:
            chance = 2 * stake / (2 * stake + 1)
            if winners == 0 or winners == possible:
                chance = 1.0 if winners == 0 else 0.0
            chances[index, num_cards + CALL], chances[index, num_cards + FOLD] = chance, 1.0 - chance
            continue
        chance = 1.0
        if state[HAND + bettor] & winners == 0:
            shown = state[deck.DEALT + bettor] & played
            weights = np.zeros(2)
            for card in range(num_cards):
                if possible >> card & 1:
                    weights[winners >> card & 1] += _reach(state, bettor, shown | 1 << card, root, histories, policy)
            chance = bluffs(weights[1], weights[0], stake)
        chances[index, num_cards + BET], chances[index, num_cards + CHECK] = chance, 1.0 - chance


@compiled
def _reach(state, player, hand, root, histories, policy):
    """With which probability the player, had she been dealt this hand, would have done what she did."""
    path = np.empty((1, len(root)), np.int64)
    position = path[0]
    position[:] = root
    position[deck.NEXT_CARD] = position[deck.DECK_SIZE]
    for pile in range(position[deck.NUM_PILES]):
        position[deck.ROOM + pile] = 0
    other = state[deck.DEALT + 1 - player]  # who has played all cards
    position[deck.DEALT + player], position[deck.DEALT + 1 - player] = hand, other
    position[deck.DEALT + 2] = (1 << position[deck.DECK_SIZE]) - 1 ^ (hand | other)
    deal(position, np.zeros(1, np.uint64))  # nothing is left to deal: this starts the play
    actions = np.empty(6 * state[HAND_SIZE], np.int64)
    first = np.zeros(1, np.int64)
    chances = np.zeros((1, position[deck.DECK_SIZE] + NUM_BETTING_ACTIONS))
    reach = 1.0
    for number in range(moves(state, actions)):
        if current_player(position) == player:
            chances[:] = 0.0
            _answer(path, first, histories, policy, chances)
            reach *= chances[0, actions[number]]
        if reach == 0.0:
            break
        apply_action(position, actions[number])
    return reach


# ------------------------------------------------------------------------------------------------ saved players

KIND = "toepen_views"
VIEWS_FILE = "views.npz"
WHAT = "a table of views of Toepen"
STEPS = 15  # probabilities are saved in steps of 1 / 15, which costs less than 0.01 of NashConv


class _Kinds(NamedTuple):
    """Histories of a kind (as many calls, the same last bettor) share one saved number: which one, by [turn, order].

    Kinds are numbered from 0 in the order of their first histories.
    """

    bets: np.ndarray  # [turn, order, place in the run in which a bet may be made]
    num_bets: np.ndarray
    after: np.ndarray  # [turn, order, history after the bet]
    num_after: np.ndarray


def _kinds(histories: Histories) -> _Kinds:
    shape = histories.calls.shape
    found = _Kinds(*(np.zeros(size, np.int64) for size in (shape, shape[:2], shape, shape[:2])))
    kinds = histories.kinds()
    for turn in range(histories.turns):
        for order in range(1 << turn // 2):
            first, bets, after = (int(part[turn, order]) for part in (histories.first, histories.bets, histories.after))
            below = order if turn % 2 == 0 or turn == histories.turns - 1 else 2 * order
            for run, numbers, count in (
                (kinds[turn, order, first : first + bets], found.bets, found.num_bets),
                (kinds[turn + 1, below, :after], found.after, found.num_after),
            ):
                place = {kind: number for number, kind in enumerate(dict.fromkeys(run.tolist()))}
                numbers[turn, order, : len(run)] = [place[kind] for kind in run.tolist()]
                count[turn, order] = len(place)
    return found


@compiled
def _exchange(entries, histories, kinds, by_history, by_kind, saves):
    """Between numbers by history, which start where the entries say, and numbers by kind, one behind the other."""
    place = 0
    last = len(histories.mover) - 2
    for row in range(len(entries)):
        context = entries[row, CONTEXT]
        turn, order, start = turn_of(context), order_of(context), entries[row, START]
        bets, after = histories.bets[turn, order], histories.after[turn, order]
        for bet in range(bets):
            at = place + kinds.bets[turn, order, bet]
            if saves:
                by_kind[at] = by_history[start + bet]
            else:
                by_history[start + bet] = by_kind[at]
        place += kinds.num_bets[turn, order]
        if histories.mover[turn, order] != seat_of(context) or turn == last or entries[row, LABELS] == 1:
            continue
        for label in range(entries[row, LABELS]):
            for history in range(after):
                at, here = place + kinds.after[turn, order, history], start + bets + label * after + history
                if saves:
                    by_kind[at] = by_history[here]
                else:
                    by_history[here] = by_kind[at]
            place += kinds.num_after[turn, order]


@compiled
def _share_out(entries, histories, chances):
    """Makes choices of a card add up to one again; ValueError if there is nothing to share."""
    last = len(histories.mover) - 2
    for row in range(len(entries)):
        context, num_labels = entries[row, CONTEXT], entries[row, LABELS]
        turn, order = turn_of(context), order_of(context)
        if histories.mover[turn, order] != seat_of(context) or turn == last or num_labels == 1:
            continue
        after = histories.after[turn, order]
        start = entries[row, START] + histories.bets[turn, order]
        for history in range(start, start + after):
            total = np.float32(0.0)
            for label in range(num_labels):
                total += chances[history + label * after]
            if not total > 0.0:
                raise ValueError("a choice of a card has no probabilities")
            for label in range(num_labels):
                chances[history + label * after] /= total


def _histories(game: CardGame) -> Histories:
    return betting_histories(int(game.rules.root[HAND_SIZE]), bool(game.rules.root[BETTING_SLOT]))


def _saved_arrays(game: CardGame, blocks: Blocks) -> dict[str, np.ndarray]:
    """Views in order, so that neighbours are alike and pack well."""
    histories = _histories(game)
    kinds = _kinds(histories)
    entries = blocks.slots[blocks.slots[:, START] != FREE]
    entries = np.ascontiguousarray(entries[np.lexsort((entries[:, PLACES], entries[:, CONTEXT]))])
    steps = np.rint(blocks.numbers * STEPS).astype(np.uint8)
    numbers = np.zeros(int(block_lengths(entries, histories, kinds.num_bets, kinds.num_after).sum()), np.uint8)
    _exchange(entries, histories, kinds, steps, numbers, True)
    return {
        "places": np.diff(entries[:, PLACES], prepend=0),
        "context": np.diff(entries[:, CONTEXT], prepend=0),
        "labels": entries[:, LABELS].astype(np.uint8),
        "numbers": numbers,
    }


def save_blocks(folder: Path, game: CardGame, blocks: Blocks, made_by: Mapping[str, Any]) -> None:
    """Writes a saved player; `rounded` is what comes back."""
    write_arrays(folder / VIEWS_FILE, _saved_arrays(game, blocks), compress=True)
    settings = {"abstraction": list(blocks.abstraction), "arithmetic": blocks.arithmetic}
    write_player_file(folder, KIND, game, settings, made_by)


def rounded(game: CardGame, blocks: Blocks) -> Blocks:
    """The policy as it is after saving."""
    return _blocks_of(game, _saved_arrays(game, blocks), blocks.abstraction, blocks.arithmetic)


def _blocks_of(game: CardGame, arrays: Mapping[str, np.ndarray], abstraction: Abstraction, arithmetic: bool) -> Blocks:
    """What was saved; ValueError says what is wrong with it."""
    histories = _histories(game)
    kinds = _kinds(histories)
    nothing = np.empty((0, 0))
    places, context, labels, numbers = (
        arrays.get(name, nothing) for name in ("places", "context", "labels", "numbers")
    )
    kinds_found = [(array.ndim, array.dtype.name) for array in (places, context, labels, numbers)]
    sound = kinds_found == [(1, "int64"), (1, "int64"), (1, "uint8"), (1, "uint8")]
    if not sound or not len(places) == len(context) == len(labels):
        raise ValueError("its arrays do not fit together")
    entries = np.zeros((len(places), SLOT_WORDS), np.int64)
    entries[:, PLACES], entries[:, CONTEXT], entries[:, LABELS] = np.cumsum(places), np.cumsum(context), labels
    require_views(entries, histories)
    if block_lengths(entries, histories, kinds.num_bets, kinds.num_after).sum() != len(numbers):
        raise ValueError(f"{len(numbers)} numbers do not fit its views")
    if (numbers > STEPS).any():
        raise ValueError("it has probabilities above one")
    lengths = block_lengths(entries, histories, histories.bets, histories.after)
    entries[:, START] = np.cumsum(lengths) - lengths
    by_history = np.zeros(int(lengths.sum()), np.uint8)
    _exchange(entries, histories, kinds, by_history, numbers, False)
    slots = free_slots(len(entries))
    enter_all(entries, slots)
    chances = by_history.astype(np.float32) / np.float32(STEPS)
    _share_out(entries, histories, chances)
    return Blocks(slots, chances, abstraction, arithmetic)


def load_blocks(folder: Path, game: CardGame, head: Mapping[str, Any]) -> Blocks:
    """The policy in a folder; UserError if it is not one of this game."""
    require_same_rules(folder, head, game)
    if not is_game(head["game"], game):
        raise UserError(f"{folder} was made for {head['game']}; it cannot play {game}")
    kept = head["settings"].get("abstraction")
    if not isinstance(kept, list) or len(kept) != 2 or not all(isinstance(part, str) for part in kept):
        raise UserError(f"{folder / PLAYER_FILE}: the abstraction is missing")
    arithmetic = head["settings"].get("arithmetic", False)
    if not isinstance(arithmetic, bool):
        raise UserError(f"{folder / PLAYER_FILE}: arithmetic is {arithmetic!r}; allowed: true, false")
    try:
        arrays = read_arrays(folder / VIEWS_FILE, WHAT)
    except FileNotFoundError:
        raise UserError(f"{folder} has no {VIEWS_FILE}") from None
    try:
        return _blocks_of(game, arrays, Abstraction(*kept), arithmetic)
    except ValueError as error:
        raise UserError(f"{folder / VIEWS_FILE} is damaged or not {WHAT}: {error}") from None


def saved_player(folder: Path, head: Mapping[str, Any], game: CardGame) -> Player:
    """A saved player of this kind."""
    return block_player(str(folder), game, load_blocks(folder, game, head))


def expert(game: CardGame) -> Player:
    """The strongest player that comes with the game; made by `experiments.toepen_expert`."""
    return block_player("expert", game, load_blocks(EXPERT, game, read_player_file(EXPERT)))
