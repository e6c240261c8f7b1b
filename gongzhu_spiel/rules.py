"""The rules of Gongzhu, compiled; nothing else in the project knows them. `RULES.md` tells them in words.

Card ids are suit * ranks + rank with suits spades, hearts, diamonds, clubs and rank 0 the lowest, so inside a suit the
higher id wins. A smaller deck has fewer suits (the first ones) and fewer ranks (the highest ones); the scored cards
that are left keep their worth.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np

from cardtable import bits, deck, tricks
from cardtable.compiled import compiled
from cardtable.redeal import redeal
from cardtable.rules import CHANCE, TERMINAL, Kernel, Piece, Rules
from cardtable.tricks import NUM_SEATS, following, history_words, write_cards

MAX_SUITS = 4
MAX_RANKS = 13
FULL_DECK = MAX_SUITS * MAX_RANKS
SPADES, HEARTS, DIAMONDS, CLUBS = range(MAX_SUITS)
TEAMS = ((0, 2), (1, 3))
NO_TRUMPS = 0

# Slots of the state behind the dealing block: first the variant, then the position.
SUITS = deck.BLOCK_SIZE
RANKS = SUITS + 1
HEART_CARDS = SUITS + 2  # the four kinds of scored cards, as card sets; empty if the deck does not have them
PIG = SUITS + 3  # the queen of spades
SHEEP = SUITS + 4  # the jack of diamonds
TRANSFORMER = SUITS + 5  # the ten of clubs
TAKEN = SUITS + 6  # TAKEN + s: the cards of the tricks seat s has won
TABLE = SUITS + 10  # the cards of the present trick
TRICKS = SUITS + 11  # the trick block
TURN = TRICKS + tricks.TURN
LED_SUIT = TRICKS + tricks.LED_SUIT
BEST_CARD = TRICKS + tricks.BEST_CARD
BEST_SEAT = TRICKS + tricks.BEST_SEAT
CARDS_PLAYED = TRICKS + tricks.CARDS_PLAYED
HAND = TRICKS + tricks.HAND
VOID = TRICKS + tricks.VOID
HISTORY = TRICKS + tricks.HISTORY

# Ranks of a full suit, two lowest.
TEN, JACK, QUEEN, KING, ACE = 8, 9, 10, 11, 12
PIG_POINTS = -100
SHEEP_POINTS = 100
LONE_TRANSFORMER_POINTS = 50
# A heart costs ten points for each of these sets it belongs to: 5 and up, J and up, Q and up, K and up, the ace.
HEARTS_FROM_5 = 0b1111111111000
HEARTS_FROM_J = 0b1111000000000
HEARTS_FROM_Q = 0b1110000000000
HEARTS_FROM_K = 0b1100000000000
HEARTS_FROM_A = 0b1000000000000


def gongzhu_rules(suits: int, ranks: int, leader: int) -> Rules:
    """The rules record of one variant; raises ValueError if there is no such game."""
    _require(1 <= suits <= MAX_SUITS, "suits", suits, f"from 1 to {MAX_SUITS}")
    _require(1 <= ranks <= MAX_RANKS, "ranks", ranks, f"from 1 to {MAX_RANKS}")
    _require(0 <= leader < NUM_SEATS, "leader", leader, f"from 0 to {NUM_SEATS - 1}")
    cards = suits * ranks
    _require(
        cards % NUM_SEATS == 0, "suits and ranks", f"{suits} * {ranks}", f"a deck that divides among {NUM_SEATS} hands"
    )

    root = _root(suits, ranks)
    root[TURN] = leader
    num_scored = len(scored_cards(root))
    most = float(_highest_team_result(suits, ranks))
    who_and_hand = (Piece("player", (NUM_SEATS,), "observer"), Piece("hand", (suits, ranks), "private"))
    return Rules(
        kernel=KERNEL,
        root=root,
        num_players=NUM_SEATS,
        num_distinct_actions=cards,
        max_chance_outcomes=NUM_SEATS,
        max_game_length=cards,
        max_chance_nodes=cards - 1,
        min_utility=-most,
        max_utility=most,
        utility_sum=0.0,
        key_words=1 + history_words(cards),
        information_pieces=(
            *who_and_hand,
            Piece("cards", (cards, cards), "public"),
            Piece("played_by", (cards, NUM_SEATS), "public"),
        ),
        observation_pieces=(
            *who_and_hand,
            Piece("turn", (NUM_SEATS,), "public"),
            Piece("table", (NUM_SEATS, cards), "public"),
            Piece("played", (NUM_SEATS, cards), "public"),
            Piece("void", (NUM_SEATS, suits), "public"),
            Piece("taken", (NUM_SEATS, num_scored), "public"),
        ),
        teams=TEAMS,
    )


def _require(condition: bool, name: str, value: object, allowed: str) -> None:
    if not condition:
        raise ValueError(f"python_gongzhu: {name} is {value}; allowed: {allowed}")


def _root(suits: int, ranks: int) -> np.ndarray:
    cards = suits * ranks
    root = deck.new_state(HISTORY + history_words(cards), [cards // NUM_SEATS] * NUM_SEATS)
    root[[SUITS, RANKS]] = suits, ranks
    root[HEART_CARDS] = bits.suit_cards(HEARTS, ranks) if suits > HEARTS else 0
    root[PIG] = _scored_card(suits, ranks, SPADES, QUEEN)
    root[SHEEP] = _scored_card(suits, ranks, DIAMONDS, JACK)
    root[TRANSFORMER] = _scored_card(suits, ranks, CLUBS, TEN)
    return root


def _scored_card(suits: int, ranks: int, suit: int, full_rank: int) -> int:
    rank = full_rank - (MAX_RANKS - ranks)
    return 1 << suit * ranks + rank if suit < suits and rank >= 0 else 0


def scored_cards(state: np.ndarray) -> list[int]:
    """The ids of the scored cards of the deck: hearts from low to high, then pig, sheep, transformer."""
    special = [int(state[slot]) for slot in (PIG, SHEEP, TRANSFORMER)]
    hearts = int(state[HEART_CARDS])
    return [card for card in range(hearts.bit_length()) if hearts >> card & 1] + [
        card.bit_length() - 1 for card in special if card
    ]


@functools.cache
def _highest_team_result(suits: int, ranks: int) -> int:
    """The largest result of a team over all ways to share out the scored cards.

    A seat's score is linear in its hearts but for one who has all of them, so it is enough to try one seat with all
    hearts, or with all but one that another seat has.
    """
    root = _root(suits, ranks)
    hearts = int(root[HEART_CARDS])
    special = [int(root[slot]) for slot in (PIG, SHEEP, TRANSFORMER) if root[slot]]
    single_hearts = [0] + [1 << card for card in scored_cards(root) if hearts >> card & 1]
    best = 0
    for owners in itertools.product(range(NUM_SEATS), repeat=len(special) + 2):
        for single in single_hearts:
            taken = [0] * NUM_SEATS
            taken[owners[0]] = hearts ^ single
            taken[owners[1]] |= single
            for card, owner in zip(special, owners[2:], strict=True):
                taken[owner] |= card
            scores = [int(score(root, cards)) for cards in taken]
            best = max(best, scores[0] + scores[2] - scores[1] - scores[3])
    return best


@compiled
def require_full_deck(state):
    """For functions that know the cards of the full deck by number."""
    if state[deck.DECK_SIZE] != FULL_DECK:
        raise ValueError("this works with the full deck of 52 cards only")


@compiled
def current_player(state):
    if state[CARDS_PLAYED] == state[deck.DECK_SIZE]:
        return TERMINAL
    return state[TURN] if deck.is_dealt(state) else CHANCE


@compiled
def legal_cards(state):
    """The set of cards the seat to move may play."""
    return following(state[HAND + state[TURN]], state[LED_SUIT])


@compiled
def legal_actions(state, out):
    return bits.list_cards(legal_cards(state), 0, out)


@compiled
def apply_action(state, action):
    if deck.is_dealt(state):
        _play_card(state, action)
    elif deck.deal_card(state, action):
        _start_play(state)


@compiled
def _start_play(state):
    for seat in range(NUM_SEATS):
        state[HAND + seat] = state[deck.DEALT + seat]


@compiled
def _play_card(state, card):
    state[TABLE] |= 1 << card
    suit = bits.suit_cards(card // state[RANKS], state[RANKS])
    if tricks.play_card(state, TRICKS, card, suit, NO_TRUMPS):
        state[TAKEN + state[TURN]] |= state[TABLE]
        state[TABLE] = 0


@compiled
def chance_outcomes(state, outcomes, probabilities):
    return deck.deal_outcomes(state, outcomes, probabilities)


@compiled
def deal(state, generator):
    deck.deal_at_random(state, generator)
    _start_play(state)


@compiled
def resample(state, player, generator):
    """The others' cards, any of those the player has not seen; nobody holds a suit she has shown to be void in."""
    hands = np.zeros(NUM_SEATS, np.int64)
    needs = np.zeros(NUM_SEATS, np.int64)
    unseen = 0
    for seat in range(NUM_SEATS):
        if seat != player:
            unseen |= state[HAND + seat]
            needs[seat] = bits.count(state[HAND + seat])
    redeal(unseen, needs, state[VOID : VOID + NUM_SEATS], NUM_SEATS, hands, generator)
    for seat in range(NUM_SEATS):
        if seat != player:
            state[deck.DEALT + seat] = state[deck.DEALT + seat] ^ state[HAND + seat] | hands[seat]
            state[HAND + seat] = hands[seat]


