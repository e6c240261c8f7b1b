"""Mr. If and Mr. Greed clause by clause, their published strength, and bots."""

import math
import random
from collections.abc import Callable

import numpy as np
import pyspiel
import pytest

import gongzhu_spiel  # noqa: F401
from cardtable.match import Match, play_match
from cardtable.player import compiled_player, find_player, players_of
from cardtable.randomness import generator
from cardtable.tricks import played_card
from gongzhu_spiel import players, rules
from gongzhu_spiel import state as slots
from gongzhu_spiel.players import mr_greed, mr_if, mr_team
from tests.gongzhu_spiel import oracle
from tests.gongzhu_spiel.oracle import Card

CARDS = oracle.full_deck()
FULL = rules.gongzhu_rules(4, 13, 0)


def number(name: str) -> int:
    return CARDS.index((name[0], name[1:]))


def card_set(names: str) -> int:
    return sum(1 << number(name) for name in names.split())


def position(table: str, hand: str) -> np.ndarray:
    """Seat 0 leads; the cards of `table` are played, and the next seat holds `hand`."""
    state = FULL.new_state()
    names = table.split()
    used = card_set(table) | card_set(hand)
    rest = [card for card in range(52) if not used >> card & 1]
    dealt = [0] * 4
    for seat in range(4):
        own = card_set(names[seat]) if seat < len(names) else 0
        if seat == len(names):
            own = card_set(hand)
        dealt[seat] = own
    # Whoever is not to move gets any cards; the hand to move may be short, for it is all the players look at.
    for seat in range(4):
        while seat != len(names) and dealt[seat].bit_count() < 13 and rest:
            dealt[seat] |= 1 << rest.pop()
    for seat in range(4):
        state[rules.deck.DEALT + seat] = dealt[seat]
        state[slots.HAND + seat] = dealt[seat]
        state[rules.deck.ROOM + seat] = 0
    state[rules.deck.NEXT_CARD] = 52
    for name in names:
        rules.apply_action(state, number(name))
    assert state[slots.TURN] == len(names)
    return state


def choice(player: Callable, table: str, hand: str) -> str:
    return "".join(CARDS[player(position(table, hand), generator(1))])


@pytest.mark.parametrize(
    ("table", "hand", "card"),
    [
        # Leading: the highest card of the shortest safe suit.
        ("", "S2 S9 H3 H4 H5 D2 D3 D4 D5 C2 C3 C4 C5", "S9"),
        ("", "SQ S9 H3 H4 H5 D2 D3 D4 D5 C2 C3 C4 C5", "H5"),
        ("", "SK HQ H4 H5 DJ D3 D4 D5 C2 C3 C4 C5 C6", "C6"),
        # No card of the suit: the worst first.
        ("S2", "H3 D4 HA C10", "HA"),
        ("C2", "SA SK HK D2", "SA"),
        ("C2", "SQ HA", "SQ"),
        ("C2", "H10 H5 SK", "SK"),
        ("C2", "S4 S9 D2 D3 D9", "S9"),
        # Spades: the pig goes under king or ace; below them otherwise; the last player may take a harmless trick.
        ("SK", "SQ S3 S4", "SQ"),
        ("SA S2", "S3 S9 SK", "SK"),
        ("S2", "S3 S9 SK", "S9"),
        ("S2 S4 S5", "S3 S9 SK SQ", "SK"),
        ("S2 SQ S5", "S3 S9 SK SA", "S9"),
        ("S2", "SK SA", "SA"),
        # Clubs: the same with the ten.
        ("CJ", "C10 C3 C4", "C10"),
        ("C2", "C3 C9 CK", "C9"),
        ("C2 CQ", "C3 CJ CK", "CJ"),
        ("C2 C4 C5", "C10 C3 CK", "CK"),
        # Diamonds: the sheep if it is sure to win, else the highest other card.
        ("D2 D10 D3", "DJ D4 DA", "DJ"),
        ("D2 DQ D3", "DJ D4 DA", "DA"),
        ("D2", "DJ D4 D9", "D9"),
        # Hearts: just below the highest on the table.
        ("H9 HJ", "H2 H10 HQ", "H10"),
    ],
)
def test_mr_if(table: str, hand: str, card: str) -> None:
    assert choice(mr_if, table, hand) == card


def test_mr_if_without_a_safe_lead_avoids_danger() -> None:
    state = position("", "SQ S2 HK H3 DJ D2 C10 C2")
    leads = {"".join(CARDS[mr_if(state, generator(seed))]) for seed in range(60)}
    assert leads >= {"S2", "H3", "D2", "C2"}
    assert len(leads & {"SQ", "HK", "DJ", "C10"}) < 4  # five draws rarely find only dangerous cards


def test_mr_if_without_a_lower_heart_plays_any() -> None:
    state = position("H2 H3", "H9 HQ HK")
    assert {"".join(CARDS[mr_if(state, generator(seed))]) for seed in range(40)} == {"H9", "HQ", "HK"}


