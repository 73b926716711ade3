"""The twin of the test for losses that rise."""

import math

import numpy as np

from marginbandits.learners import forgetting
from marginbandits.types import Array
from tests.naive.twin import pick, twin


def _watched(rng: np.random.Generator) -> tuple[Array, float, int, float]:
    watch = np.array([9.0, 0.0, pick(rng, 0.0, 0.01, 0.5, 1.0), *rng.uniform(0.0, 12.0, 4)])
    return watch, pick(rng, 1.0, 2.0, 500.0, 1e6), pick(rng, 1, 1, 2, 40), pick(rng, 0.0, 0.3, 1.0)


@twin(forgetting.rose, _watched)
def rose(watch: Array, n: float, k: int, loss: float) -> bool:
    before = max(n - k, 0)
    level = max(watch[2], 3 / (before + 3))
    for i, share in enumerate((0.1, 0.2, 0.3, 0.5)):
        higher = level + share * (1 - level)
        likelier = math.log(higher / level) if loss else 0.0
        watch[3 + i] = max(0.0, watch[3 + i] + k * (loss * likelier + (1 - loss) * math.log(1 - share)))
    share = min(1.0, 2 * k / (before + 7))
    watch[2] = (1 - share) * watch[2] + share * loss
    return bool(watch[3:].max() > 12 + max(0.0, math.log(n / 3000)))
