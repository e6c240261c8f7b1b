"""Settings of the AlphaZero-like trainer: ScrofaZero's, with a network that a CPU can train.

What else differs by default: minibatches are larger, what plays is an average of the weights, and value targets look at
what came of a position. The paper has 64 rows, its program a learning rate of 0.0001 at most, no average, no results:
values that are learnt from values alone ran away after 200 iterations of Gongzhu (docs/gongzhu.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from solvers.learning.settings import check_fields, setting


@dataclass(frozen=True)
class AlphaZeroSettings:
    width: int = setting(192, "numbers of every hidden layer", lowest=1)
    blocks: int = setting(2, "residual blocks of two layers each", lowest=0)
    inputs: Literal["paper", "suits"] = setting("paper", "what it is told; suits: also of each suit alike (Gongzhu)")
    games: int = setting(64, "of self-play in an iteration", lowest=1, seconds_each=1e-4)
    searches: int = setting(2, "iterations of the tree search for each legal action", lowest=1, seconds_each=1e-4)
    c: float = setting(30.0, "exploration of the tree search, in points")
    formula: Literal["uct", "puct"] = setting("uct", "of the tree search; puct also looks at the policy head")
    temperature: float = setting(5.0, "points: policy targets are softmax(Q / temperature)")
    kept: int = setting(3, "iterations whose positions are trained on", lowest=1)
    passes: int = setting(3, "times that these are gone through in an iteration", lowest=1, seconds_each=1e-5)
    batch_size: int = setting(256, "rows of a minibatch", lowest=1)
    learning_rate: float = setting(0.001, "of Adam, at first", lowest=0)
    halving: int = setting(
        0, "iterations in which the learning rate falls to a half, again and again; 0: never", lowest=0
    )
    weight_decay: float = setting(0.0001, "of Adam")
    value_weight: float = setting(3.0, "of the value loss, |dv| in hundreds of points, beside the policy's KL")
    value_loss: Literal["absolute", "squared"] = setting("absolute", "the paper's |dv|, or its square")
    averaging: float = setting(0.998, "decay of the average of weights that plays, a step; 0: the weights themselves")
    result_share: float = setting(0.3, "of what came of a position in its value target, against its own search")
    endings: int = setting(0, "tricks at the end of a game that are solved exactly, not searched (Gongzhu)", lowest=0)
    exploration: float = setting(0.0, "share of self-play moves that are anything legal")
    mask: Literal["zero", "out"] = setting("zero", "illegal actions: logits become 0, as in the paper, or are left out")

    def __post_init__(self) -> None:
        check_fields(self)