@pytest.mark.parametrize(
    ("table", "hand", "card"),
    [
        # Last to play, seat 3. 100 points for the sheep, -100 for the pig, 8 for being rid of a queen.
        ("D2 D10 D3", "DJ D4 D5", "DJ"),
        ("SK S2 S3", "SQ S4", "SQ"),  # the pig to seat 0, an opponent
        ("S2 SK S3", "SQ S4", "S4"),  # seat 1 is the partner
        ("S2 S4 SQ", "S3 SA", "S3"),
        ("D2 DJ D3", "D4 DA", "DA"),  # the partner has the sheep; the ace only weighs
        ("D2 D3 DJ", "D4 DA", "DA"),  # an opponent has the sheep
        ("H9 H2 H3", "HA H10", "H10"),  # -60 with the ten, -100 with the ace
    ],
)
def test_mr_greed_as_the_last_player(table: str, hand: str, card: str) -> None:
    assert choice(mr_greed, table, hand) == card


def test_mr_greed_weighs_what_is_still_out() -> None:
    """The ace of spades is worth getting rid of while the queen is out: 11 + 50 against 30 + 9 for the king."""
    assert choice(mr_greed, "C2 C3 C4", "SA SK D4") == "SA"
    assert choice(mr_greed, "C2 SQ C4", "SA DQ D4") == "SA"  # even with the queen gone: 11 against 8
    assert choice(mr_greed, "C2 C3 C4", "DA DK D9") == "D9"  # the sheep is out: aces of diamonds are kept


PLAIN_BURDEN = dict(zip(oracle.RANKS[::-1], [11, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 0], strict=True))


class PlainGreed:
    """Mr. Greed's look at a trick with open hands, recursively and in words, after the description of the paper."""

    def __init__(
        self, hands: list[set[Card]], taken: list[set[Card]], leader: int, table: list[Card], root: int
    ) -> None:
        self.hands, self.taken, self.leader, self.root = hands, taken, leader, root
        self.captured = set().union(*taken)
        self.sight = {len(table): hands[root] | set(table)}
        self.raw = [sum(map(self.points, cards)) for cards in taken]
        self.to_come = math.floor((-200 - sum(self.raw)) / 4)

    @staticmethod
    def points(card: Card) -> int:
        return {("S", "Q"): -100, ("D", "J"): 100}.get(card, oracle.HEART_POINTS.get(card[1], -10) * (card[0] == "H"))

    def trick_value(self, trick: list[Card]) -> float:
        """For the second and the fourth player."""
        place = max(range(4), key=lambda p: (trick[p][0] == trick[0][0], oracle.RANKS.index(trick[p][1])))
        winner = (self.leader + place) % 4
        value = sum(map(self.points, trick))
        if ("C", "10") in self.taken[winner]:
            value *= 2
        elif ("C", "10") in trick:
            value = 2 * value + self.raw[winner] + self.to_come
        return value if place in (1, 3) else -value

    def relief(self, card: Card, sight: set[Card]) -> float:
        suit, rank = card
        relief = 0 if suit == "H" and rank in "JQKA" else PLAIN_BURDEN[rank]
        gone = sight | self.captured
        if ("S", "Q") not in gone:
            relief += {("S", "A"): 50, ("S", "K"): 30}.get(card, 0)
        if ("D", "J") not in gone:
            relief -= {("D", "A"): 30, ("D", "K"): 20, ("D", "Q"): 10}.get(card, 0)
        if ("C", "10") not in gone and suit == "C":
            share = {"A": 0.4, "K": 0.3, "Q": 0.2, "J": 0.1}.get(rank, 0)
            relief += int(-share * (self.to_come + self.raw[self.root]))
        return relief

    def value_after(self, trick: list[Card]) -> float:
        """Each later player takes the card that is best for her, the lowest of equal ones."""
        place = len(trick)
        if place == 4:
            return self.trick_value(trick)
        hand = self.hands[(self.leader + place) % 4]
        self.sight[place] = self.sight[place - 1] | {trick[-1]} | hand
        sign = 1 if place in (1, 3) else -1
        options = {}
        for card in sorted({card for card in hand if card[0] == trick[0][0]} or hand, key=CARDS.index):
            value = self.value_after([*trick, card])
            options[card] = (sign * value + self.relief(card, self.sight[place]), value)
        return max(options.values(), key=lambda pair: pair[0])[1]