@compiled
def raw_points(state, cards):
    """What the scored cards among `cards` are worth by themselves."""
    points = 0
    if cards & state[PIG]:
        points += PIG_POINTS
    if cards & state[SHEEP]:
        points += SHEEP_POINTS
    hearts = (cards & state[HEART_CARDS]) >> state[RANKS] << (MAX_RANKS - state[RANKS])
    if hearts:
        points -= 10 * (
            bits.count(hearts & HEARTS_FROM_5)
            + bits.count(hearts & HEARTS_FROM_J)
            + bits.count(hearts & HEARTS_FROM_Q)
            + bits.count(hearts & HEARTS_FROM_K)
            + bits.count(hearts & HEARTS_FROM_A)
        )
    return points


@compiled
def score(state, taken):
    """The final score of a seat that has taken these cards."""
    points = raw_points(state, taken)
    hearts = state[HEART_CARDS]
    if hearts and taken & hearts == hearts:
        points -= 2 * raw_points(state, hearts)
    if taken & state[TRANSFORMER]:
        alone = taken & (hearts | state[PIG] | state[SHEEP]) == 0
        points = LONE_TRANSFORMER_POINTS if alone else 2 * points
    return points


@compiled
def team_result(state):
    """What seats 0 and 2 have scored so far more than seats 1 and 3."""
    result = 0.0
    for seat in range(NUM_SEATS):
        points = score(state, state[TAKEN + seat])
        result += points if seat & 1 == 0 else -points
    return result


