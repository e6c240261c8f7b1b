"""What a strategy of Toepen does, told for players: openings, answers, what the lead is worth, bluffs by stake.

python -m experiments.toepen_advice --player=runs/toepen_4-8-3/player_4-8-3 --size=4-8-3
python -m experiments.toepen_advice --player=expert --size=4-8-4

What the player says about a hand (how often it opens with a bet, how often it calls such a bet) is asked, hand by hand;
what hands are worth, who leads how profitably, and how the last card is bet on comes from games of the player against
itself: estimates, with 95 % intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
from absl import flags

import cardspiel  # noqa: F401
from cardtable.parameters import UserError
from cardtable.player import find_player
from cardtable.spiel import load_game
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import define_count, define_out, define_seed, open_directory
from experiments.toepen import openings
from experiments.toepen.frontier import sizes_of
from experiments.toepen.self_play import LastBets, Played, asked, play
from experiments.toepen.training import toepen
from solvers.toepen_response import hand_orbits
from toepen_spiel.state import BET, CALL

FLAGS = flags.FLAGS
CONFIDENCE = 1.96
AVERAGED = ("value", "value_second", "bets", "calls")


def hand_rows(game: pyspiel.Game, player: Any, played: Played, sizes: tuple[int, int, int]) -> list[dict[str, Any]]:
    """All hands up to suits: how often they open with a bet and call one, and what they won in each seat."""
    hands, weights = hand_orbits(*sizes)
    opens, calls = asked(game, player, hands, 0, BET), asked(game, player, hands, 1, CALL)
    values = [played.values(hands, seat) for seat in (0, 1)]
    return [
        {
            "hand": openings.hand_name(game, int(hand)),
            "probability": float(weights[index]),
            "value": float(values[0][index]),
            "value_second": float(values[1][index]),
            "bets": float(opens[index]),
            "calls": float(calls[index]),
        }
        for index, hand in enumerate(hands)
        if np.isfinite(values[0][index]) and np.isfinite(values[1][index])
    ]


def by_tens_and_suits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same by what a player sees at a glance: how many tens, how many suits."""
    names = {"tens": lambda hand: hand.count("10"), "suits": lambda hand: len({card[-1] for card in hand.split()})}
    found = []
    for name, count in names.items():
        for number in sorted({count(row["hand"]) for row in rows}):
            own = [row for row in rows if count(row["hand"]) == number]
            weights = [row["probability"] for row in own]
            means = {key: float(np.average([row[key] for row in own], weights=weights)) for key in AVERAGED}
            found.append({"hands with": f"{number} {name}", "probability": sum(weights), **means})
    return found


def last_bet_rows(bets: LastBets) -> list[dict[str, Any]]:
    """Bets before the very last card by stake, beside what would make the other side indifferent."""
    rows = []
    for stake, (chances, made, called) in sorted(bets.by_stake().items()):
        total = int(made.sum())
        if total < FLAGS.least:
            continue
        share, answer = made[0] / total, called.sum() / total
        rows.append(
            {
                "stake": stake,
                "losers bet": made[0] / max(chances[0], 1),
                "winners bet": made[1] / max(chances[1], 1),
                "bluffs of bets": share,
                "+-": CONFIDENCE * (share * (1 - share) / total) ** 0.5,
                "indifferent at": 1 / (2 * (stake + 1)),
                "called": answer,
                "+- of calls": CONFIDENCE * (answer * (1 - answer) / total) ** 0.5,
                "indifferent at calls": 2 * stake / (2 * stake + 1),
                "bets seen": total,
            }
        )
    return rows


@command
def main() -> None:
    sizes = sizes_of(FLAGS.size)
    game = load_game(toepen(*sizes, True, True))
    player = find_player(FLAGS.player, game)
    if player.probabilities_rows is None:
        raise UserError(f"--player={FLAGS.player} has no probabilities; allowed: players that are policies")
    run = open_directory({name: FLAGS[name].value for name in ("player", "size", "games", "seed")})
    played = play(game, player, FLAGS.games, FLAGS.seed)
    rows = hand_rows(game, player, played, sizes)
    write_csv(run.path / "hands.csv", rows)
    groups, glance, bets = openings.tenths(rows), by_tens_and_suits(rows), last_bet_rows(played.last_bets)
    write_csv(run.path / "tenths.csv", groups)
    write_csv(run.path / "tens_and_suits.csv", glance)
    lead, error = played.lead()
    opening, answer = (
        sum(row["probability"] * row[name] for row in rows) / sum(row["probability"] for row in rows)
        for name in ("bets", "calls")
    )
    text = (
        f"The lead is worth {lead:.3f} +- {CONFIDENCE * error:.3f} ({FLAGS.games:,} games). Over all hands "
        f"{opening:.1%} open with a bet, and {answer:.1%} call one. {played.ended_by_a_fold:.1%} of the games end with "
        f"a fold; the mean stake is {played.mean_stake:.2f}."
    )
    tables.show("Hands from weak to strong, in tenths", groups)
    tables.show("At a glance: worth leading and second, how often they open with a bet and call one", glance)
    if bets:
        write_csv(run.path / "last_bets.csv", bets)
        tables.show("Bets before the very last card", bets)
    run.save_figure(openings.plot(rows, f"Toepen {FLAGS.size}: betting before the first card"), "openings")
    run.write_report(
        f"# {FLAGS.player} in Toepen {FLAGS.size}\n\n{text}\n\n{tables.markdown(groups)}\n"
        f"{tables.markdown(glance)}\n{tables.markdown(bets) if bets else ''}\n"
        "![openings](openings.png)\n"
    )
    tables.console.print(f"{text}\nreport in {run.path}")


def define_flags() -> None:
    define_out("runs/toepen_advice")
    flags.DEFINE_string("player", "expert", "a player that is a policy: a name, or the folder of a saved one")
    flags.DEFINE_string("size", "4-8-4", "suits-ranks-hand size")
    define_count("games", 20_000, "games of the player against itself", 10, bytes_each=1000, seconds_each=1e-4)
    define_count("least", 30, "bets before the last card that must have been seen at a stake to be told", 1)
    define_seed("of the games")


if __name__ == "__main__":
    define_flags()
    start(main)
