"""Vowpal Wabbit: through its bindings one round at a time, and its own loop with --cbify over a cached file.

Features have names, not numbers: numbers collide across actions. --cbify pays no heed to a seed, so rows change their
order from one repetition to the next. Explorers that know no action features other than its own lines get one feature
for each action and its products with the context. Lines are made, and the cache is filled, before the clock starts; a
label is put in front of its line while it runs, or, where lines are read once for both, set on what was read (without
action features that loses the label). SquareCB and RegCB are told probability 1 through the bindings: they
set it so themselves but for the last action, which costs them a hundredth.
"""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from beside.data import Data, named
from beside.player import Settings

DISTRIBUTION = "vowpalwabbit"
WHOLE = True
ONLY_WHOLE = ("LinUCB",)
EXPLORERS: dict[str, list[Settings]] = {
    name: [{"options": f"{option} --learning_rate {rate}"} for option in options for rate in (0.5, 3.0)]
    for name, options in {
        "LinUCB": ["--epsilon 0.02"],  # it has none: the fastest of its explorers in its place, where runs are whole
        "EpsilonGreedy": ["--epsilon 0.02"],
        "Bag": ["--bag 8"],
        "Cover": ["--cover 8 --psi 0.1 --nounif"],
        "SquareCB": ["--squarecb --gamma_scale 10", "--squarecb --gamma_scale 30"],
        "RegCB": [
            f"--regcb --regcbopt --mellowness {mellowness} --cb_min_cost 0 --cb_max_cost 1"
            for mellowness in (0.001, 0.01)
        ],
    }.items()
}
BY_LINE = "SquareCB", "RegCB"


class VowpalWabbit:
    """`predict`, a draw, and `learn`; or one call for everything."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.by_line, self.seed = explorer in BY_LINE, seed
        self.options = settings["options"]

    def prepare(self, data: Data) -> Sequence[Any]:
        shared = "shared |s " if self.by_line else "| "
        return [shared + line for line in _lines(data)]

    def start(self, n_actions: int, n_features: int) -> None:
        from vowpalwabbit import Workspace

        layout = (
            "--cb_explore_adf --noconstant --ignore_linear s -q sa" if self.by_line else f"--cb_explore {n_actions}"
        )
        self.model = Workspace(f"--quiet {layout} {self.options} --random_seed {self.seed + 1}")
        self.actions = [f"|a a{action}" for action in range(n_actions)]
        self.draw = random.Random(self.seed).random

    def round(self, x: Any, losses: list[float]) -> int:
        read = self.model.parse([x, *self.actions]) if self.by_line else x
        law = self.model.predict(read)
        left, action = self.draw(), 0
        for action, share in enumerate(law):  # noqa: B007  # the last one if rounding leaves a rest
            left -= share
            if left < 0.0:
                break
        if self.by_line:
            read[action + 1].set_label_string(f"0:{losses[action]}:1")
            self.model.learn(read)
            self.model.finish_example(read)
        else:
            self.model.learn(f"{action + 1}:{losses[action]}:{law[action]} {x}")
        return action

    def ready(self, data: Data) -> Any:
        from vowpalwabbit import Workspace

        text = data.path.with_suffix(f".{len(data.losses)}.txt")
        cache = text.with_suffix(".cache")
        reading = f"--quiet --data {text} --cache_file {cache} --cbify {data.n_actions}"
        if not cache.exists():
            labels = (1 + np.argmin(data.losses, 1)).tolist()
            text.write_text("\n".join(f"{label} | {line}" for label, line in zip(labels, _lines(data), strict=True)))
            Workspace(f"{reading} --cb_explore {data.n_actions}").finish()
        return f"{reading} {'--cb_explore_adf' if self.by_line else f'--cb_explore {data.n_actions}'} {self.options}"

    def whole(self, given: Any) -> float:
        from vowpalwabbit import Workspace

        model = Workspace(given)  # reads and learns everything
        loss = model.get_sum_loss() / model.get_weighted_examples()
        model.finish()
        return float(loss)


def _lines(data: Data) -> list[str]:
    return [" ".join(f"f{i}:{value:.6g}" for i, value in pairs) for pairs in named(data)]


make = VowpalWabbit
