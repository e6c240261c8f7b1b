"""What finished games of Cego teach about leads, about trump 1, and about the cards that are kept.

Every lesson looks at finished games (`cardtable.match.play_games`) card by card, through the replay of each, and counts
how often something happened among the times it could have. Forced cards are not counted. Shares come as estimates over
these times; deals are independent, several times in one deal are not quite, so intervals are a little too short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from cardtable.replay import past
from cardtable.rules import Rules
from cardtable.tricks import NUM_SEATS
from cego_spiel import state as slots
from cego_spiel.cards import HALF_POINTS, HIGH, NUM_PLAIN, SUIT_SIZE, TRUMPS
from cego_spiel.restrictions import HAND_SIZE
from cego_spiel.state import SINGLE_PLAYER
from experiments.running.plots import plt
from experiments.running.shares import percent, share

RICH = 5  # half points of a cavalier: queens, kings, trumps 1 and 21 and the Gstieß are worth more
FEWEST_LEADS = 20  # that a point of the picture stands for
TEAM_GAMES = ("standard", "solo", "ultimo", "bettel", "piccolo")

Row = dict[str, Any]


class Card(NamedTuple):
    """A card as it was played: by whom, out of which cards, as which of its trick, in which trick (both from 0)."""

    card: int
    seat: int
    hand: int
    place: int
    trick: int
    choices: int  # the legal cards
    winning: int  # who had the trick before it; -1 where it is led


class Deal(NamedTuple):
    """A finished game: hands as they were played, cards in order, who took each whole trick, and the results."""

    hands: tuple[int, ...]
    cards: tuple[Card, ...]
    takers: tuple[int, ...]
    returns: tuple[float, ...]

    @property
    def is_won(self) -> bool:
        """By the single player: half of the points, or what she had announced."""
        return self.returns[SINGLE_PLAYER] > (39.5 if max(self.returns) > 1.0 else 0.5)

    def leads(self) -> list[Card]:
        """Those with a choice."""
        return [card for card in self.cards if card.place == 0 and card.choices.bit_count() > 1]


def read_deal(rules: Rules, final: np.ndarray) -> Deal:
    """A finished state, read back card by card."""
    positions, actions = past(rules, final)
    legal = np.empty(rules.num_distinct_actions, np.int64)
    cards, takers = [], []
    for index, (position, card) in enumerate(zip(positions[:-1], actions, strict=True)):
        seat, place = int(position[slots.TURN]), index % NUM_SEATS
        count = rules.kernel.legal_actions(position, legal)
        choices = sum(1 << int(choice) for choice in legal[:count])
        winning = int(position[slots.BEST_SEAT]) if place else -1
        hand = int(position[slots.HAND + seat])
        cards.append(Card(int(card), seat, hand, place, index // NUM_SEATS, choices, winning))
        if place == NUM_SEATS - 1:
            takers.append(int(np.argmax(positions[index + 1][_WON] - position[_WON])))
    returns = np.empty(NUM_SEATS)
    rules.kernel.returns(final, returns)
    hands = tuple(int(positions[0][slots.HAND + seat]) for seat in range(NUM_SEATS))
    return Deal(hands, tuple(cards), tuple(takers), tuple(returns.tolist()))


_WON = slice(slots.TRICKS_WON, slots.TRICKS_WON + NUM_SEATS)


def highest(cards: int) -> int:
    return cards.bit_length() - 1


def lowest(cards: int) -> int:
    return (cards & -cards).bit_length() - 1


def suit_of(card: int) -> int:
    """The set of all cards of its suit."""
    return TRUMPS if card >= NUM_PLAIN else ((1 << SUIT_SIZE) - 1) << card // SUIT_SIZE * SUIT_SIZE


def _role(seat: int) -> str:
    return "single player" if seat == SINGLE_PLAYER else "defenders"


# ------------------------------------------------------------------------------------------------ leads


def lead_rows(deals: Iterable[Deal]) -> list[Row]:
    """Leads of those who hold trumps and plain cards, by the number of trumps: trump or plain, high or low."""
    found: dict[tuple[str, int], list[Card]] = {}
    for deal in deals:
        for card in deal.leads():
            trumps = card.hand & TRUMPS
            if trumps and trumps != card.hand:
                found.setdefault((_role(card.seat), min((trumps.bit_count() - 1) // 2, 3)), []).append(card)
    names = ("1 or 2", "3 or 4", "5 or 6", "7 or more")
    rows = []
    for (role, group), cards in sorted(found.items(), key=lambda item: (item[0][0] != "single player", item[0][1])):
        led = [card for card in cards if card.card >= NUM_PLAIN]
        several = [card for card in led if (card.hand & TRUMPS).bit_count() > 1]
        rows.append(
            {
                "leader": role,
                "trumps": names[group],
                "leads": len(cards),
                "trump led": percent(share(card.card >= NUM_PLAIN for card in cards)),
                "of these the highest": percent(share(card.card == highest(card.hand) for card in several)),
                "the lowest": percent(share(card.card == lowest(card.hand & TRUMPS) for card in several)),
                "trumps in her hand": f"{100 * float(np.mean([_trump_share(card.hand) for card in cards])):.0f} %",
            }
        )
    return rows


def _trump_share(hand: int) -> float:
    return (hand & TRUMPS).bit_count() / hand.bit_count()


def _members(cards: int) -> list[int]:
    return [card for card in range(cards.bit_length()) if cards >> card & 1]


def points_rows(deals: Iterable[Deal]) -> list[Row]:
    """The last to play, with a rich card and a poor one: which, by who has the trick."""
    found: dict[str, list[Card]] = {"a partner has the trick": [], "an opponent has it": []}
    for deal in deals:
        for card in deal.cards:
            worth = [HALF_POINTS[choice] for choice in _members(card.choices)]
            if card.place != NUM_SEATS - 1 or not min(worth) < RICH <= max(worth):
                continue
            partners = SINGLE_PLAYER not in (card.seat, card.winning)
            found["a partner has the trick" if partners else "an opponent has it"].append(card)
    return [
        {"last to play": name, "times": len(cards), "a rich card": percent(share(_is_rich(card) for card in cards))}
        for name, cards in found.items()
    ]


def _is_rich(card: Card) -> bool:
    return bool(HALF_POINTS[card.card] >= RICH)


# ------------------------------------------------------------------------------------------------ hands


def hand_rows(deals: Sequence[Deal]) -> list[Row]:
    """How often the single player wins, by the trumps that she was dealt."""
    rows = []
    for count in sorted({_trumps(deal) for deal in deals}):
        members = [deal for deal in deals if _trumps(deal) == count]
        rows.append({"trumps": count, "deals": len(members), "won": percent(share(d.is_won for d in members))})
    return rows


def _trumps(deal: Deal) -> int:
    return (deal.hands[SINGLE_PLAYER] & TRUMPS).bit_count()


# ------------------------------------------------------------------------------------------------ Ultimo


def ultimo_kept_rows(deals: Sequence[Deal]) -> list[Row]:
    """What the single player still has before each trick, and what she leads; a game ends where she plays trump 1."""
    rows = []
    for trick in range(HAND_SIZE - 1):
        hers = [card for deal in deals for card in deal.cards if card.trick == trick and card.seat == SINGLE_PLAYER]
        mixed = [card for card in hers if card.place == 0 and card.hand & TRUMPS not in (0, card.hand)]
        if not hers:
            break
        rows.append(
            {
                "trick": trick + 1,
                "games": len(hers),
                "trumps kept, mean": float(np.mean([(card.hand & TRUMPS).bit_count() for card in hers])),
                "plain cards, mean": float(np.mean([(card.hand & ~TRUMPS).bit_count() for card in hers])),
                "she has the lead": percent(share(card.place == 0 for card in hers)),
                "and leads a plain card": percent(share(card.card < NUM_PLAIN for card in mixed)),
            }
        )
    return rows


def defence_rows(deals: Sequence[Deal]) -> list[Row]:
    """Against Ultimo: how often somebody has a trump left for the last trick."""
    last = [deal for deal in deals if len(deal.takers) >= HAND_SIZE - 1 and len(deal.cards) >= NUM_SEATS * HAND_SIZE]
    left = [sum(1 for card in deal.cards[-NUM_SEATS:] if card.card >= NUM_PLAIN and card.seat) for deal in last]
    return [
        {
            "defenders' trumps in trick 11": str(count) if count < 2 else "2 or 3",
            "deals": sum(1 for found in left if min(found, 2) == count),
            "won": percent(share(d.is_won for d, found in zip(last, left, strict=True) if min(found, 2) == count)),
        }
        for count in range(3)
    ]


# ------------------------------------------------------------------------------------------------ Bettel and Piccolo


def first_lead_rows(deals: Sequence[Deal]) -> list[Row]:
    """What the single player leads to the first trick, and how it ends."""
    names = [_first_lead(deal.cards[0]) for deal in deals]
    rows = []
    for name in sorted(set(names), key=names.count, reverse=True):
        members = [deal for deal, own in zip(deals, names, strict=True) if own == name]
        firsts = [deal.cards[0] for deal in members]
        rows.append(
            {
                "first lead": name,
                "deals": percent(share(own == name for own in names)),
                "the lowest of its suit": percent(
                    share(card.card == lowest(card.hand & suit_of(card.card)) for card in firsts)
                ),
                "won": percent(share(d.is_won for d in members)),
            }
        )
    return rows


def _first_lead(card: Card) -> str:
    if card.card >= NUM_PLAIN:
        return "a trump"
    length = (card.hand & suit_of(card.card)).bit_count()
    return ("a singleton", "one of two", "one of three", "one of four or more")[min(length, 4) - 1]


def only_trick_rows(deals: Sequence[Deal]) -> list[Row]:
    """Piccolo: in which trick she takes her first, and with her only high card or with another one."""
    rows = []
    for first, last in ((0, 0), (1, 2), (3, 5), (6, 10)):
        inside = [SINGLE_PLAYER in deal.takers and first <= _first_trick(deal) <= last for deal in deals]
        members = [deal for deal, is_inside in zip(deals, inside, strict=True) if is_inside]
        with_high = [bool(HIGH >> _card_of(deal, _first_trick(deal)) & 1) for deal in members]
        rows.append(
            {
                "her first trick is number": f"{first + 1}" if first == last else f"{first + 1} to {last + 1}",
                "deals": percent(share(inside)),
                "taken with the high card": percent(share(with_high)),
                "won": percent(share(deal.is_won for deal in members)),
            }
        )
    none = percent(share(SINGLE_PLAYER not in deal.takers for deal in deals))
    rows.append(dict(zip(rows[0], ("none", none, "–", "–"), strict=True)))
    return rows


def _first_trick(deal: Deal) -> int:
    return deal.takers.index(SINGLE_PLAYER)


def _card_of(deal: Deal, trick: int) -> int:
    return next(card.card for card in deal.cards if card.trick == trick and card.seat == SINGLE_PLAYER)


# ------------------------------------------------------------------------------------------------ Räuber


def robber_lead_rows(deals: Sequence[Deal]) -> list[Row]:
    """Everybody for himself, the most points lose: what is led, early and late."""
    rows = []
    for first, last in ((0, 2), (3, 6), (7, 9)):
        cards = [card for deal in deals for card in deal.leads() if first <= card.trick <= last]
        plain = [card for card in cards if card.card < NUM_PLAIN]
        rows.append(
            {
                "tricks": f"{first + 1} to {last + 1}",
                "leads": len(cards),
                "trump led": percent(share(card.card >= NUM_PLAIN for card in cards)),
                "plain leads: lowest of the suit": percent(
                    share(card.card == lowest(card.hand & suit_of(card.card)) for card in plain)
                ),
                "queen or king": percent(share(card.card % SUIT_SIZE >= 6 for card in plain)),
            }
        )
    return rows


def robber_discard_rows(deals: Iterable[Deal]) -> list[Row]:
    """What is played on somebody else's trick where the card cannot take it: the richest one?"""
    found: dict[str, list[Card]] = {"last to play": [], "before": []}
    for deal in deals:
        for card in deal.cards:
            worth = [HALF_POINTS[choice] for choice in _members(card.choices)]
            if card.place and min(worth) < max(worth) and not card.choices & TRUMPS:
                led = next(c.card for c in deal.cards if c.trick == card.trick)
                if not card.choices & suit_of(led):  # free to throw anything
                    found["last to play" if card.place == NUM_SEATS - 1 else "before"].append(card)
    return [
        {
            "throws a card off": name,
            "times": len(cards),
            "one of the richest": percent(
                share(bool(HALF_POINTS[c.card] == max(HALF_POINTS[x] for x in _members(c.choices))) for c in cards)
            ),
        }
        for name, cards in found.items()
    ]


