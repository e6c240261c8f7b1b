"""What finished games of Gongzhu teach about pig, sheep, transformer and hearts.

Every lesson looks at finished games (`cardtable.match.play_games`) card by card, through the replay of each, and counts
how often something happened among the times it could have. Shares come as estimates over these times; deals are
independent, several times in one deal are not quite, so intervals are a little too short where a lesson counts leads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from cardtable import deck
from cardtable.match import Estimate
from cardtable.replay import past
from cardtable.rules import Rules
from experiments.running.plots import plt
from experiments.running.shares import percent, share
from gongzhu_spiel import state as slots
from gongzhu_spiel.rules import score
from gongzhu_spiel.state import ACE, JACK, KING, MAX_RANKS, QUEEN, TEN

NUM_SEATS = 4
SPADES, HEARTS, DIAMONDS, CLUBS = range(4)
PIG = SPADES * MAX_RANKS + QUEEN
SHEEP = DIAMONDS * MAX_RANKS + JACK
TRANSFORMER = CLUBS * MAX_RANKS + TEN
ALL_HEARTS = ((1 << MAX_RANKS) - 1) << HEARTS * MAX_RANKS
EARLY_TRICKS = 6  # what is led later has little choice left

Row = dict[str, Any]


class Card(NamedTuple):
    """A card as it was played: by whom, from which hand, as which of its trick, in which trick (both from 0)."""

    card: int
    seat: int
    hand: int
    place: int
    trick: int
    free: bool  # whether she had a choice


class Deal(NamedTuple):
    """A finished game: hands as dealt, cards as played, what every seat has taken, and the result of seats 0 and 2."""

    hands: tuple[int, ...]
    cards: tuple[Card, ...]
    taken: tuple[int, ...]
    result: float
    doubled: int  # what the pile with the transformer would have scored without it

    def holder(self, card: int) -> int:
        return next(seat for seat in range(NUM_SEATS) if self.hands[seat] >> card & 1)

    def taker(self, card: int) -> int:
        return next(seat for seat in range(NUM_SEATS) if self.taken[seat] >> card & 1)

    def points(self, seat: int) -> float:
        """The result of the seat's team."""
        return self.result if seat % 2 == 0 else -self.result

    def played(self, card: int) -> Card:
        return next(played for played in self.cards if played.card == card)


