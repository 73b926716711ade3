"""Vowpal Wabbit's explorers as learners, for comparison in the same run (the extra `bench`).

The strongest peer, on the same rounds and the same features. Features are numbered through, action by action, in its
namespace without a name, where a number is its own hash: names would collide, and ruin the explorers that keep many
weights for each. Its weights live in its own process memory: such a learner cannot be saved, copied or sent to another
process, and is built afresh wherever a task runs.

    explore     epsilon, bag, cover, regcbopt, squarecb
"""

from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Choice, Real, Seed, validated

__all__ = ["VowpalWabbit"]

EXPLORERS = {
    "epsilon": "--epsilon 0.02",
    "bag": "--bag 8 --greedify",
    "cover": "--cover 8 --psi 0.1 --nounif",
    "regcbopt": "--regcb --regcbopt --mellowness 0.001 --cb_min_cost 0 --cb_max_cost 1",
    "squarecb": "--squarecb --gamma_scale 30",
}
"""The bake-off's settings where it has any; SquareCB's scale is ours."""

INDIFFERENT = ("regcbopt", "squarecb")
"""These set the probability they are told to 1, except the last action's: an oversight that costs them a hundredth of
loss, so they are told 1."""


class VowpalWabbit(Learner):
    """`explore` picks the explorer; everything else is Vowpal Wabbit's own."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        explore: Annotated[str, Choice(*EXPLORERS)] = "squarecb",
        learning_rate: Annotated[float, Real(above=0)] = 0.5,
        features: Features = "raw",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.explore = explore
        self.learning_rate = learning_rate
        try:
            from vowpalwabbit import Workspace
        except ImportError as error:
            raise ImportError('VowpalWabbit needs its package: pip install "marginbandits[bench]"') from error
        seed_of_its_own = int(self._rng.integers(2**31))
        self._vw = Workspace(
            f"--quiet --cb_explore_adf {EXPLORERS[explore]} --noconstant --learning_rate {learning_rate} "
            f"--bit_precision 22 --random_seed {seed_of_its_own}"
        )

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        return {}

    def _law(self, one: Batch) -> Array:
        law = np.zeros(len(one.mask))
        law[one.mask] = self._vw.predict(self._lines(one, np.flatnonzero(one.mask)))
        return np.asarray(law / law.sum())

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        lines = self._lines(one, np.arange(len(one.mask)))
        told = 1.0 if self.explore in INDIFFERENT else probability
        lines[action] = f"0:{loss:.9g}:{told:.9g} {lines[action]}"
        self._vw.learn(lines)

    def _lines(self, one: Batch, actions: npt.NDArray[np.int64]) -> list[str]:
        """One line per action: features of its own for vector contexts, shared ones for K x d contexts."""
        rows = dense(one.rows)
        if one.shared:
            return [_line(rows[action], 0) for action in actions]
        return [_line(rows[0], action * rows.shape[1]) for action in actions.tolist()]

    def dumps(self) -> bytes:
        """Refused: what it has learnt is not here to be written."""
        raise ValueError("VowpalWabbit keeps its weights in its own memory; it cannot be saved")


def _line(row: Array, start: int) -> str:
    return "| " + " ".join(f"{start + i}:{v:.9g}" for i, v in enumerate(row.tolist()) if v)
