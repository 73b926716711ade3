"""Twins of what networks learn by."""

from typing import Any

import numpy as np

from marginbandits.oracles import ensembles
from tests.naive.twin import pick, twin


def _to_step(rng: np.random.Generator) -> tuple[Any, ...]:
    n = int(pick(rng, 1, 3, 40))
    parameters, gradient = rng.standard_normal((2, n)).astype(np.float32)
    adam = np.abs(rng.standard_normal((2, n))).astype(np.float32)
    out, kept = np.zeros(n, np.float32), np.zeros((2, n), np.float32)
    return parameters, adam, gradient, float(pick(rng, 1e-3, 0.1)), 0.01, int(pick(rng, 1, 7, 10_000)), out, kept


@twin(ensembles.adamw, _to_step, tolerance=1e-5)
def adamw(
    parameters: Any, adam: Any, gradient: Any, rate: float, decay: float, steps: int, out: Any, out_adam: Any
) -> None:
    """Algorithm 2 of Loshchilov & Hutter (2019)."""
    out_adam[0] = 0.9 * adam[0] + 0.1 * gradient
    out_adam[1] = 0.999 * adam[1] + 0.001 * gradient**2
    first, second = out_adam[0] / (1 - 0.9**steps), out_adam[1] / (1 - 0.999**steps)
    out[...] = parameters - rate * (first / (np.sqrt(second) + 1e-8) + decay * parameters)
