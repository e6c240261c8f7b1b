"""Random variants of every game, played at random beside the plain rules that were written a second time.

`python -m tests.fuzzing.lockstep coinche 1000000 7` plays a million decisions of Coinche from seed 7 and says how many
variants they were. A difference is an AssertionError that names the variant; the same command finds it again.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

from cardtable.parameters import UserError
from cardtable.rules import Rules
from cego_spiel.rules import cego_rules
from coinche_spiel.match import match_rules
from coinche_spiel.rules import coinche_rules
from gongzhu_spiel.rules import gongzhu_rules
from kuhn_collab.rules import kuhn_collab_rules
from tests.fuzzing import games, transforms
from tests.fuzzing.games import Draw
from toepen_spiel.rules import toepen_rules

GAMES_A_VARIANT = 25
Variant = Callable[[Draw], dict[str, Any]]
Play = Callable[[Rules, dict[str, Any], Draw], int]
FUZZED: dict[str, tuple[Variant, Callable[[dict[str, Any]], Rules], Play]] = {
    "toepen": (games.toepen_variant, lambda variant: toepen_rules(**variant), games.play_toepen),
    "kuhn_collab": (games.kuhn_variant, lambda variant: kuhn_collab_rules(**variant), games.play_kuhn),
    "gongzhu": (games.gongzhu_variant, lambda variant: gongzhu_rules(**variant), games.play_gongzhu),
    "cego": (games.cego_variant, lambda variant: cego_rules(**variant), games.play_cego),
    "coinche": (games.coinche_variant, lambda variant: coinche_rules(**variant), games.play_coinche),
    "coinche_match": (games.match_variant, lambda variant: match_rules(**variant), games.play_coinche_match),
    "tied_rewards": (games.kuhn_variant, transforms.tied, transforms.play_tied),
    "partner_oracle": (transforms.partner_variant, transforms.partner, transforms.play_partner),
    "isomorphism_and_bucketing": (transforms.quotient_variant, transforms.quotient, transforms.play_quotient),
}


def fuzz(name: str, seed: int, decisions: int, games_a_variant: int = GAMES_A_VARIANT) -> dict[str, int]:
    """At least so many decisions; how many there were, in how many variants, and how many variants were refused."""
    draw_variant, make, play = FUZZED[name]
    draw = random.Random(f"{name} {seed}")
    found = {"decisions": 0, "variants": 0, "refused": 0}
    known: dict[str, Rules] = {}  # transforms make new functions whenever they are asked
    while found["decisions"] < decisions:
        variant = draw_variant(draw)
        try:
            rules = known.get(str(variant)) or make(variant)
            known[str(variant)] = rules
        except UserError:
            found["refused"] += 1
            continue
        found["variants"] += 1
        try:
            for _ in range(games_a_variant):
                found["decisions"] += play(rules, variant, draw)
        except Exception as error:
            raise AssertionError(f"{name}, seed {seed}: {variant}: {error}") from error
    return found


if __name__ == "__main__":
    start = time.process_time()
    print(sys.argv[1:], fuzz(sys.argv[1], int(sys.argv[3]), int(sys.argv[2])), f"{time.process_time() - start:.0f} s")
