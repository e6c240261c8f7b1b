"""Exact best responses in Toepen of any size that is played with four cards or fewer, hand by hand.

    response = HandResponse(rules, blocks)
    response.value(hand, seat)    # (best response, what the policy itself wins), exact for that hand

For one hand of the responder the walk (`solvers.toepen.response_walk`) meets everything that can happen, so its value
is exact; averaged over all hands, or over one of each orbit of suits weighted by its size, and added over both seats,
it is

    NashConv = sum over seats of E[best response(hand) - own value(hand)].

Over a random sample of hands it is an unbiased estimate with a confidence interval.

`TableResponse(game, table)` is the same for a table that sampling made in a transform of Toepen that names suits by
their orbits (`solvers.toepen.table_walk`); it takes ten times as long, or more. `PlayerResponse(player, suits_alike)`
asks any player that has probabilities, such as a network, for every position (`solvers.toepen.player_walk`), which is
for hands of up to three cards.
"""

from __future__ import annotations

import itertools
import math
import threading
from typing import NamedTuple

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.parameters import UserError, require_player
from cardtable.player import RANDOM, Player, find_player, original_game
from cardtable.randomness import generator
from cardtable.rules import Rules
from cardtable.spiel import CardGame, load_game
from solvers.sampling.hash_table import InformationTable
from solvers.sampling.on_rules import CUMULATIVE_STRATEGY
from solvers.toepen import asking_walk as asking
from solvers.toepen import player_walk as players
from solvers.toepen import response_walk as walk
from solvers.toepen import table_walk as tables
from solvers.toepen.blocks import Blocks
from solvers.toepen.histories import Histories, betting_histories
from solvers.toepen.last_bet import call_rows
from solvers.toepen.parts import parts_of
from solvers.toepen.views import NUM_SEEN, suit_numbers
from toepen_spiel import state as slots
from toepen_spiel.abstraction import CARD_BITS, CARDS_OF_INFORMATION_KEY, CARDS_OF_KEY, HISTORIES
from toepen_spiel.rules import toepen_rules
from transforms.bucketing import HISTORY_SLOT, BucketingGame
from transforms.card_isomorphism import CardIsomorphismGame
from transforms.lifting import lifted_player
from transforms.wrapping import TransformedGame

CHOICES = 255  # of the first word of a bucketing's key: how many actions there are, which goes by what is asked
MOST_CARDS = 5  # in a hand: beyond that a single hand takes hours
BATCH = 1 << 15  # positions that a player is asked for at once
MOST_POSITIONS = 20_000_000  # that a player is asked for, with one hand: a minute or two for a small network


def require_walkable(hand_size: int) -> None:
    if hand_size > MOST_CARDS:
        raise UserError(f"hand_size is {hand_size}; best responses by hands allow at most {MOST_CARDS}")


class HandValue(NamedTuple):
    """What one hand is worth in one seat."""

    best_response: float
    own: float  # what the policy itself wins

    @property
    def gain(self) -> float:
        return self.best_response - self.own


