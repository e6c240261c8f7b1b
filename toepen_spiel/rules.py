"""The rules of two-player Toepen, compiled; nothing else in the project knows them. `RULES.md` tells them in words.

Card ids are suit * ranks + rank with rank 0 the weakest, so inside a suit the higher id wins. A turn is one card:
before it, its player may bet. `TURN` is the player whose card is due; while a bet waits for an answer, the other
player acts.
"""

from __future__ import annotations

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.rules import CHANCE, TERMINAL, Kernel, Piece, Rules, Symmetry
from cardtable.tricks import following

MAX_SUITS = 4
MAX_RANKS = 8

# Slots of the state behind the dealing block: first the variant, then the position.
SUITS = deck.BLOCK_SIZE
RANKS = SUITS + 1
HAND_SIZE = SUITS + 2
BETTING = SUITS + 3
FOLLOW_SUIT = SUITS + 4
PHASE = SUITS + 5
TURN = SUITS + 6
LAST_BETTOR = SUITS + 7  # NOBODY until the first bet
ANTE = SUITS + 8
CALLED = SUITS + 9  # 1 once the bet before the coming card was called
LED_CARD = SUITS + 10  # NO_CARD when the next card leads
CARDS_PLAYED = SUITS + 11
WINNER = SUITS + 12  # NOBODY until the hand is over
HAND = SUITS + 13  # HAND + p: the cards player p still holds
VOID = SUITS + 15  # VOID + p: all cards of the suits player p has shown not to hold
HISTORY = SUITS + 17  # the cards played so far, packed

NOBODY = -1
NO_CARD = -1

# Phases.
DEALING = 0
DECIDING = 1  # the player to play a card bets or checks
ANSWERING = 2  # the other player calls or folds
PLAYING = 3
OVER = 4

# Betting actions, counted from the number of cards in the deck.
CHECK = 0
BET = 1
CALL = 2
FOLD = 3
NUM_BETTING_ACTIONS = 4

# A played card in the history: card | called << 5 | player << 6.
ENTRY_BITS = 7
ENTRIES_PER_WORD = 8
SIGNATURE_ENTRIES = 15  # of four bits, in a word


