"""What simulated calls add to the fast bidder, and what coinche, surcoinche and capot are worth.

    python -m experiments.coinche_calls

Both bidders bid the same solved deals in both seatings against each opponent, and the contracts are worth what double
dummy and the noise of play say: nobody plays cards, so the only differences are those of the calls. Gains are
compared in pairs, deal by deal; each pair is filed when it is done, with its gains by deal, and --resume goes on.
Then the fast bidder plays itself, one side without coinche, surcoinche or capot, on all solved deals, and so does the
simulating one, whose calls are the expert's, on fewer, without surcoinche or capot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from cardtable.files import read_arrays, write_arrays
from cardtable.match import Estimate
from cardtable.parameters import UserError, bad_value
from cardtable.progress import LateProgress
from coinche_spiel.bidding.calls import JUDGEMENT
from coinche_spiel.bidding.contexts import JUDGEMENT_AT
from coinche_spiel.bidding.players import bidder_call
from coinche_spiel.bidding.shipped import CONTRACT, NUMBERS, POINTS
from coinche_spiel.bidding.simulation import CAUTION
from coinche_spiel.bidding.simulator import WORLDS, Simulator
from coinche_spiel.cards import NUM_SUITS
from coinche_spiel.players import simple_call, strong_call
from coinche_spiel.state import CAPOT, CAPOT_VALUE, FIRST_BID, PASS, SURCOINCHE
from experiments.coinche.bidding.auctions import Setting, match_by_deal, play_auctions
from experiments.coinche.bidding.deals import Deals, solved_deals
from experiments.coinche.bidding.judging import Caller, judge, worth_of_calls
from experiments.coinche.bidding.making import setting_of
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_number,
    define_out,
    define_seed,
    open_directory,
)

FLAGS = flags.FLAGS
if __name__ == "__main__":
    flags.DEFINE_enum("kind", "contract", ["contract", "points"], "what is scored")
    flags.DEFINE_list("opponents", ["bidder", "strong", "simple"], "against whom; may be empty")
    define_count("deals", 100, "on which calls are simulated", 2, seconds_each=0.1)
    define_count("ablation_deals", 12_000, "for coinche, surcoinche and capot", 2, seconds_each=0.004)
    define_count("self_play_deals", 100, "for surcoinche and capot of the simulating bidder", 2, seconds_each=0.3)
    define_count("worlds", WORLDS, "of the simulating bidder", 2, seconds_each=0.001)
    define_number("caution", CAUTION, "standard errors by which a call must be better than the fast one", 0.0)
    define_seed("of the deals; others than the bidder was tuned on")
    flags.DEFINE_string("solved", "runs/coinche_solved_deals", "folder for solved deals")
    define_executor()
    define_out("runs/coinche_calls", resume="the pairs")
    flags.DEFINE_bool("quick", False, "two deals, four worlds, twenty deals for the rest")

OPPONENTS: dict[str, Caller] = {
    "bidder": lambda state, stream: int(bidder_call(state)),
    "strong": lambda state, stream: int(strong_call(state, False)),
    "simple": lambda state, stream: int(simple_call(state, False)),
}
CAPOTS = range(FIRST_BID + NUM_SUITS * CAPOT, FIRST_BID + NUM_SUITS * (CAPOT + 1))
RARE = {"surcoinche": (SURCOINCHE,), "capot": CAPOTS}
WITHOUT = {"coinche": "margin_coinche", "surcoinche": "margin_surcoinche", "capot": "capot_at"}
COLUMNS = ("attacks", "coinched", "they attack", "they are coinched", "ms a call")
OUT_OF_REACH = 9999.0
NAMES = ("kind", "deals", "ablation_deals", "self_play_deals", "worlds", "caution", "seed")
QUICK = {"deals": 2, "worlds": 4, "ablation_deals": 20, "self_play_deals": 2}


def paired(
    setting: Setting, deals: Deals, opponent: str, simulating: Caller, file: Path, advance: Callable[[int], None]
) -> dict[str, str]:
    """A row of the table; its gains by deal are filed, or read if they are there."""
    if file.exists():
        simulated, fast, figures = load_gains(file, len(deals.hands))
        advance(len(deals.hands))
    else:
        one = judge(setting, deals, simulating, OPPONENTS[opponent], on_progress=advance)
        fast = judge(setting, deals, OPPONENTS["bidder"], OPPONENTS[opponent]).gains
        simulated, figures = one.gains, list(one.figures().values())
        write_arrays(file, {"simulated": simulated, "fast": fast, "figures": np.array(figures)})
    row = {"against": opponent, "simulating": str(Estimate.of(simulated)), "fast": str(Estimate.of(fast))}
    row["simulating - fast"] = str(Estimate.of(simulated - fast))
    return row | dict(zip(COLUMNS, figures, strict=True))


def load_gains(file: Path, deals: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """What was filed of a pair: gains of both bidders by deal, and the figures; UserError if it is something else."""
    again = "delete it to play them again"
    found = read_arrays(file, f"gains of a pair; {again}")
    gains = [found.get(name, np.empty(0)) for name in ("simulated", "fast")]
    figures = found.get("figures", np.empty(0))
    sound = all(one.shape == (deals,) and one.dtype == np.float64 and np.isfinite(one).all() for one in gains)
    if not sound or figures.shape != (len(COLUMNS),) or figures.dtype.kind != "U":
        raise UserError(f"{file} does not hold the gains of {deals:,} deals; {again}")
    return gains[0], gains[1], figures.tolist()


def ablations(setting: Setting, deals: Deals, numbers: np.ndarray) -> list[dict[str, str]]:
    """The fast bidder against itself without a call."""
    rows = []
    for name, judgement in WITHOUT.items():
        without = numbers.copy()
        without[JUDGEMENT_AT + JUDGEMENT.index(judgement)] = OUT_OF_REACH
        population = np.ascontiguousarray(np.stack([numbers, without]))
        gains = match_by_deal(setting, deals, population, 0, 1)
        contracts = play_auctions(setting, deals, population, (0, 0, 0, 0)).contracts
        share = {
            "coinche": (contracts[:, 3] >= 1).mean(),
            "surcoinche": (contracts[:, 3] == 2).mean(),
            "capot": (contracts[:, 2] == int(setting.root[CAPOT_VALUE])).mean(),
        }[name]
        rows.append(_worth(name, gains, share))
    return rows


def _worth(name: str, gains: np.ndarray, share: float) -> dict[str, str]:
    return {"call": name, "worth a deal": str(Estimate.of(gains)), "heard in self-play": f"{share:.2%}"}


def barred(simulator: Simulator, calls: Sequence[int]) -> Caller:
    """The simulating bidder without some calls: where it would make one, the best of the others it has tried."""

    def choose(state: np.ndarray, stream: np.ndarray) -> int:
        before = stream.copy()
        call = simulator.choose(state, stream)
        if call not in calls:
            return call
        stream[:] = before
        found = simulator.explain(state, stream)
        assert found.values is not None
        assert found.tried is not None
        allowed = found.tried & ~np.isin(found.actions, list(calls))
        return int(found.actions[np.argmax(np.where(allowed, found.values, -np.inf))]) if allowed.any() else PASS

    return choose


@command
def main() -> None:
    config: dict[str, Any] = {name: FLAGS[name].value for name in NAMES} | (QUICK if FLAGS.quick else {})
    for name in FLAGS.opponents:
        if name not in OPPONENTS:
            raise bad_value("--opponents", name, ", ".join(OPPONENTS))
    directory = open_directory(config)
    setting = setting_of(config["kind"])
    count = max(config["deals"], config["ablation_deals"], config["self_play_deals"])
    folder = Path(FLAGS.solved)
    folder.mkdir(parents=True, exist_ok=True)
    with chosen_executor(directory.path) as executor, LateProgress("solving deals", count) as progress:
        deals = solved_deals(count, config["seed"], executor, folder, progress.advance)
    simulator = Simulator(len(setting.root), config["worlds"], config["caution"])
    rows = []
    with LateProgress("calling", len(FLAGS.opponents) * config["deals"]) as progress:
        for name in FLAGS.opponents:
            file = directory.path / f"pair_{name}.npz"
            part = deals.part(0, config["deals"])
            rows.append(paired(setting, part, name, simulator.choose, file, progress.advance))
    title = f"Calls for {config['kind']}: points a deal, {config['deals']} deals, {config['worlds']} worlds"
    if rows:
        tables.show(title, rows)
    numbers = NUMBERS[POINTS if config["kind"] == "points" else CONTRACT]
    worth = ablations(setting, deals.part(0, config["ablation_deals"]), numbers)
    tables.show(f"What calls are worth to the fast bidder, {config['ablation_deals']:,} deals", worth)
    write_csv(directory.path / "worth.csv", worth)
    with LateProgress("calling against itself", config["self_play_deals"]) as progress:
        found = worth_of_calls(
            setting,
            deals.part(0, config["self_play_deals"]),
            simulator.choose,
            {name: (calls, barred(simulator, calls)) for name, calls in RARE.items()},
            on_progress=progress.advance,
        )
    rare = [_worth(name, gains, share) for name, (gains, share) in found.items()]
    tables.show(f"What calls are worth to the simulating bidder, {config['self_play_deals']:,} deals", rare)
    write_csv(directory.path / "worth_simulating.csv", rare)
    if rows:
        write_csv(directory.path / "results.csv", rows)
    shown = f"{tables.markdown(rows)}\n" if rows else ""
    directory.write_report(f"# {title}\n\n{shown}\n{tables.markdown(worth)}\n{tables.markdown(rare)}")


if __name__ == "__main__":
    start(main)
