"""Every transform beside the plain rules of the game that it changes."""

from __future__ import annotations

from typing import Any

from cardtable.rules import CHANCE, Rules
from kuhn_collab.rules import kuhn_collab_rules
from tests.fuzzing.games import (
    Draw,
    Table,
    close,
    follow_kuhn,
    kuhn_cards,
    kuhn_returns,
    kuhn_variant,
    toepen_ids,
    toepen_options,
)
from tests.toepen_spiel import oracle as toepen_oracle
from toepen_spiel.rules import toepen_rules
from transforms.bucketing import bucketed_rules
from transforms.card_isomorphism import isomorphic_rules
from transforms.partner_oracle import chance_of_truth, oracle_rules
from transforms.tied_rewards import tied_rules


def tied(variant: dict[str, Any]) -> Rules:
    return tied_rules(kuhn_collab_rules(**variant))


def play_tied(rules: Rules, variant: dict[str, Any], draw: Draw) -> int:
    """Kuhn with tied rewards: all as it was, and each player gets the team's sum."""
    table = Table(rules, draw)
    letters = follow_kuhn(table, draw)
    alone = kuhn_returns(letters, kuhn_cards(table), variant["fold_topup"])
    first, second = alone[0] + alone[2], alone[1] + alone[3]
    table.require_end([first, second, first, second])
    return len(letters)


# Every oracle is compiled anew, so they are few: accuracy, step, team.
ORACLES = ((1.0, 0.0, -1), (1.0, 0.3, 0), (0.9, 0.25, -1))


def partner_variant(draw: Draw) -> dict[str, Any]:
    names = ("accuracy", "step", "team")
    return kuhn_variant(draw) | dict(zip(names, draw.choice(ORACLES), strict=True))


def partner(variant: dict[str, Any]) -> Rules:
    options = {name: variant[name] for name in ("accuracy", "step", "team")}
    return oracle_rules(kuhn_collab_rules(variant["fold_topup"]), **options)


def play_partner(rules: Rules, variant: dict[str, Any], draw: Draw) -> int:
    """Kuhn with an oracle, which speaks to those who listen before each decision, as likely as the formula says."""
    table, (accuracy, step, team) = Table(rules, draw), (variant[name] for name in ("accuracy", "step", "team"))
    noisy, cards = (accuracy, step) != (1.0, 0.0), kuhn_cards(table)

    def hear(seat: int, number: int) -> None:  # the first signal was part of the compiled deal
        if noisy and team in (-1, seat % 2):
            p, truth = chance_of_truth(accuracy, step, number), cards[(seat + 2) % 4]
            expected = {card: (1.0 - p) / 6 + (p if card == truth else 0.0) for card in range(6)}
            expected = {card: chance for card, chance in expected.items() if p < 1.0 or card == truth}
            found = table.chances()
            assert found.keys() == expected.keys()
            assert close([*found.values()], [*expected.values()])
            table.apply(draw.choice([*found]))

    letters = follow_kuhn(table, draw, hear)
    table.require_end(kuhn_returns(letters, cards, variant["fold_topup"]))
    return len(letters)


# Every variant of these is compiled anew, so they are few: suits, ranks, hand size, betting, method, hand, history.
QUOTIENTS = (
    (3, 2, 2, False, "orbit", "", ""),
    (4, 8, 4, True, "thesis", "", ""),
    (4, 8, 4, True, "orbit", "bucket", "ante"),
)


def quotient_variant(draw: Draw) -> dict[str, Any]:
    names = ("suits", "ranks", "hand_size", "betting", "method", "hand", "history")
    return dict(zip(names, draw.choice(QUOTIENTS), strict=True)) | {"follow_suit": True}


def quotient(variant: dict[str, Any]) -> Rules:
    names = ("suits", "ranks", "hand_size", "betting", "follow_suit")
    rules, _ = isomorphic_rules(toepen_rules(**{name: variant[name] for name in names}), variant["method"])
    return bucketed_rules(rules, variant["hand"], variant["history"]) if variant["hand"] else rules


def play_quotient(rules: Rules, variant: dict[str, Any], draw: Draw) -> int:
    """Toepen with suits, hands or histories forgotten: every real action has a name, every name means one, and what is
    played is Toepen."""
    table, events = Table(rules, draw), ()  # type: tuple[Table, tuple]
    origin = rules.origin
    assert origin is not None
    size = origin.rules.state_size
    while isinstance(here := toepen_options(table, events, variant), toepen_oracle.Turn):
        options = toepen_ids(here.options, variant)
        called = {action: int(origin.label(table.array, action)) for action in options}
        assert (table.player(), table.legal()) == (here.player, sorted(set(called.values())))
        before = table.array[:size].copy()
        chosen = draw.choice(table.legal())
        table.apply(chosen)
        while table.player() == CHANCE:
            table.apply(draw.choice([*table.chances()]))
        after = table.array[:size]
        played = []
        for action in options:
            real = before.copy()
            origin.rules.kernel.apply_action(real, action)
            played += [action] if (real == after).all() and called[action] == chosen else []
        assert len(played) == 1, played
        events = (*events, options[played[0]])
    table.require_end([here.payoff_of_first_player, -here.payoff_of_first_player])
    return len(events)
