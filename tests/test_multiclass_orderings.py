"""Banditron, Newtron and SOBA come in the order their papers stand for; `benchmarks/multiclass.py` at length.

Expected losses on four seeds, paired by seed. An ordering holds where the mean difference is more than two of its
standard errors from 0.
"""

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.types import Array

ROUNDS, SEEDS, GAMMA = 3000, 4, 1 / 4
LATE = slice(ROUNDS // 2, None)


def expected_losses(cls: type[mb.Banditron | mb.Newtron | mb.SOBA], noise: float) -> Array:
    """Seeds x rounds."""
    out = np.empty((SEEDS, ROUNDS))
    for seed in range(SEEDS):
        env = mb.Keywords(ROUNDS, noise=noise, seed=seed)
        trace = mb.simulate(cls(9, gamma=GAMMA, features=mb.Identity(), seed=seed), env)
        out[seed] = (trace.laws * env.losses).sum(1)
    return out


def is_less(losses: Array, other: Array) -> bool:
    difference = losses.mean(1) - other.mean(1)
    return bool(difference.mean() < -2 * difference.std(ddof=1) / len(difference) ** 0.5)


@pytest.mark.soak
def test_separable_data_come_to_cost_exploration_alone_and_newtron_is_there_before_banditron() -> None:
    banditron, newtron, soba = (expected_losses(cls, 0.0) for cls in (mb.Banditron, mb.Newtron, mb.SOBA))
    assert is_less(newtron, banditron)
    for losses in (banditron, newtron, soba):
        assert losses[:, -1000:].mean() == pytest.approx(GAMMA * 8 / 9, abs=0.03)


@pytest.mark.soak
def test_under_label_noise_soba_ends_before_newtron_before_banditron() -> None:
    banditron, newtron, soba = (expected_losses(cls, 0.05)[:, LATE] for cls in (mb.Banditron, mb.Newtron, mb.SOBA))
    assert is_less(soba, newtron)
    assert is_less(newtron, banditron)
    assert not is_less(newtron, soba)
