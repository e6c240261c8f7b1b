"""Whether a cure for strategy fusion helps in the last tricks: `python -m experiments.coinche_endings --endings=200`.

Endings of games of `strong`, the contract open, a player with a choice to move. Plain averaging over worlds and
alpha-mu (`experiments.coinche.alpha_mu`) look at the same worlds; where they choose different cards, the deal is played
to its end with each, again and again with new random numbers, everybody else averaging over worlds of their own. The
player who is judged goes on with the same method. What counts is how often its side reaches what it wants.

Alpha-mu is in plain Python here and much slower than it would be compiled: a gain at any price comes first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from absl import flags

import cardspiel  # noqa: F401 registers our games
from cardtable.match import Estimate, card_streams
from cardtable.progress import LateProgress
from cardtable.randomness import generator, streams
from cardtable.rules import TERMINAL
from cardtable.spiel import CardGame, load_game
from coinche_spiel import state as slots
from coinche_spiel.cards import TOTAL_POINTS
from coinche_spiel.players import strong_player
from coinche_spiel.scoring import is_made
from experiments.coinche.alpha_mu import AlphaMu, cards_held
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import define_count, define_out, define_seed, open_directory

FLAGS = flags.FLAGS
if __name__ == "__main__":
    define_count("cards", 4, "in the hand of the player to move", 2, highest=6)
    define_count("endings", 200, "positions that are looked at", 2, seconds_each=0.05)
    define_count("worlds", 24, "in which both look", 2, highest=1000)
    define_count("moves", 2, "own decisions that alpha-mu searches", 2, highest=4)
    define_count("times", 4, "that an ending with different cards is played out", 1, highest=1000)
    define_seed("of deals and worlds")
    define_out("runs/coinche_endings")
    flags.DEFINE_bool("quick", False, "three endings of two cards")

QUICK = {"cards": 2, "endings": 3, "worlds": 4, "times": 1}


def endings(game: CardGame, cards: int, seed: int) -> Iterator[np.ndarray]:
    """One position of each game: somebody has so many cards, a choice, and the contract is open."""
    kernel = game.rules.kernel
    actions = np.empty(game.num_distinct_actions(), np.int64)
    stream = generator(seed)
    deal = 0
    while True:
        state = game.rules.new_state()
        kernel.deal(state, card_streams(seed, range(deal, deal + 1))[0])
        deal += 1
        wanted = deal % 4  # whose decision, in turns
        while kernel.current_player(state) != TERMINAL:
            here = state[slots.PHASE] == slots.PLAYING and int(state[slots.TURN]) == wanted
            if here and cards_held(state) == cards and kernel.legal_actions(state, actions) > 1 and _is_open(state):
                yield state
                break
            kernel.apply_action(state, strong_player(state, stream))


def _stream(seed: int, ending: int, purpose: int = 0) -> np.ndarray:
    return streams(seed, (purpose,), range(ending, ending + 1))[0]


def _is_open(state: np.ndarray) -> bool:
    """Whether the contract can still be made, and still fall; capots are left out."""
    if state[slots.VALUE] == slots.CAPOT:
        return False
    attack, value = int(slots.attacking_team(state)), int(slots.contract_value(state))
    ours, theirs = int(state[slots.POINTS + attack]), int(state[slots.POINTS + 1 - attack])
    return ours < value <= TOTAL_POINTS - theirs


def drawn_worlds(game: CardGame, state: np.ndarray, count: int, stream: np.ndarray) -> np.ndarray:
    """So many deals of what the player to move cannot see."""
    worlds = np.repeat(state[None, :], count, axis=0)
    resample = game.rules.compiled_kernel(resample=True).resample
    for world in worlds:
        resample(world, int(state[slots.TURN]), stream)
    return worlds


def played_out(
    game: CardGame, state: np.ndarray, card: int, method: AlphaMu, plain: AlphaMu, worlds: int, stream: np.ndarray
) -> bool:
    """Whether the side of the player to move reaches what it wants after this card."""
    state = state.copy()
    seat, kernel = int(state[slots.TURN]), game.rules.kernel
    actions = np.empty(game.num_distinct_actions(), np.int64)
    kernel.apply_action(state, card)
    while kernel.current_player(state) != TERMINAL:
        count = kernel.legal_actions(state, actions)
        chosen = int(actions[0])
        if count > 1:
            who = method if int(state[slots.TURN]) == seat else plain
            chosen = who.choose(drawn_worlds(game, state, worlds, stream))[0]
        kernel.apply_action(state, chosen)
    return bool(is_made(state)) == (int(slots.attacking_team(state)) == seat & 1)


@command
def main() -> None:
    names = ("cards", "endings", "worlds", "moves", "times", "seed")
    config: dict[str, Any] = {name: FLAGS[name].value for name in names} | (QUICK if FLAGS.quick else {})
    directory = open_directory(config)
    game = load_game("python_coinche")
    methods = {"averaging": AlphaMu(game, 1), "alpha-mu": AlphaMu(game, config["moves"])}
    plain = methods["averaging"]
    spent = dict.fromkeys(methods, 0.0)
    gains = np.zeros(config["endings"])
    rows = []
    found = endings(game, config["cards"], config["seed"])
    with LateProgress("endings", config["endings"]) as progress:
        for number in range(config["endings"]):
            state = next(found)
            worlds = drawn_worlds(game, state, config["worlds"], _stream(config["seed"], number))
            chosen, believed = {}, {}
            for name, method in methods.items():
                clock = time.process_time()
                chosen[name], believed[name] = method.choose(worlds)
                spent[name] += time.process_time() - clock
            if chosen["averaging"] != chosen["alpha-mu"]:
                shares = {}
                for name, method in methods.items():
                    wins = [
                        played_out(
                            game,
                            state,
                            chosen[name],
                            method,
                            plain,
                            config["worlds"],
                            _stream(config["seed"], number, 1 + again),
                        )
                        for again in range(config["times"])
                    ]
                    shares[name] = float(np.mean(wins))
                gains[number] = shares["alpha-mu"] - shares["averaging"]
                rows.append(
                    {"ending": number, "seat": int(state[slots.TURN])}
                    | {f"card of {name}": game.wording.action(state, card) for name, card in chosen.items()}
                    | {f"{name} reaches it": share for name, share in shares.items()}
                )
            progress.advance(1)
    summary = [
        {
            "cards in hand": config["cards"],
            "endings": config["endings"],
            "other card": len(rows),
            "gain in reaching it": str(Estimate.of(gains)),
        }
        | {f"ms of {name}": f"{1000 * seconds / config['endings']:.2g}" for name, seconds in spent.items()}
    ]
    tables.show(f"Alpha-mu with {config['moves']} own moves against averaging, {config['worlds']} worlds", summary)
    if rows:
        write_csv(directory.path / "endings.csv", rows)
    write_csv(directory.path / "results.csv", summary)
    directory.write_report(f"# Endings\n\n{tables.markdown(summary)}\n")
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