def test_mr_greed_predicts_the_replies_as_the_paper_says() -> None:
    actions = np.empty(52, np.int64)
    mind = np.empty(players.MIND_SIZE, np.int64)
    compared = 0
    for seed in range(40):
        state, chance = FULL.new_state(), random.Random(seed)
        rules.deal(state, generator(seed))
        for _ in range(chance.randrange(48)):
            rules.apply_action(state, chance.choice(actions[: rules.legal_actions(state, actions)].tolist()))
        root, place = int(state[slots.TURN]), int(state[slots.CARDS_PLAYED]) % 4
        if place == 3:
            continue
        hands, taken = (
            [{CARDS[card] for card in range(52) if int(state[slot + seat]) >> card & 1} for seat in range(4)]
            for slot in (slots.HAND, slots.TAKEN)
        )
        first = int(state[slots.CARDS_PLAYED]) - place
        table = [CARDS[played_card(state, slots.TRICKS, first + step)[1]] for step in range(place)]
        leader = (root - place) % 4
        plain = PlainGreed(hands, taken, leader, table, root)
        mind[:] = 0
        players._remember(state, root, place, mind)
        for step in range(place, 4):
            mind[players.HANDS + step] = state[slots.HAND + (leader + step) % 4]
        for card in actions[: rules.legal_actions(state, actions)].tolist():
            mind[players.PLAYED + place] = card
            value = players._value_after_replies(state, mind, place + 1)
            expected = plain.value_after([*table, CARDS[card]])
            assert value == expected
            sign = 1 if place == 1 else -1
            assert players._score(mind, place, value) == sign * value + plain.relief(CARDS[card], plain.sight[place])
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("player", [mr_if, mr_greed, mr_team])
def test_players_only_play_legal_cards_and_only_use_what_they_know(player: Callable) -> None:
    """Dealing the unseen cards again changes nothing for a player with the same random numbers."""
    actions = np.empty(52, np.int64)
    for seed in range(30):
        state = FULL.new_state()
        source = generator(seed)
        rules.deal(state, source)
        while slots.current_player(state) >= 0:
            legal = actions[: rules.legal_actions(state, actions)].tolist()
            card = player(state, generator(seed))
            assert card in legal
            other = state.copy()
            rules.resample(other, int(state[slots.TURN]), source)
            assert player(other, generator(seed)) == card
            rules.apply_action(state, card)


def match_of(first: str, second: str, deals: int, seed: int) -> Match:
    game = pyspiel.load_game("python_gongzhu")
    return play_match(game, find_player(first, game), find_player(second, game), deals, seed)


@pytest.mark.parametrize(
    ("first", "second", "published", "deals"),
    [
        ("if", "random", 185, 2048),
        ("greed", "if", 78, 256),
        pytest.param("greed", "random", 270, 1024, marks=pytest.mark.slow),
        pytest.param("greed", "if", 78, 1024, marks=pytest.mark.slow),
    ],
)
def test_published_strength(first: str, second: str, published: float, deals: int) -> None:
    match = match_of(first, second, deals, seed=3)
    assert abs(match.score.mean - published) < 10 + 3 * match.score.standard_error
    assert 125 < match.per_deal().std() < 180  # published: 130 to 172 for the mean of a deal's two games


def test_monte_carlo_player_beats_mr_if() -> None:
    score = match_of("monte_carlo(worlds=20,rollout=team)", "if", 96, seed=4).score
    assert score.mean > 3 * score.standard_error


@pytest.mark.slow
def test_monte_carlo_player_over_mr_greed() -> None:
    """The bar of the project: 60 points with 100 worlds on 1,024 deals."""
    assert match_of("monte_carlo(worlds=100,rollout=team)", "greed", 1024, seed=1).score.mean >= 60


def test_bots_play_a_game() -> None:
    game = pyspiel.load_game("python_gongzhu")
    names = ("greed", "random", "monte_carlo(worlds=5,rollout=if)", "if")
    seats = [find_player(name, game).bot(game, seat, seed=seat) for seat, name in enumerate(names)]
    returns = pyspiel.evaluate_bots(game.new_initial_state(), seats, 7)
    assert len(returns) == 4
    assert sum(returns) == 0


def test_bots_refuse_nonsense() -> None:
    game = pyspiel.load_game("python_gongzhu")
    with pytest.raises(ValueError, match=r"no player 'greedy' .* did you mean greed"):
        find_player("greedy", game)
    with pytest.raises(ValueError, match="seat is 4; allowed: 0 to 3"):
        find_player("if", game).bot(game, 4)
    small = pyspiel.load_game("python_gongzhu(ranks=5)")
    assert players_of(small) == ["random", "monte_carlo"]
    state = small.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    with pytest.raises(ValueError, match=r"no player 'if' for python_gongzhu.*known: random, monte_carlo, a saved"):
        find_player("if", small)
    with pytest.raises(ValueError, match="full deck"):
        compiled_player("if", small, mr_if).bot(small, 0).step(state)
    with pytest.raises(ValueError, match="not the turn of player 1"):
        find_player("random", small).bot(small, 1).step(state)


def test_player_names() -> None:
    assert players_of(pyspiel.load_game("python_gongzhu")) == [
        "random",
        "if",
        "greed",
        "team",
        "network",
        "expert",
        "scrofazero",
        "monte_carlo",
    ]
    assert len(players.BURDEN) == 52
