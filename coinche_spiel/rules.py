"""The rules of Coinche as one record: parameters of a variant, its root state, its kernel.

The rules themselves are in `auction`, `play` and `scoring`; `state` says where a state keeps what; RULES.md tells
them in words.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.parameters import (
    bad_value,
    require,
    require_flag,
    require_known,
    require_number,
    require_one_of,
    require_whole,
)
from cardtable.recall import Recall
from cardtable.redeal import redeal
from cardtable.rules import CHANCE, TERMINAL, Kernel, Rules
from coinche_spiel import scoring
from coinche_spiel import state as slots
from coinche_spiel.auction import apply_call, legal_calls, moves, start_auction
from coinche_spiel.cards import NUM_RANKS, NUM_SUITS, PLAIN_POINTS, RANK_LETTERS, TRUMP_POINTS, card_of
from coinche_spiel.features import FEATURES
from coinche_spiel.observation import (
    INFORMATION_PIECES,
    KEY_WORDS,
    OBSERVATION_PIECES,
    information_key,
    information_tensor,
    observation_tensor,
)
from coinche_spiel.play import legal_cards, play_card
from coinche_spiel.scoring import returns
from coinche_spiel.state import (
    ABSENT,
    BIDDING,
    DEALING,
    HAND,
    MAX_PLAYERS,
    MAX_TRICKS,
    MAX_VALUES,
    NONE,
    NUM_ACTIONS,
    OVER,
    PHASE,
    PLAYERS,
    PLAYING,
    REWARD_SCHEMES,
    TURN,
)
from coinche_spiel.symmetry import SYMMETRY

NAME = "python_coinche"
VERSION = 1  # of the rules: raised when positions, action ids or information keys change
DEFAULTS: dict[str, int | float | bool | str] = {
    "players": 4,
    "suits": 4,
    "ranks": RANK_LETTERS,
    "hand_size": 8,
    "min_bid": 80,
    "max_bid": 160,
    "capot_value": 250,
    "coinche": True,
    "surcoinche_factor": 4,
    "fall_points": 160,
    "coinched_fall": "fixed",
    "coinche_takes_over": False,
    "der": 10,
    "belote": False,
    "pisser": "free",
    "under_partner": "free",
    "reward": "mirror",
    "trick_reward": 0.0,
    "dealer": -1,
}
# They change what is paid, and nothing that is legal or seen.
PAYOFF_PARAMETERS = ("surcoinche_factor", "fall_points", "coinched_fall", "belote", "reward", "trick_reward")


def coinche_rules(**parameters: int | float | bool | str) -> Rules:
    """The rules record of one variant, by the parameters in `DEFAULTS`; raises UserError if there is no such game."""
    require_known(parameters, DEFAULTS, NAME)
    chosen = DEFAULTS | parameters
    root = _root(chosen)
    players, hand_size = int(root[PLAYERS]), int(root[slots.HAND_SIZE])
    deck_cards = int(root[deck.DECK_CARDS])
    undealt = deck_cards.bit_count() - players * hand_size
    low, high = _payoff_bounds(root, chosen)
    return Rules(
        kernel=KERNEL,
        root=root,
        version=VERSION,
        num_players=players,
        num_distinct_actions=NUM_ACTIONS,
        max_chance_outcomes=players + (1 if undealt else 0),
        max_game_length=longest_auction(root) + players * hand_size,
        max_chance_nodes=deck_cards.bit_count() - 1,
        min_utility=low,
        max_utility=high,
        utility_sum=0.0 if chosen["reward"] in ("mirror", "points") else None,
        key_words=KEY_WORDS,
        payoff_parameters=PAYOFF_PARAMETERS,
        information_pieces=INFORMATION_PIECES,
        observation_pieces=OBSERVATION_PIECES,
        teams=((0, 2), (1, 3)) if players == MAX_PLAYERS else (),
        # A permutation of the suits is one of the whole game if the calls that name suits move along with the cards.
        interchangeable_suits=tuple(
            tuple(card for card in range(suit * NUM_RANKS, (suit + 1) * NUM_RANKS) if deck_cards >> card & 1)
            for suit in range(int(root[slots.SUITS]))
        ),
        symmetry=SYMMETRY,
        features=FEATURES,
        moves=moves,
        recall=RECALL,
    )


def longest_auction(root: np.ndarray) -> int:
    """The number of calls in the longest auction: everybody passes as often as possible between any two calls."""
    players = int(root[PLAYERS])
    values = int(root[slots.NUM_VALUES]) + (1 if root[slots.CAPOT_VALUE] else 0)
    # Before the first contract all but one may pass; later one pass fewer, or the auction would be over. It ends with
    # passes after the last contract, or with a coinche and then passes or a surcoinche.
    rounds_at_end = 2 if root[slots.COINCHE_ALLOWED] else 1
    return players + (players - 1) * (values - 1 + rounds_at_end)


def _root(chosen: dict) -> np.ndarray:
    """Checks the parameters and writes them into an undealt state."""
    players = chosen["players"]
    require_one_of("players", players, (2, MAX_PLAYERS), NAME)
    require_whole("suits", chosen["suits"], 1, NUM_SUITS, NAME)
    ranks = _rank_indices(chosen["ranks"])
    num_cards = chosen["suits"] * len(ranks)
    most = min(MAX_TRICKS, num_cards // players)
    if most == 0:
        raise bad_value(
            "suits * ranks", num_cards, f"a deck of at least {players} cards, as there are {players} players", NAME
        )
    because = f"at most {MAX_TRICKS} cards for each of the {players} players, out of a deck of {num_cards}"
    require_whole("hand_size", chosen["hand_size"], 1, most, NAME, because)
    require_whole("min_bid", chosen["min_bid"], 1, of=NAME)
    highest = chosen["min_bid"] + 10 * (MAX_VALUES - 1)
    require(
        chosen["min_bid"] <= chosen["max_bid"] <= highest and (chosen["max_bid"] - chosen["min_bid"]) % 10 == 0,
        "max_bid",
        chosen["max_bid"],
        f"min_bid plus a multiple of 10, from {chosen['min_bid']} to {highest} ({MAX_VALUES} values at most)",
        NAME,
    )
    require(
        chosen["capot_value"] == 0 or chosen["capot_value"] > chosen["max_bid"],
        "capot_value",
        chosen["capot_value"],
        f"0 (capot cannot be bid) or more than max_bid, {chosen['max_bid']}",
        NAME,
    )
    for name in ("coinche", "coinche_takes_over", "belote"):
        require_flag(name, chosen[name], NAME)
    require_whole("surcoinche_factor", chosen["surcoinche_factor"], 2, of=NAME)
    require_whole("fall_points", chosen["fall_points"], 0, of=NAME)
    require_whole("der", chosen["der"], 0, of=NAME)
    has_pair = {"K", "Q"} <= set(chosen["ranks"])
    require(has_pair or not chosen["belote"], "belote", chosen["belote"], "False, as the ranks lack K or Q", NAME)
    weight = chosen["trick_reward"]
    require_number("trick_reward", weight, 0, of=NAME)
    dealer = chosen["dealer"]
    require_whole("dealer", dealer, -1, players - 1, NAME, "a seat, or -1 for the last one")

    deck_cards = sum(1 << card_of(suit, rank) for suit in range(chosen["suits"]) for rank in ranks)
    undealt = num_cards - players * chosen["hand_size"]
    piles = [chosen["hand_size"]] * players + ([undealt] if undealt else [])
    root = deck.new_state(slots.STATE_SIZE, piles, deck_cards)
    root[PLAYERS] = players
    root[slots.SUITS] = chosen["suits"]
    root[slots.HAND_SIZE] = chosen["hand_size"]
    root[slots.NUM_VALUES] = (chosen["max_bid"] - chosen["min_bid"]) // 10 + 1
    root[slots.MIN_BID] = chosen["min_bid"]
    root[slots.CAPOT_VALUE] = chosen["capot_value"]
    root[slots.COINCHE_ALLOWED] = chosen["coinche"]
    root[slots.SURCOINCHE_FACTOR] = chosen["surcoinche_factor"]
    root[slots.FALL_POINTS] = chosen["fall_points"]
    root[slots.COINCHED_FALL_IS_VALUE] = _choice(chosen, "coinched_fall", ("fixed", "value"))
    root[slots.COINCHE_TAKES_OVER] = chosen["coinche_takes_over"]
    root[slots.DER] = chosen["der"]
    root[slots.BELOTE] = chosen["belote"]
    root[slots.MUST_UNDERTRUMP] = _choice(chosen, "pisser", ("free", "forced"))
    root[slots.MUST_OVERTRUMP_PARTNER] = _choice(chosen, "under_partner", ("free", "no_under"))
    root[slots.REWARD] = _choice(chosen, "reward", REWARD_SCHEMES)
    root[slots.TRICK_REWARD] = np.float64(weight).view(np.int64)
    root[slots.DEALER] = players - 1 if dealer == -1 else dealer
    slots.clear_table(root)
    return root


def _choice(chosen: dict, name: str, allowed: tuple[str, ...]) -> int:
    return require_one_of(name, chosen[name], allowed, NAME)


def _rank_indices(ranks: str) -> list[int]:
    known = set(ranks) <= set(RANK_LETTERS) and len(set(ranks)) == len(ranks) > 0
    require(known, "ranks", ranks, f"some of the letters {RANK_LETTERS}, each at most once (T is the ten)", NAME)
    return sorted(RANK_LETTERS.index(letter) for letter in ranks)


def _payoff_bounds(root: np.ndarray, chosen: dict) -> tuple[float, float]:
    """The lowest and the highest payoff: every contract at every level, made and not, and a void deal."""
    trial = root.copy()
    trial[slots.TRUMP] = trial[slots.DECLARER] = 0
    ranks = _rank_indices(chosen["ranks"])
    points = sum(TRUMP_POINTS[rank] + (chosen["suits"] - 1) * PLAIN_POINTS[rank] for rank in ranks) + chosen["der"]
    trial[slots.POINTS] = points  # where points are scored, the attack has them all, and every trick
    trial[[slots.TRICKS, slots.TRICKS + 1]] = root[slots.HAND_SIZE]
    if chosen["belote"]:
        trial[deck.DEALT] = scoring.BELOTE_PAIR  # and belote
    payoffs = [0]
    for value in [*range(int(root[slots.NUM_VALUES])), slots.CAPOT]:
        trial[slots.VALUE] = value
        for coincher, surcoincher in ((NONE, NONE), (1, NONE), (1, 0))[: 3 if chosen["coinche"] else 1]:
            trial[[slots.COINCHER, slots.SURCOINCHER]] = coincher, surcoincher
            for made in (False, True):
                payoffs += scoring.team_scores(trial, made, root[slots.REWARD])
    swing = chosen["trick_reward"] * points
    return float(min(payoffs) - swing), float(max(payoffs) + swing)


@compiled
def current_player(state):
    phase = state[PHASE]
    if phase == DEALING:
        return CHANCE
    if phase == OVER:
        return TERMINAL
    return state[TURN]


@compiled
def legal_actions(state, out):
    if state[PHASE] == BIDDING:
        return legal_calls(state, out)
    return bits.list_cards(legal_cards(state), 0, out)


@compiled
def apply_action(state, action):
    if state[PHASE] == PLAYING:
        play_card(state, action)
    elif state[PHASE] == BIDDING:
        apply_call(state, action)
    elif deck.deal_card(state, action):
        _pick_up_hands(state)


@compiled
def chance_outcomes(state, outcomes, probabilities):
    return deck.deal_outcomes(state, outcomes, probabilities)


@compiled
def deal(state, generator):
    deck.deal_at_random(state, generator)
    _pick_up_hands(state)


@compiled
def _pick_up_hands(state):
    for seat in range(state[PLAYERS]):
        state[HAND + seat] = state[deck.DEALT + seat]
    start_auction(state)


@compiled
def unseen_cards(state, player, needs, forbidden):
    """The cards whose place the player does not know; how many each pile has of them, and which it cannot have."""
    players = state[PLAYERS]
    unseen = 0
    for pile in range(state[deck.NUM_PILES]):
        cards = state[deck.DEALT + pile]
        needs[pile] = forbidden[pile] = 0
        if pile < players:
            cards = state[HAND + pile]
            forbidden[pile] = state[ABSENT + pile]
        if pile != player:
            unseen |= cards
            needs[pile] = bits.count(cards)
    return unseen


@compiled
def resample(state, player, generator):
    """The other seats hold the unseen cards, none of those their plays have shown to be absent."""
    players = state[PLAYERS]
    num_piles = state[deck.NUM_PILES]
    needs = np.zeros(deck.MAX_PILES, np.int64)
    forbidden = np.zeros(deck.MAX_PILES, np.int64)
    piles = np.zeros(deck.MAX_PILES, np.int64)
    redeal(unseen_cards(state, player, needs, forbidden), needs, forbidden, num_piles, piles, generator)
    for pile in range(num_piles):
        if pile == player:
            continue
        if pile < players:
            hold(state, pile, state[deck.DEALT + pile] ^ state[HAND + pile] | piles[pile])
        else:
            state[deck.DEALT + pile] = piles[pile]


@compiled
def hand_dealt(state, seat):
    return state[deck.DEALT + seat]


@compiled
def hold(state, seat, hand):
    """The seat was dealt this hand, and has played from it what it has played."""
    played = state[deck.DEALT + seat] ^ state[HAND + seat]
    state[deck.DEALT + seat] = hand
    state[HAND + seat] = hand & ~played


@compiled
def rewind(state):
    """Back to the moment after the deal."""
    slots.clear_table(state)
    _pick_up_hands(state)


RECALL = Recall(hand_dealt, hold, rewind, unseen_cards, moves)
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