class _Response:
    """What both kinds of responses share; one thread, as they have their own workspace."""

    def __init__(self, rules: Rules, dtype: type) -> None:
        root = rules.root
        self.suits, self.ranks, self.hand_size = (
            int(root[slot]) for slot in (slots.SUITS, slots.RANKS, slots.HAND_SIZE)
        )
        require_walkable(self.hand_size)
        betting, follow_suit = bool(root[slots.BETTING]), bool(root[slots.FOLLOW_SUIT])
        self.histories = betting_histories(self.hand_size, betting)
        # The walk plays the cards; bets are vectors. So its states are of the game without betting.
        self._root = toepen_rules(self.suits, self.ranks, self.hand_size, False, follow_suit).new_state()
        self._work = _work(self._root, self.histories, self.suits * self.ranks, self.hand_size, dtype)
        self._units: np.ndarray = np.array([0.0, *(1.0 / n for n in range(1, 5))], dtype)

    def value(self, hand: int, seat: int) -> HandValue:
        """Of a hand, as a card set, in one seat."""
        self._start(hand, seat)
        self._walk(seat)
        return self._found()

    def _found(self) -> HandValue:
        width = self.histories.width
        return HandValue(*(float(self._work.vectors[which * width]) for which in (walk.BEST, walk.OWN)))

    def _walk(self, seat: int) -> None:
        raise NotImplementedError

    def _asking(self, shown: np.ndarray, suits_alike: bool, dtype: type) -> asking.Scratch:
        """Room for policies that are asked position by position, and see states like `shown`."""
        cards = self.suits * self.ranks
        room = (1 + self.hand_size) * self.histories.width
        most_hands = math.comb(cards - self.hand_size, self.hand_size)
        return asking.Scratch(
            numbers=np.zeros((len(self._work.nodes) + 1 + most_hands) * room, dtype),
            shown=shown,
            cards=np.zeros(self.hand_size, np.int64),
            named=np.array([0 if suits_alike else (1 << cards) - 1], np.int64),
        )

    def _start(self, hand: int, seat: int) -> None:
        require_player(seat, 2)
        cards = self.suits * self.ranks
        if not 0 <= hand < 1 << cards or hand.bit_count() != self.hand_size:
            raise UserError(f"hand is {hand}; allowed: sets of {self.hand_size} of the {cards} cards, as bits")
        work = self._work
        state = work.states[0]
        state[:] = self._root
        state[slots.PHASE], state[slots.TURN] = slots.PLAYING, 0
        state[deck.DEALT + seat] = state[slots.HAND + seat] = hand
        # His hand is unknown: what is in its slot after he has played are the cards he has played.
        state[deck.DEALT + 1 - seat] = state[slots.HAND + 1 - seat] = 0
        work.memories[0] = 0
        others = [card for card in range(cards) if not hand >> card & 1]
        count = math.comb(len(others), self.hand_size)
        work.hands[:count] = _card_sets(len(others), self.hand_size, tuple(others))
        buffer = work.buffers[0]
        length = int(buffer[walk.LENGTH])
        work.rows[: count * length] = 1.0 / count
        work.nodes[0] = 0
        work.nodes[0, walk.HIGH] = count


class HandResponse(_Response):
    """Best responses to a policy over views.

    If its last bet is made by arithmetic, what it wins itself is not found on the way. What the blocks alone win takes
    its place: that too adds up to zero over both seats, so NashConv and its estimates stay what they are.
    """

    def __init__(self, rules: Rules, blocks: Blocks, dtype: type = np.float32) -> None:
        super().__init__(rules, dtype)
        self._memory, classes = blocks.abstraction.arrays()
        self._policy = _policy(blocks, classes, self.histories, self.hand_size, dtype)
        self._blocks_only = self._policy._replace(last_calls=self._policy.last_calls[:0])

    def _walk(self, seat: int) -> None:
        walk.walk(self._policy, self._work, seat, self._units, self._memory)

    def value(self, hand: int, seat: int) -> HandValue:
        found = super().value(hand, seat)
        if not len(self._policy.last_calls):
            return found
        self._start(hand, seat)
        walk.walk(self._blocks_only, self._work, seat, self._units, self._memory)
        return found._replace(own=self._found().own)


def treats_suits_alike(game: CardGame) -> bool:
    """Whether every policy of this game does: names of suits are gone in suit orbits, and in bucketing of them."""
    orbits = game.base if isinstance(game, BucketingGame) else game
    return isinstance(orbits, CardIsomorphismGame) and orbits.get_parameters().get("method", "orbit") == "orbit"


