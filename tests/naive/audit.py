"""The twins of those who bet against the probabilities of draws."""

from typing import Any

import numpy as np

from marginbandits.service import audit
from marginbandits.types import Array
from tests.naive.twin import Places, law_of, mask_of, pick, twin

LEVELS = 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97


def _law(rng: np.random.Generator) -> tuple[Array, Places]:
    p = law_of(rng, mask_of(rng, pick(rng, 2, 3, 20)))
    return p, rng.integers(0, 16, len(p))


def _bets(rng: np.random.Generator) -> tuple[Any, ...]:
    p, hashes = _law(rng)
    counts = rng.uniform(0.0, pick(rng, 0.0, 1.0, 1e6), (4, 11, 2, 2, 16))
    state = int(rng.choice(len(p), p=p / p.sum())), int(1 + rng.integers(2)), int(3 + rng.integers(8))
    return p, hashes, *state, pick(rng, 0.5, 0.001), counts, rng.dirichlet(np.ones(25))


@twin(audit._grouped, _law)
def grouped(p: Array, hashes: Places) -> Places:
    ranks = [sum(other > one for other in p) + sum(other == one for other in p[:k]) for k, one in enumerate(p)]
    levels = [sum(one >= level for level in LEVELS) for one in p]
    return np.array([np.minimum(np.arange(len(p)), 15), np.minimum(ranks, 15), levels, hashes])


@twin(audit._bet, _bets)
def bet(
    p: Array, hashes: Places, place: int, odd: int, past: int, shared: float, counts: Array, shares: Array
) -> tuple[float, int]:
    groups = grouped(p, hashes)
    told = np.array([np.bincount(one, p / p.sum(), 16) for one in groups])[:, None, None]
    own, kinds, conditions = groups[:, place], np.arange(4), [0, odd, past]
    some = counts[:, conditions]
    weights = (some[..., 0, :] + 1.0) / (some[..., 1, :] + 1.0)
    shares[1:] *= (weights[kinds, :, :, own] / (weights * told).sum(axis=-1)).ravel()
    some[:, :, 1] *= 0.999
    some[..., 1, :] += told
    some[kinds, :, :, 0, own] += 1.0
    counts[:, conditions] = some
    total = float(shares.sum())
    shares[:] = (1.0 - shared) * shares / total + shared / 25
    return total, int(p[place] == p.max() and place == p.argmax())