Lesson = Callable[[list[Deal]], list[Row]]
LESSONS: dict[str, dict[str, Lesson]] = {
    "standard": {"Who leads trumps": lead_rows, "Points for the partner": points_rows},
    "solo": {"Who leads trumps": lead_rows, "Points for the partner": points_rows},
    "ultimo": {
        "The hand": hand_rows,
        "What she keeps": ultimo_kept_rows,
        "What the defenders keep": defence_rows,
        "Who leads trumps": lead_rows,
    },
    "bettel": {"The hand": hand_rows, "The first lead": first_lead_rows, "Who leads trumps": lead_rows},
    "piccolo": {"Her only trick": only_trick_rows, "The first lead": first_lead_rows},
    "raeuber": {"Leads": robber_lead_rows, "Cards thrown off": robber_discard_rows},
}


def draw_leads(deals: dict[str, dict[str, list[Deal]]]) -> Figure:
    """How often a trump is led by the single player and by defenders, trick by trick, in the games with teams."""
    shown = [subgame for subgame in deals if subgame in TEAM_GAMES]
    figure, axes = plt.subplots(1, max(len(shown), 1), figsize=(3 * max(len(shown), 1) + 1, 3.2), sharey=True)
    for axis, subgame in zip(np.atleast_1d(axes), shown, strict=False):
        for player, played in deals[subgame].items():
            for role in ("single player", "defenders"):
                shares = []
                for trick in range(HAND_SIZE - 1):
                    leads = [c for deal in played for c in deal.leads() if c.trick == trick and _role(c.seat) == role]
                    mixed = [card for card in leads if card.hand & TRUMPS not in (0, card.hand)]
                    known = len(mixed) >= FEWEST_LEADS
                    shares.append(100 * share(c.card >= NUM_PLAIN for c in mixed).mean if known else np.nan)
                axis.plot(range(1, HAND_SIZE), shares, marker=".", label=f"{player}, {role}")
        axis.set(title=subgame, xlabel="trick", ylim=(0, 100))
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set_ylabel("trumps led by those who have both, %")
    np.atleast_1d(axes)[-1].legend(fontsize=6)
    figure.tight_layout()
    return figure
