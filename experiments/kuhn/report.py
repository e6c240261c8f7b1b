"""The report of the Collaborative Kuhn Poker experiments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from experiments.kuhn.claims import Claim, Study
from experiments.kuhn.equilibria import Bounds
from experiments.kuhn.models import SEATS, UPDATES
from experiments.kuhn.signals import Signal, independent_signal, opening_rows
from experiments.running import tables
from solvers.team import TeamEquilibrium, TeamExploitability, exploitability_of


class Findings(NamedTuple):
    """Everything a run has found out."""

    iterations: int
    study: Study
    claims: list[Claim]
    equilibrium: TeamEquilibrium
    bounds: list[Bounds]  # of all team games, Collaborative Kuhn Poker first
    signals: list[Signal]
    seconds: float


def bounds_rows(bounds: list[Bounds]) -> list[dict[str, Any]]:
    return [
        {
            "game": row.name,
            "lower bound": f"{row.lower:+.9f}",
            "upper bound": f"{row.upper:+.9f}",
            "distance": f"{row.upper - row.lower:.0e}",
            "iterations": row.iterations,
            "CPU seconds": f"{row.cpu_seconds:.1f}",
        }
        for row in bounds
    ]


def _without_lottery(found: Findings) -> TeamExploitability:
    laboratory = found.study.laboratory
    marginal = laboratory.marginal_behaviour(found.equilibrium.strategies)
    realizations = (laboratory.team_game.independent_realization(side, marginal) for side in (0, 1))
    return exploitability_of(laboratory.team_game, *realizations)


def _bits_rows(found: Findings) -> list[dict[str, Any]]:
    rows = []
    for signal in found.signals:
        row: dict[str, Any] = {
            "seat": SEATS[signal.seat],
            "TMECor: to the partner": signal.partner_bits,
            "TMECor: to opponents": signal.opponent_bits,
        }
        for updates in UPDATES:
            learned = [
                independent_signal(found.study.laboratory, player.behaviour, signal.seat).opponent_bits
                for player in found.study.groups["tied", updates]
                if player.behaviour is not None
            ]
            row[f"tied CFR, {updates}: to anybody"] = float(np.mean(learned))
        rows.append(row)
    return rows


def _openings(signals: list[Signal]) -> str:
    return "\n".join(
        f"**{SEATS[signal.seat]}**{'' if signal.seat == 0 else ', after checks'}:\n\n"
        f"{tables.markdown(opening_rows(signal))}"
        for signal in signals
    )


def report(found: Findings) -> str:
    study, equilibrium = found.study, found.equilibrium
    alone = _without_lottery(found)
    first, second = (len(strategy.plans()) for strategy in equilibrium.strategies)
    return f"""# Collaborative Kuhn Poker

`python -m experiments.kuhn_collab`: {study.starts} random starts of every algorithm, {found.iterations} full-batch
iterations, average strategies, evaluated exactly; {found.seconds:.0f} s in all. Chips per hand. Spreads are mean ±
deviation [range] over starts; published numbers are single runs.

Models: *CFR* with individual rewards, *tied* with the team's sum; *oracle* sees the partner's card; *oracle-p* is
trained on noisy signals of it and plays with them; *oracle fed noise* is trained with a perfect oracle and hears noise
only at play.

## Claims of the paper

Numbers of simultaneous / alternating updates. For matches: mean advantage (share of pairs in which it is positive).

{tables.markdown([claim._asdict() for claim in found.claims])}
## Table 1: chips per seat

Inter-team is the mean of |N+S| and |E+W|, intra-team of |N-S| and |E-W|.

{tables.markdown(study.table_1())}
![transfers](transfers.png)

## Table 2: pairwise advantage of the column model

Team chips of the column model against the row model, summed over both seatings, for all pairs of starts.

{tables.markdown(study.table_2())}
![advantages](advantages.png)

## Behaviour

How often, by the card of who acts.

{tables.markdown(study.behaviour_table())}
![opening](opening.png)

## The team solution

The team-maxmin equilibrium with correlation (TMECor): each team draws a joint plan from a lottery before the deal. The
bounds on the value to the first team are exact best responses of the other team to the strategies found.

{tables.markdown(bounds_rows(found.bounds))}
In Collaborative Kuhn Poker the lotteries have {first} and {second} plans; `plans.csv` lists them, action by action.
They are the certificate: whoever computes a best response of the other team to them finds the bounds again.

What learned players guarantee against a best joint plan of the other team, and how far that is from the value:

{tables.markdown(study.guarantee_table(equilibrium.value))}
The lottery is essential: if each seat draws alone, with the same frequencies, North-South is sure of
{alone.guarantees[0]:+.4f} only and West-East of {alone.guarantees[1]:+.4f}.

![team value](team_value.png)

## How the optimal team signals

Bits about the card that bet or check says, before anybody has bet:

{tables.markdown(_bits_rows(found))}
![signals](signals.png)

Which cards bet, and how often this is the code:

{_openings(found.signals)}"""