@compiled
def returns(state, out):
    """The difference of the teams' scores, to every seat of a team."""
    result = team_result(state) if state[CARDS_PLAYED] == state[deck.DECK_SIZE] else 0.0
    for seat in range(NUM_SEATS):
        out[seat] = result if seat & 1 == 0 else -result


@compiled
def information_key(state, player, out):
    tricks.write_key(state, TRICKS, player, out)


@compiled
def information_tensor(state, player, out):
    num_cards = state[deck.DECK_SIZE]
    out[player] = 1.0
    write_cards(state[HAND + player], NUM_SEATS, out)
    tricks.write_history(state, TRICKS, num_cards, num_cards, NUM_SEATS + num_cards, out)


@compiled
def observation_tensor(state, player, out):
    num_cards = state[deck.DECK_SIZE]
    out[player] = 1.0
    write_cards(state[HAND + player], NUM_SEATS, out)
    offset = NUM_SEATS + num_cards
    if current_player(state) >= 0:
        out[offset + state[TURN]] = 1.0
    table = offset + NUM_SEATS
    played = table + NUM_SEATS * num_cards
    if not deck.is_dealt(state):
        return
    for seat in range(NUM_SEATS):
        cards = state[deck.DEALT + seat] ^ state[HAND + seat]
        write_cards(cards & state[TABLE], table + seat * num_cards, out)
        write_cards(cards, played + seat * num_cards, out)
    void = played + NUM_SEATS * num_cards
    taken = tricks.write_voids(state, TRICKS, state[SUITS], state[RANKS], void, out)
    for seat in range(NUM_SEATS):
        taken = write_scored(state, state[TAKEN + seat], taken, out)


@compiled
def write_scored(state, cards, offset, out):
    """Marks which scored cards are in the set, in the order of `scored_cards`; returns the offset behind them."""
    if state[HEART_CARDS]:
        write_cards((cards & state[HEART_CARDS]) >> state[RANKS], offset, out)
        offset += state[RANKS]
    for slot in (PIG, SHEEP, TRANSFORMER):
        if state[slot]:
            if cards & state[slot]:
                out[offset] = 1.0
            offset += 1
    return offset


KERNEL = Kernel(
    current_player=current_player,
    legal_actions=legal_actions,
    apply_action=apply_action,
    chance_outcomes=chance_outcomes,
    deal=deal,
    resample=resample,
    returns=returns,
    information_key=information_key,
    information_tensor=information_tensor,
    observation_tensor=observation_tensor,
)
