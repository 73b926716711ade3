"""Learners of networks on one table, many at once: what `measure.play` says of each, from one batched program.

>>> from marginbandits.experiments.sources import find_data
>>> from marginbandits.experiments.specs import spec
>>> from marginbandits.scores import Networks
>>> (iris,) = find_data("iris", rounds=100)
>>> one = spec("HingeLMC", {"scores": Networks(n_networks=2, width=8)})
>>> runs = play_together([one.build, one.build], iris, [0, 1], True)
>>> [len(losses) for losses, metrics in runs]
[100, 100]
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from marginbandits.experiments.measure import judged
from marginbandits.experiments.sources import Data
from marginbandits.learners.base import Learner
from marginbandits.learners.hinge_lmc.together import together
from marginbandits.types import Array

__all__ = ["play_together"]


def play_together(
    builds: Sequence[Callable[[int, np.random.Generator], Learner]], data: Data, seeds: Sequence[int], shuffle: bool
) -> list[tuple[Array, dict[str, float]] | None]:
    """Each learner in the order of its own seed; None of one whose networks are no longer finite.

    The time of all is shared out evenly, so that rounds per second are those of the whole batch.
    """
    met = [data.environment(seed, shuffle) for seed in seeds]
    drawn = [np.random.default_rng([seed, 1]) for seed in seeds]
    learners = [build(one.n_actions, rng) for build, one, rng in zip(builds, met, drawn, strict=True)]
    start = time.perf_counter()
    runs = together(learners, met)
    seconds = (time.perf_counter() - start) / len(runs)
    found: list[tuple[Array, dict[str, float]] | None] = []
    for run, learner, one in zip(runs, learners, met, strict=True):
        if run is None:
            found.append(None)
            continue
        metrics = judged(run.actions, run.laws, one.losses, seconds, learner)
        losses = one.losses[np.arange(len(run.actions)), run.actions]
        found.append((losses, {**metrics, "linear_policy_loss": data.linear_policy_loss()}))
    return found