class TableResponse(_Response):
    """Best responses to the averages of a sampling solver's table, in a transform of Toepen."""

    def __init__(self, game: CardGame, table: InformationTable, dtype: type = np.float32) -> None:
        if not treats_suits_alike(game):
            raise UserError(
                f"{game} tells suits apart; allowed: python_card_isomorphism(method=orbit), and bucketing of it"
            )
        rules, origin = game.rules, game.rules.origin
        assert origin is not None, "it is a transform"
        super().__init__(origin.rules, dtype)
        kept = "exact"
        cards_only: tuple[int, ...] = CARDS_OF_INFORMATION_KEY
        if isinstance(game, BucketingGame):
            kept = HISTORIES[int(rules.root[HISTORY_SLOT])]
            cards_only = (~CHOICES, *CARDS_OF_KEY)
        history_words = len(self._root) - slots.HISTORY
        said = asking.said_in(self.histories, kept, history_words)
        masks = np.array([*cards_only, *[CARD_BITS] * (rules.key_words - len(cards_only))], np.int64)
        self._asked = tables.Asked(
            table.words,
            table.numbers,
            table.slots,
            tables.filter_of(table.contents(CUMULATIVE_STRATEGY).keys, masks),
            masks,
            *said,
            _places_of_yes(game),
            key=np.zeros(rules.key_words, np.int64),
            names=np.zeros(self.hand_size, np.int64),
            chances=np.zeros((1 + self.hand_size) * self.histories.width),
        )
        self._kernel = rules.compiled_kernel().addresses()
        self._label = tables.Label(origin.label).addresses()
        self._scratch = self._asking(rules.new_state(), suits_alike=True, dtype=dtype)

    def _walk(self, seat: int) -> None:
        tables.walk(self._kernel, self._label, self._asked, self._work, self._scratch, seat, self._units)


