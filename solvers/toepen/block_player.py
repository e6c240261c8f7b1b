"""A policy over views of Toepen (`solvers.toepen.blocks`) as a player."""

from __future__ import annotations

import numpy as np

from cardtable import deck
from cardtable.compiled import compiled
from cardtable.player import Player, drawing_player
from cardtable.spiel import CardGame
from solvers.toepen.blocks import FREE, START, Blocks, slot_of
from solvers.toepen.histories import Histories, betting_histories, order_now, place_in_histories
from solvers.toepen.views import (
    NUM_SEEN,
    cards_played,
    context_word,
    label_cards,
    look,
    memories_of,
    places_word,
    suit_numbers,
)
from toepen_spiel.rules import current_player, legal_cards
from toepen_spiel.state import (
    BET,
    CALL,
    CALLED,
    CARDS_PLAYED,
    CHECK,
    FOLD,
    HAND,
    HAND_SIZE,
    MAX_SUITS,
    PHASE,
    PLAYING,
    RANKS,
    SUITS,
    TURN,
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
        _answer(
            states, rows, histories, (blocks.slots, blocks.numbers, numbers, memory, classes), chances
        )
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
        count, num_labels = label_cards(own_numbers, legal_cards(state, state[HAND + player]), suits, ranks, actions, labels, shares)
        after = histories.after[turn, order]
        place = histories.called[turn, order] + history - first if state[CALLED] else histories.checked[turn, order] + history
        for card in range(count):
            chance = 1.0 / count
            if num_labels > 1 and start != FREE:
                chance = np.float64(numbers[start + bets + labels[card] * after + place]) / shares[card]
            chances[index, actions[card]] = chance