def toepen_rules(suits: int, ranks: int, hand_size: int, betting: bool, follow_suit: bool) -> Rules:
    """The rules record of one variant; raises ValueError if there is no such game."""
    _require(1 <= suits <= MAX_SUITS, "suits", suits, f"from 1 to {MAX_SUITS}")
    _require(1 <= ranks <= MAX_RANKS, "ranks", ranks, f"from 1 to {MAX_RANKS}")
    cards = suits * ranks
    _require(cards >= 2, "suits and ranks", f"{suits} * {ranks}", "a deck of at least 2 cards")
    _require(
        1 <= hand_size <= cards // 2,
        "hand_size",
        hand_size,
        f"from 1 to {cards // 2}, half of the {cards} cards (suits * ranks)",
    )

    history_words = -(-2 * hand_size // ENTRIES_PER_WORD)
    root = deck.new_state(HISTORY + history_words, [hand_size, hand_size, cards - 2 * hand_size])
    root[[SUITS, RANKS, HAND_SIZE]] = suits, ranks, hand_size
    root[[BETTING, FOLLOW_SUIT]] = betting, follow_suit
    root[[LAST_BETTOR, WINNER, LED_CARD]] = NOBODY, NOBODY, NO_CARD
    root[ANTE] = 1

    cards_played = 2 * hand_size
    highest_ante = 1 + cards_played if betting else 1
    card_history = (
        Piece("cards", (cards_played, cards), "public"),
        Piece("played_by", (cards_played, 2), "public"),
    )
    bet_history = (Piece("bets", (cards_played, 3), "public"),) if betting else ()
    bet_observation = (
        (Piece("phase", (3,), "public"), Piece("ante", (highest_ante,), "public"), Piece("last_bettor", (2,), "public"))
        if betting
        else ()
    )
    who_and_hand = (Piece("player", (2,), "observer"), Piece("hand", (suits, ranks), "private"))
    return Rules(
        kernel=KERNEL,
        root=root,
        num_players=2,
        num_distinct_actions=cards + NUM_BETTING_ACTIONS,
        max_chance_outcomes=3,
        max_game_length=(3 if betting else 1) * cards_played,
        max_chance_nodes=cards - 1,
        min_utility=-highest_ante,
        max_utility=highest_ante,
        utility_sum=0.0,
        key_words=1 + history_words,
        information_pieces=who_and_hand + card_history + bet_history,
        observation_pieces=(
            *who_and_hand,
            Piece("led_card", (cards,), "public"),
            Piece("played", (2, cards), "public"),
            Piece("tricks_played", (hand_size,), "public"),
            *bet_observation,
        ),
        interchangeable_suits=tuple(tuple(range(suit * ranks, (suit + 1) * ranks)) for suit in range(suits)),
        symmetry=Symmetry(
            num_suits, suit_cards, rename, rename_action, signatures, -(-(2 + cards_played) // SIGNATURE_ENTRIES)
        ),
    )


def _require(condition: bool, name: str, value: object, allowed: str) -> None:
    if not condition:
        raise ValueError(f"python_toepen: {name} is {value}; allowed: {allowed}")


@compiled
def current_player(state):
    phase = state[PHASE]
    if phase == DEALING:
        return CHANCE
    if phase == OVER:
        return TERMINAL
    return 1 - state[TURN] if phase == ANSWERING else state[TURN]


@compiled
def legal_actions(state, out):
    phase = state[PHASE]
    if phase == DECIDING:
        out[0] = state[deck.DECK_SIZE] + CHECK
        out[1] = state[deck.DECK_SIZE] + BET
        return 2
    if phase == ANSWERING:
        out[0] = state[deck.DECK_SIZE] + CALL
        out[1] = state[deck.DECK_SIZE] + FOLD
        return 2
    return bits.list_cards(_legal_cards(state), 0, out)


@compiled
def _legal_cards(state):
    hand = state[HAND + state[TURN]]
    if state[LED_CARD] == NO_CARD or state[FOLLOW_SUIT] == 0:
        return hand
    return following(hand, _suit_of(state, state[LED_CARD]))


@compiled
def _suit_of(state, card):
    """The set of all cards of the same suit."""
    return bits.suit_cards(card // state[RANKS], state[RANKS])


@compiled
def apply_action(state, action):
    phase = state[PHASE]
    if phase == PLAYING:
        _play_card(state, action)
    elif phase == DEALING:
        if deck.deal_card(state, action):
            _start_play(state)
    elif action == state[deck.DECK_SIZE] + CHECK:
        state[PHASE] = PLAYING
    elif action == state[deck.DECK_SIZE] + BET:
        state[LAST_BETTOR] = state[TURN]
        state[PHASE] = ANSWERING
    elif action == state[deck.DECK_SIZE] + CALL:
        state[ANTE] += 1
        state[CALLED] = 1
        state[PHASE] = PLAYING
    else:  # fold
        _finish(state, state[TURN])


@compiled
def _start_play(state):
    state[HAND] = state[deck.DEALT]
    state[HAND + 1] = state[deck.DEALT + 1]
    _start_turn(state, 0)


@compiled
def _start_turn(state, player):
    """The last player to bet may not bet again, so she is not asked."""
    state[TURN] = player
    state[CALLED] = 0
    may_bet = state[BETTING] == 1 and state[LAST_BETTOR] != player
    state[PHASE] = DECIDING if may_bet else PLAYING


@compiled
def _play_card(state, card):
    player = state[TURN]
    state[HAND + player] ^= 1 << card
    _record(state, player, card)
    led_card = state[LED_CARD]
    if led_card == NO_CARD:
        state[LED_CARD] = card
        _start_turn(state, 1 - player)
        return
    same_suit = card // state[RANKS] == led_card // state[RANKS]
    if state[FOLLOW_SUIT] == 1 and not same_suit:
        state[VOID + player] |= _suit_of(state, led_card)
    trick_winner = player if same_suit and card > led_card else 1 - player
    state[LED_CARD] = NO_CARD
    if state[CARDS_PLAYED] == 2 * state[HAND_SIZE]:
        _finish(state, trick_winner)  # only the last trick counts
    else:
        _start_turn(state, trick_winner)


@compiled
def _record(state, player, card):
    index = state[CARDS_PLAYED]
    entry = card | state[CALLED] << 5 | player << 6
    state[HISTORY + index // ENTRIES_PER_WORD] |= entry << ENTRY_BITS * (index % ENTRIES_PER_WORD)
    state[CARDS_PLAYED] += 1


@compiled
def _finish(state, winner):
    state[WINNER] = winner
    state[PHASE] = OVER


@compiled
def chance_outcomes(state, outcomes, probabilities):
    return deck.deal_outcomes(state, outcomes, probabilities)


@compiled
def deal(state, generator):
    deck.deal_at_random(state, generator)
    _start_play(state)


@compiled
def resample(state, player, generator):
    """The opponent holds some of the unseen cards, none of a suit she has shown to be void in."""
    other = 1 - player
    played = state[deck.DEALT + other] ^ state[HAND + other]
    unseen = state[HAND + other] | state[deck.DEALT + 2]
    hand = deck.random_subset(unseen & ~state[VOID + other], bits.count(state[HAND + other]), generator)
    state[HAND + other] = hand
    state[deck.DEALT + other] = played | hand
    state[deck.DEALT + 2] = unseen ^ hand


@compiled
def returns(state, out):
    out[0] = 0.0
    if state[PHASE] == OVER:
        out[0] = state[ANTE] if state[WINNER] == 0 else -state[ANTE]
    out[1] = -out[0]


@compiled
def information_key(state, player, out):
    """Own remaining hand and the public history: cards played, bets called, and where the present turn stands."""
    out[0] = state[HAND + player] | state[PHASE] << 32 | state[CALLED] << 35 | state[CARDS_PLAYED] << 36 | player << 42
    for word in range(HISTORY, len(state)):
        out[1 + word - HISTORY] = state[word]


@compiled
def history_entry(state, index):
    """(card, called, player) of the index-th card played."""
    entry = state[HISTORY + index // ENTRIES_PER_WORD] >> ENTRY_BITS * (index % ENTRIES_PER_WORD)
    return entry & 31, entry >> 5 & 1, entry >> 6 & 1


@compiled
def num_suits(state):
    return state[SUITS]


@compiled
def suit_cards(state, suit):
    return bits.suit_cards(suit, state[RANKS])


@compiled
def rename(state, new_suit, out):
    """The same position with suit s called new_suit[s]. Before the deal is complete there is nothing to rename."""
    out[:] = state
    if state[PHASE] == DEALING:
        return
    for pile in range(3):
        out[deck.DEALT + pile] = _rename_cards(state, state[deck.DEALT + pile], new_suit)
    for player in range(2):
        out[HAND + player] = _rename_cards(state, state[HAND + player], new_suit)
        out[VOID + player] = _rename_cards(state, state[VOID + player], new_suit)
    if state[LED_CARD] != NO_CARD:
        out[LED_CARD] = _rename_card(state, state[LED_CARD], new_suit)
    for word in range(HISTORY, len(state)):
        out[word] = 0
    for index in range(state[CARDS_PLAYED]):
        shift = ENTRY_BITS * (index % ENTRIES_PER_WORD)
        entry = state[HISTORY + index // ENTRIES_PER_WORD] >> shift & (1 << ENTRY_BITS) - 1
        renamed = _rename_card(state, entry & 31, new_suit) | entry & ~31
        out[HISTORY + index // ENTRIES_PER_WORD] |= renamed << shift


@compiled
def rename_action(state, action, new_suit):
    return _rename_card(state, action, new_suit) if action < state[deck.DECK_SIZE] else action


@compiled
def signatures(state, player, hand, history, out):
    """The ranks of the suit in the hand, and for each card played: 0 if it was of another suit, else its rank + 1."""
    ranks = state[RANKS]
    for suit in range(state[SUITS]):
        for word in range(out.shape[1]):
            out[suit, word] = 0
        if hand:
            out[suit, 0] = state[HAND + player] >> suit * ranks & (1 << ranks) - 1
    if history:
        for index in range(state[CARDS_PLAYED]):
            card, _, _ = history_entry(state, index)
            place = index + 2  # behind the hand
            out[card // ranks, place // SIGNATURE_ENTRIES] |= (card % ranks + 1) << 4 * (place % SIGNATURE_ENTRIES)


@compiled
def _rename_card(state, card, new_suit):
    suit = card // state[RANKS]
    return card + (new_suit[suit] - suit) * state[RANKS]


@compiled
def _rename_cards(state, cards, new_suit):
    ranks = state[RANKS]
    renamed = 0
    for suit in range(state[SUITS]):
        renamed |= (cards >> suit * ranks & (1 << ranks) - 1) << new_suit[suit] * ranks
    return renamed


@compiled
def _write_player_and_hand(state, player, out):
    """The pieces that both tensors start with; returns the offset behind them."""
    out[player] = 1.0
    cards = state[HAND + player]
    while cards:
        out[2 + bits.lowest(cards)] = 1.0
        cards &= cards - 1
    return 2 + state[deck.DECK_SIZE]


@compiled
def information_tensor(state, player, out):
    offset = _write_player_and_hand(state, player, out)
    num_cards = state[deck.DECK_SIZE]
    cards_in_play = 2 * state[HAND_SIZE]
    played_by = offset + cards_in_play * num_cards
    bets = played_by + cards_in_play * 2
    for index in range(state[CARDS_PLAYED]):
        card, called, seat = history_entry(state, index)
        out[offset + index * num_cards + card] = 1.0
        out[played_by + 2 * index + seat] = 1.0
        if state[BETTING] == 1:
            _write_bet(out, bets + 3 * index, True, called)
    if state[BETTING] == 1 and state[CARDS_PLAYED] < cards_in_play and state[PHASE] >= ANSWERING:
        _write_bet(out, bets + 3 * state[CARDS_PLAYED], state[PHASE] == PLAYING, state[CALLED])


@compiled
def _write_bet(out, offset, settled, called):
    """What was said before a card: nothing (checked, freely or by force), a bet, a bet that was called."""
    if settled and called == 0:
        out[offset] = 1.0
    else:
        out[offset + 1] = 1.0
        out[offset + 2] = called


@compiled
def observation_tensor(state, player, out):
    offset = _write_player_and_hand(state, player, out)
    num_cards = state[deck.DECK_SIZE]
    if state[LED_CARD] != NO_CARD:
        out[offset + state[LED_CARD]] = 1.0
    offset += num_cards
    for index in range(state[CARDS_PLAYED]):
        card, _, seat = history_entry(state, index)
        out[offset + seat * num_cards + card] = 1.0
    offset += 2 * num_cards
    if state[PHASE] != DEALING and state[PHASE] != OVER:
        out[offset + state[CARDS_PLAYED] // 2] = 1.0
    offset += state[HAND_SIZE]
    if state[BETTING] == 1:
        if state[PHASE] != DEALING and state[PHASE] != OVER:
            out[offset + state[PHASE] - DECIDING] = 1.0
        out[offset + 3 + state[ANTE] - 1] = 1.0
        if state[LAST_BETTOR] != NOBODY:
            out[offset + 3 + 2 * state[HAND_SIZE] + 1 + state[LAST_BETTOR]] = 1.0


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