class PlayerResponse(_Response):
    """Best responses to any player of Toepen that has probabilities, which is asked for many positions at once."""

    def __init__(self, player: Player, suits_alike: bool, dtype: type = np.float32) -> None:
        if player.probabilities_rows is None:
            raise UserError(f"the player {player.name!r} chooses actions, but has no probabilities for them")
        rules = player.game.rules
        super().__init__(rules, dtype)
        positions = most_positions(self.suits * self.ranks, self.hand_size, self.histories)
        if positions > MOST_POSITIONS:
            raise UserError(
                f"{player.name} is asked for every position, and with one hand of {player.game} there are up to "
                f"{positions:,}; allowed: {MOST_POSITIONS:,}, which is more than three cards of the full deck take"
            )
        self._ask, self._dtype = player.probabilities_rows, dtype
        said = asking.said_in(self.histories, "exact", len(self._root) - slots.HISTORY)
        self._most = self._most_of_a_node()
        self._questions = players.Questions(
            *said,
            states=np.zeros((BATCH + self._most, rules.state_size), np.int64),
            answers=np.zeros(0, dtype),
            place=np.zeros(players.PLACE_WORDS, np.int64),
        )
        self._scratch = self._asking(rules.new_state(), suits_alike, dtype)

    def _most_of_a_node(self) -> int:
        """The most positions that one node asks about: all his hands, and her own."""
        unseen, found = self.suits * self.ranks - self.hand_size, 0
        for turn in range(self.histories.turns):
            hands = math.comb(unseen - turn // 2, self.hand_size - turn // 2)
            found = max(found, (hands + 1) * int((self.histories.bets + self.histories.after)[turn].max()))
        return found

    def value(self, hand: int, seat: int) -> HandValue:
        answers: list[np.ndarray] = [np.zeros(0, self._dtype)]
        self._begin(hand, seat)
        place = self._questions.place
        while place[players.LEVEL] >= 0:
            self._walk(seat)
            answers.append(self._answers(int(place[players.ASKED])))
            place[players.ASKED] = 0
        self._begin(hand, seat)
        place[players.ANSWERED] = 1
        self._questions = self._questions._replace(answers=np.concatenate(answers))
        self._walk(seat)
        self._questions = self._questions._replace(answers=answers[0])
        return self._found()

    def _begin(self, hand: int, seat: int) -> None:
        self._start(hand, seat)
        self._questions.place[:] = 0
        self._questions.place[players.NEW] = 1

    def _walk(self, seat: int) -> None:
        players.walk(self._questions, self._work, self._scratch, seat, self._units, self._most)

    def _answers(self, count: int) -> np.ndarray:
        states = self._questions.states[:count]
        chances = np.ascontiguousarray(self._ask(states, np.arange(count)), np.float64)
        found: np.ndarray = np.zeros(count * self.hand_size, self._dtype)
        return found[: players.take_answers(states, chances, found)].copy()


def most_positions(cards: int, hand_size: int, histories: Histories) -> int:
    """An upper bound of the positions that a walk of one hand asks about: as if every card could be played."""
    unseen, found = cards - hand_size, 0
    for turn in range(histories.turns):
        tricks, second = divmod(turn, 2)
        hers, his = tricks, tricks + second  # cards they have played if he led; there are as many ways if she did
        hands = math.comb(unseen - his, hand_size - his)
        ways = math.perm(unseen, his) * math.perm(hand_size, hers) * (hands + 1)
        found += ways * int((histories.bets + histories.after)[turn].max())
    return found


def _places_of_yes(game: CardGame) -> np.ndarray:
    """Where bet, and call, stand among the two actions of a transform: cards do not matter to that."""
    rules, origin = game.rules, game.rules.origin
    assert origin is not None, "it is a transform"
    state = rules.new_state()
    rules.kernel.deal(state, generator(1))
    places = []
    actions = np.empty(rules.num_distinct_actions, np.int64)
    for phase, action in ((slots.DECIDING, slots.BET), (slots.ANSWERING, slots.CALL)):
        state[slots.PHASE] = phase
        count = rules.kernel.legal_actions(state, actions)
        places.append(actions[:count].tolist().index(origin.label(state, state[deck.DECK_SIZE] + action)))
    return np.array(places, np.int64)


class SampledTable(NamedTuple):
    """What sampling has learned in a transform of Toepen."""

    game: CardGame
    table: InformationTable


class AskedPlayer(NamedTuple):
    """Any player that has probabilities, as a text; every worker finds it for itself."""

    text: str
    game: str  # that it was made for: Toepen, or a transform of it

    @property
    def suits_alike(self) -> bool:
        return treats_suits_alike(load_game(self.game))

    def player(self) -> Player:
        """As a player of Toepen."""
        game = load_game(self.game)
        player = find_player(self.text, game)
        return lifted_player(player, game, original_game(game)) if isinstance(game, TransformedGame) else player


class Question(NamedTuple):
    """What workers of an executor share: a policy in a game."""

    sizes: tuple[int, int, int]  # suits, ranks, hand size
    betting: bool
    follow_suit: bool
    policy: Blocks | SampledTable | AskedPlayer

    def prepare(self) -> None:
        """Compiles, or loads."""
        small = toepen_rules(2, 2, 2)
        name = "python_toepen(suits=2,ranks=2,hand_size=2)"
        if isinstance(self.policy, Blocks):
            HandResponse(small, Blocks.nothing()).value(3, 0)
        elif isinstance(self.policy, AskedPlayer):
            PlayerResponse(find_player(RANDOM, pyspiel.load_game(name)), suits_alike=True).value(3, 0)
        else:
            game = pyspiel.load_game(f"python_card_isomorphism(game={name})")
            TableResponse(game, InformationTable(small.key_words, small.num_distinct_actions)).value(3, 0)

    def response(self) -> HandResponse | TableResponse | PlayerResponse:
        if isinstance(self.policy, SampledTable):
            return TableResponse(*self.policy)
        if isinstance(self.policy, AskedPlayer):
            return PlayerResponse(self.policy.player(), self.policy.suits_alike)
        return HandResponse(toepen_rules(*self.sizes, self.betting, self.follow_suit), self.policy)


_own = threading.local()  # a workspace for each thread


def hand_value(question: Question, item: tuple[int, int]) -> HandValue:
    """The value of (hand, seat): a piece of work for an executor."""
    if getattr(_own, "question", None) is not question:
        _own.question, _own.response = question, question.response()
    return _own.response.value(*item)


def hand_orbits(suits: int, ranks: int, hand_size: int) -> tuple[np.ndarray, np.ndarray]:
    """One hand of each orbit under renamings of suits, as card sets, and the probability of its orbit."""
    hands, _ = all_hands(suits, ranks, hand_size)
    by_suit = np.stack([hands >> suit * ranks & (1 << ranks) - 1 for suit in range(suits)], axis=1)
    kinds, counts = np.unique(-np.sort(-by_suit, axis=1), axis=0, return_counts=True)
    chosen = (kinds << ranks * np.arange(suits)).sum(axis=1)
    return chosen, counts / counts.sum()


def all_hands(suits: int, ranks: int, hand_size: int) -> tuple[np.ndarray, np.ndarray]:
    """All hands, as card sets, and the probability of each: for policies that tell suits apart."""
    hands = _card_sets(suits * ranks, hand_size, tuple(range(suits * ranks)))
    return hands, np.full(len(hands), 1 / len(hands))


def random_hands(suits: int, ranks: int, hand_size: int, count: int, seed: int) -> np.ndarray:
    """So many hands, uniformly drawn, as card sets."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(suits * ranks, hand_size, replace=False) for _ in range(count)]
    return (np.int64(1) << np.array(drawn, np.int64).reshape(count, hand_size)).sum(axis=1)


def _card_sets(size: int, count: int, cards: tuple[int, ...]) -> np.ndarray:
    chosen = np.array(list(itertools.combinations(range(size), count)), np.int64)
    return (np.int64(1) << np.array(cards, np.int64))[chosen].sum(axis=1)


def _policy(blocks: Blocks, classes: np.ndarray, histories: Histories, hand_size: int, dtype: type) -> walk.Policy:
    """Puts the uniform choices in front of the blocks: bets at 0, then cards for each composition of labels.

    Behind them stand the calls by arithmetic, if there are any.
    """
    width = histories.width
    runs: list[np.ndarray] = [np.full(width, 0.5)]
    uniform = np.zeros(1 << hand_size, np.int64)
    place = width
    for composition in range(1, 1 << hand_size):
        uniform[composition] = place
        members = [len(part) for part in bin(composition)[2:].replace("1", " 1").split()]
        for size in members:
            runs.append(np.full(width, size / sum(members)))
        place += width * len(members)
    calls = call_rows(histories) if blocks.arithmetic else np.empty((0, width))
    last_calls = place + width * np.arange(len(calls))
    place += calls.size
    parts, own = parts_of(blocks, place)
    # Whoever wrote the blocks may be wrong about the labels of the last one: what is read behind it is ours too.
    room = np.zeros(width * (hand_size + 1))
    numbers: np.ndarray = np.concatenate([*runs, *calls, own, room]).astype(dtype)
    return walk.Policy(*parts, numbers, uniform, suit_numbers(), classes, last_calls)


def _work(root: np.ndarray, histories: Histories, num_cards: int, hand_size: int, dtype: type) -> walk.Work:
    turns, width, ranks = histories.turns, histories.width, int(root[slots.RANKS])
    unseen = num_cards - hand_size
    capacity = [math.comb(unseen, hand_size)]
    for played in range(hand_size):
        left = hand_size - played
        capacity.append(math.comb(unseen - played, left) * left)
    lengths = [histories.most_before(min(2 * played + 1, turns)) for played in range(hand_size + 1)]
    buffers = np.zeros((hand_size + 1, 3), np.int64)
    buffers[1:, walk.HANDS] = np.cumsum(capacity)[:-1]
    buffers[1:, walk.ROWS] = np.cumsum(np.multiply(capacity, lengths))[:-1]
    buffers[:, walk.LENGTH] = lengths
    return walk.Work(
        states=np.zeros((turns + 1, len(root)), np.int64),
        memories=np.zeros((turns + 1, 2), np.int64),
        nodes=np.zeros((turns + 1, walk.NODE_WORDS), np.int64),
        children=np.zeros((turns + 1, num_cards, walk.CHILD_WORDS), np.int64),
        vectors=np.zeros((turns + 1) * walk.NUM_VECTORS * width, dtype),
        hands=np.zeros(sum(capacity), np.int64),
        rows=np.zeros(int(np.dot(capacity, lengths)), dtype),
        buffers=buffers,
        found=np.zeros((capacity[0] + 1, walk.FOUND_WORDS), np.int64),
        pairs=np.zeros((capacity[0] * hand_size, walk.PAIR_WORDS), np.int64),
        seen=np.zeros((slots.MAX_SUITS, NUM_SEEN), np.int64),
        own_numbers=np.zeros(slots.MAX_SUITS, np.int64),
        twins=np.zeros(slots.MAX_SUITS, np.int64),
        cursors=np.zeros(num_cards, np.int64),
        cards=np.zeros((3, num_cards), np.int64),
        row=np.zeros(width, dtype),
        suit_of=np.array([[card // ranks * ranks, (1 << ranks) - 1] for card in range(num_cards)]),
        turns=histories.packed(),
        stakes=(1 + histories.calls).astype(dtype).reshape(-1),
    )
