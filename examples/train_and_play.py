"""Train, save, reload, play: Deep CFR on a small game, then a match against a random player.

python examples/train_and_play.py [folder]

From the command line the same is `python -m experiments.deep_cfr --game=... --out=runs/mine`, then
`python -m experiments.arena --game=... --north_south=runs/mine --east_west=random`.
"""

import sys
import tempfile
from pathlib import Path

import pyspiel

import cardspiel  # noqa: F401 registers the games
from cardtable.match import play_match
from cardtable.player import find_player
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.deep_cfr.players import save_player

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
game = pyspiel.load_game("python_toepen(suits=3,ranks=4,hand_size=3)")

trainer = LargeDeepCFR(game, large_settings(traversals=100, training_steps=30, batch_size=256), seed=1)
trainer.run(10)
random = find_player("random", game)
print(f"{trainer.iterations} iterations, {trainer.nodes:,} nodes")
print(f"points a deal against random: {play_match(game, trainer.player(), random, deals=1000).score}")

save_player(trainer, folder, {"made by": "examples/train_and_play.py"})
again = find_player(str(folder), game)  # player.json and networks.npz; plays without torch
print(f"reloaded from {folder.name}: {play_match(game, again, random, deals=1000).score}")
