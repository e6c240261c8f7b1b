"""The play: which cards are legal, who wins a trick, and what a card says about the hand it came from."""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS, ONE_SUIT, PLAIN_POINTS, STRONGER_TRUMPS, TRUMP_POINTS
from coinche_spiel.state import (
    ABSENT,
    BEATING,
    CARDS_PER_WORD,
    CARDS_PLAYED,
    DER,
    HAND,
    HAND_SIZE,
    HISTORY,
    HOLDER,
    LEADERS,
    LED,
    MUST_OVERTRUMP_PARTNER,
    MUST_UNDERTRUMP,
    OVER,
    PHASE,
    PLAYERS,
    PLAYING,
    POINTS,
    TRICK_POINTS,
    TRICKS,
    TRUMP,
    TRUMPS,
    TURN,
    first_seat,
    next_seat,
)


def _card_tables() -> tuple[np.ndarray, np.ndarray]:
    """Points and beating cards of every card under every trump suit, at index trump * 32 + card."""
    points = np.empty(NUM_SUITS * NUM_CARDS, np.int64)
    beaters = np.empty(NUM_SUITS * NUM_CARDS, np.int64)
    for trump in range(NUM_SUITS):
        trumps = ONE_SUIT << NUM_RANKS * trump
        for card in range(NUM_CARDS):
            suit, rank = divmod(card, NUM_RANKS)
            stronger = STRONGER_TRUMPS[rank] if suit == trump else ONE_SUIT & -(2 << rank)
            points[trump * NUM_CARDS + card] = TRUMP_POINTS[rank] if suit == trump else PLAIN_POINTS[rank]
            beaters[trump * NUM_CARDS + card] = stronger << NUM_RANKS * suit | (0 if suit == trump else trumps)
    return points, beaters


# CARD_POINTS[trump * 32 + card]: what a card is worth. BEATERS[trump * 32 + card]: the cards that beat it once it holds
# the trick: the stronger trumps if it is a trump; if not, the stronger cards of its suit and all trumps.
CARD_POINTS, BEATERS = _card_tables()


@compiled
def start_play(state):
    state[PHASE] = PLAYING
    state[TURN] = first_seat(state)
    state[TRUMPS] = ONE_SUIT << NUM_RANKS * state[TRUMP]


@compiled
def legal_cards(state):
    """The cards the seat to move may play."""
    seat = state[TURN]
    return playable(
        state[HAND + seat],
        state[LED],
        state[TRUMPS],
        state[BEATING] & state[TRUMPS],
        (seat ^ state[HOLDER]) & 1 == 0,
        state[MUST_UNDERTRUMP] == 1,
        state[MUST_OVERTRUMP_PARTNER] == 1,
    )


@compiled
def playable(hand, led, trumps, higher_trumps, partner_holds, must_undertrump, must_overtrump_partner):
    """The legal cards of a hand, by the rows of the table in RULES.md; all arguments but the last three are card sets.

    `led` is the led suit, empty for the leader; `higher_trumps` are the trumps that beat the best card of the trick,
    be that a trump or not; `partner_holds` says whether the player's side played that card.
    """
    if led == 0:
        return hand  # row 1
    following = hand & led
    higher = hand & higher_trumps
    if following:
        if led == trumps and higher:
            return higher  # row 3a
        return following  # rows 2 and 3b
    own_trumps = hand & trumps
    if own_trumps == 0:
        return hand  # row 4
    if partner_holds:
        if must_overtrump_partner and higher:
            return higher | (hand ^ own_trumps)  # row 5b, no_under (in row 5a every trump is higher)
        return hand  # rows 5a and 5b
    if higher:
        return higher  # rows 6 and 7
    return own_trumps if must_undertrump else hand  # row 8


@compiled
def shown_absent(card, led, trumps, higher_trumps, partner_holds, must_undertrump, must_overtrump_partner):
    """The cards that a hand cannot hold because `card` (a one-card set) was legal from it: the converse of `playable`.

    A hand allowed `card` if and only if it held the card and none of these.
    """
    if led == 0:
        return 0
    is_trump = card & trumps != 0
    is_higher = card & higher_trumps != 0
    if card & led:
        return higher_trumps if is_trump and not is_higher else 0
    if is_trump:
        must_go_over = must_overtrump_partner or not partner_holds
        return led | higher_trumps if must_go_over and not is_higher else led
    if partner_holds:
        return led
    return led | (trumps if must_undertrump else higher_trumps)


@compiled
def play_card(state, card):
    seat = state[TURN]
    trump = state[TRUMP]
    single = 1 << card
    if state[LED] == 0:
        state[LED] = ONE_SUIT << (card & -NUM_RANKS)
        state[LEADERS] |= seat << 2 * (state[TRICKS] + state[TRICKS + 1])
        _hold_trick(state, seat, card)
    else:
        state[ABSENT + seat] |= shown_absent(
            single,
            state[LED],
            state[TRUMPS],
            state[BEATING] & state[TRUMPS],
            (seat ^ state[HOLDER]) & 1 == 0,
            state[MUST_UNDERTRUMP] == 1,
            state[MUST_OVERTRUMP_PARTNER] == 1,
        )
        if state[BEATING] & single:
            _hold_trick(state, seat, card)
    state[HAND + seat] ^= single
    state[TRICK_POINTS] += CARD_POINTS[trump * NUM_CARDS + card]
    played = state[CARDS_PLAYED]
    state[HISTORY + played // CARDS_PER_WORD] |= card << 5 * (played % CARDS_PER_WORD)
    state[CARDS_PLAYED] = played + 1
    if (played + 1) & (state[PLAYERS] - 1):
        state[TURN] = next_seat(state, seat)
    else:
        _take_trick(state)


@compiled
def _hold_trick(state, seat, card):
    state[HOLDER] = seat
    state[BEATING] = BEATERS[state[TRUMP] * NUM_CARDS + card]


@compiled
def _take_trick(state):
    winner = state[HOLDER]
    team = winner & 1
    state[POINTS + team] += state[TRICK_POINTS]
    state[TRICKS + team] += 1
    state[TRICK_POINTS] = 0
    state[LED] = 0
    state[BEATING] = 0
    state[TURN] = winner
    if state[TRICKS] + state[TRICKS + 1] == state[HAND_SIZE]:
        state[POINTS + team] += state[DER]
        state[PHASE] = OVER