def read_deal(rules: Rules, final: np.ndarray) -> Deal:
    """A finished state of the full deck, read back card by card."""
    positions, actions = past(rules, final)
    hands = tuple(int(final[deck.DEALT + seat]) for seat in range(NUM_SEATS))
    cards = []
    for index, (position, card) in enumerate(zip(positions[:-1], actions, strict=True)):
        seat = int(position[slots.TURN])
        hand = int(position[slots.HAND + seat])
        led = int(actions[index - index % NUM_SEATS]) // MAX_RANKS
        follows = suit_of(hand, led) if index % NUM_SEATS else hand
        cards.append(
            Card(int(card), seat, hand, index % NUM_SEATS, index // NUM_SEATS, (follows or hand).bit_count() > 1)
        )
    taken = tuple(int(final[slots.TAKEN + seat]) for seat in range(NUM_SEATS))
    result = np.empty(NUM_SEATS)
    rules.kernel.returns(final, result)
    pile = next(pile for pile in taken if pile >> TRANSFORMER & 1)
    return Deal(hands, tuple(cards), taken, float(result[0]), int(score(final, pile ^ 1 << TRANSFORMER)))


def suit_of(hand: int, suit: int) -> int:
    """The cards of one suit in a hand, still in their places."""
    return hand & ((1 << MAX_RANKS) - 1) << suit * MAX_RANKS


def has(hand: int, suit: int, *ranks: int) -> bool:
    """Whether the hand has any of these cards."""
    return any(hand >> suit * MAX_RANKS + rank & 1 for rank in ranks)


def points(estimate: Estimate) -> str:
    return f"{estimate.mean:+.0f} ± {1.96 * estimate.standard_error:.0f}" if estimate.n > 1 else "–"


def _where(deal: Deal, card: int) -> str:
    """Who took a card, as its holder would say."""
    return ("herself", "next", "partner", "previous")[(deal.taker(card) - deal.holder(card)) % NUM_SEATS]


def fate_rows(deals: list[Deal], card: int, names: Sequence[str], group: Callable[[int], int]) -> list[Row]:
    """Where a card went, and how the team of its holder did, by the group (one of `names`) of its holder's hand."""
    rows = []
    for number, name in enumerate(names):
        members = [deal for deal in deals if group(deal.hands[deal.holder(card)]) == number]
        results = np.array([deal.points(deal.holder(card)) for deal in members])
        fates = [_where(deal, card) for deal in members]
        rows.append(
            {
                "her hand": name,
                "deals": len(members),
                "she takes it": percent(share(fate == "herself" for fate in fates)),
                "partner": percent(share(fate == "partner" for fate in fates)),
                "opponents": percent(share(fate in ("next", "previous") for fate in fates)),
                "points of her team": points(Estimate.of(results)),
            }
        )
    return rows


def pig_rows(deals: list[Deal]) -> list[Row]:
    """By how many spades keep the pig company."""

    def group(hand: int) -> int:
        return min(suit_of(hand, SPADES).bit_count() - 1, 5) // 2

    return fate_rows(deals, PIG, ("no or one spade beside it", "two or three", "four or more"), group)


def sheep_rows(deals: list[Deal]) -> list[Row]:
    """By the higher diamonds that come with the sheep."""

    def group(hand: int) -> int:
        return sum(has(hand, DIAMONDS, rank) for rank in (QUEEN, KING, ACE))

    return fate_rows(deals, SHEEP, ("none of Q♦ K♦ A♦ with it", "one of them", "two", "all three"), group)


def sheep_played_rows(deals: list[Deal]) -> list[Row]:
    """How the sheep comes to the table."""
    names = ("led", "on diamonds, last to play", "on diamonds, before", "thrown off")
    ways: dict[str, list[Deal]] = {name: [] for name in names}
    for deal in deals:
        sheep = deal.played(SHEEP)
        led = deal.cards[sheep.trick * NUM_SEATS].card // MAX_RANKS
        if sheep.place == 0:
            ways["led"].append(deal)
        elif led != DIAMONDS:
            ways["thrown off"].append(deal)
        else:
            ways["on diamonds, last to play" if sheep.place == NUM_SEATS - 1 else "on diamonds, before"].append(deal)
    return [
        {
            "sheep": name,
            "deals": percent(Estimate(len(members) / len(deals), _spread(len(members), len(deals)), len(deals))),
            "its team keeps it": percent(share((d.taker(SHEEP) - d.holder(SHEEP)) % 2 == 0 for d in members)),
            "trick, median": float(np.median([1.0 + d.played(SHEEP).trick for d in members] or [np.nan])),
        }
        for name, members in ways.items()
    ]


def _spread(count: int, total: int) -> float:
    """The standard error of a share."""
    part = count / total
    return float(np.sqrt(part * (1 - part) / total))


def spade_lead_rows(deals: list[Deal]) -> list[Row]:
    """Leads of the first tricks while the pig is out: how often spades, by what the leader has of them."""
    leads: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    for deal in deals:
        pig_trick = deal.played(PIG).trick
        for card in deal.cards[::NUM_SEATS]:
            spades = suit_of(card.hand, SPADES).bit_count()
            if card.trick >= min(EARLY_TRICKS, pig_trick + 1) or not card.free or not spades:
                continue
            if card.hand >> PIG & 1:
                name = "the pig"
            elif has(card.hand, SPADES, KING, ACE):
                name = "K♠ or A♠, not the pig"
            else:
                name = "small spades only"
            leads[name].append((card.card // MAX_RANKS == SPADES, spades / card.hand.bit_count()))
    return [
        {
            "the leader has": name,
            "leads": len(found),
            "spades led": percent(share(led for led, _ in found)),
            "spades in her hand": f"{100 * float(np.mean([part for _, part in found])):.0f} %",
        }
        for name, found in sorted(leads.items())
    ]


def high_spade_rows(deals: list[Deal]) -> list[Row]:
    """K♠ and A♠ while the pig is out: played on a spade trick, they may catch it."""
    rows = []
    for is_last, name in ((True, "last to play"), (False, "before that")):
        chances = []
        for deal in deals:
            pig = deal.played(PIG)
            for card in deal.cards[: pig.trick * NUM_SEATS + pig.place]:
                led = deal.cards[card.trick * NUM_SEATS].card // MAX_RANKS
                if led != SPADES or card.place == 0 or (card.place == NUM_SEATS - 1) != is_last:
                    continue
                if has(card.hand, SPADES, KING, ACE) and suit_of(card.hand, SPADES).bit_count() > 1:
                    chances.append(card.card % MAX_RANKS >= KING)  # a spade: she has some
        found = percent(share(chances))
        rows.append({"a spade was led, the pig is out": name, "times": len(chances), "plays K♠ or A♠": found})
    return rows


def transformer_rows(deals: list[Deal]) -> list[Row]:
    """What it doubled: the points beside it in the pile of whoever took it."""
    names = ("a gain", "a loss", "2♥ to 4♥, which cost nothing", "nothing, and paid 50")
    kinds: dict[str, list[Deal]] = {name: [] for name in names}
    for deal in deals:
        pile = deal.taken[deal.taker(TRANSFORMER)]
        if not pile & (ALL_HEARTS | 1 << PIG | 1 << SHEEP):
            kinds[names[3]].append(deal)
        else:
            kinds[names[0] if deal.doubled > 0 else names[1] if deal.doubled < 0 else names[2]].append(deal)
    return [
        {
            "it doubled": name,
            "deals": percent(Estimate(len(members) / len(deals), _spread(len(members), len(deals)), len(deals))),
            "taken by its holder's opponents": percent(
                share((deal.taker(TRANSFORMER) - deal.holder(TRANSFORMER)) % 2 == 1 for deal in members)
            ),
        }
        for name, members in kinds.items()
        if members
    ]


def heart_rows(deals: list[Deal]) -> list[Row]:
    """By the most honours of hearts in one hand: does she, or anybody, take all thirteen?"""

    def richest(deal: Deal) -> tuple[int, int]:
        counts = [sum(has(hand, HEARTS, rank) for rank in (JACK, QUEEN, KING, ACE)) for hand in deal.hands]
        return max(counts), int(np.argmax(counts))

    rows = []
    for honours in (1, 2, 3, 4):
        members = [deal for deal in deals if richest(deal)[0] == honours]
        if not members:
            continue
        lengths = [suit_of(deal.hands[richest(deal)[1]], HEARTS).bit_count() for deal in members]
        rows.append(
            {
                "most of A K Q J of hearts in a hand": honours,
                "deals": len(members),
                "her hearts, mean": float(np.mean(lengths)),
                "she takes all 13": percent(share(d.taken[richest(d)[1]] & ALL_HEARTS == ALL_HEARTS for d in members)),
                "somebody does": percent(
                    share(any(pile & ALL_HEARTS == ALL_HEARTS for pile in d.taken) for d in members)
                ),
                "points of her team": points(Estimate.of(np.array([d.points(richest(d)[1]) for d in members]))),
            }
        )
    return rows


LESSONS: dict[str, Callable[[list[Deal]], list[Row]]] = {
    "The pig, by the spades beside it": pig_rows,
    "Who leads spades while the pig is out": spade_lead_rows,
    "K♠ and A♠ while the pig is out": high_spade_rows,
    "The sheep, by the diamonds above it": sheep_rows,
    "How the sheep is played": sheep_played_rows,
    "The transformer": transformer_rows,
    "All hearts": heart_rows,
}


def draw_fates(deals: dict[str, list[Deal]]) -> Figure:
    """Where pig, sheep and transformer end, seen from their holders, for each player."""
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
    ends = {"herself": ("herself",), "partner": ("partner",), "opponents": ("next", "previous")}
    width = 0.8 / len(deals)
    for axis, (name, card) in zip(axes, {"pig": PIG, "sheep": SHEEP, "transformer": TRANSFORMER}.items(), strict=True):
        for index, (player, played) in enumerate(deals.items()):
            fates = [_where(deal, card) for deal in played]
            shares = [share(fate in seats for fate in fates) for seats in ends.values()]
            places = np.arange(len(ends)) + (index - (len(deals) - 1) / 2) * width
            heights, spreads = [100 * s.mean for s in shares], [196 * s.standard_error for s in shares]
            axis.bar(places, heights, 0.9 * width, yerr=spreads, capsize=2, label=player)
        axis.set_title(f"who takes the {name}")
        axis.set_xticks(range(len(ends)), list(ends))
    axes[0].set_ylabel("% of deals, seen from its holder")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(deals))
    return figure
