"""Which learner is better on a data set: a paired test over the rows they both played.

Every learner of a comparison plays the same rows in the same orders, one order per seed. The rows are the sample, so
each row's difference in loss is first averaged over seeds, then tested over the n rows:

    z = d̄/√(s²/n),   d_i = mean over seeds of ℓ_A(row i) - ℓ_B(row i),   two-sided normal p-value

The bake-off's original scripts compare two progressive losses as if they came from unrelated rows, and count each seed
as new data; pairing removes the rows' own difficulty, and averaging over seeds does not count a row twice. The variance
includes the learning trend of d_i, which only makes the test more cautious.

Bietti, Agarwal & Langford (2021), "A contextual bandit bake-off".

>>> a, b = np.zeros((1, 200)), np.tile([0.0, 1.0, 0.0, 0.0], 50)[None]
>>> difference, p = paired(np.stack([a, b]))
>>> float(difference[0, 1]), bool(p[0, 1] < 1e-9)
(-0.25, True)
"""

import numpy as np
from scipy import stats

from marginbandits.types import Array

__all__ = ["paired", "ranks"]


def paired(losses: Array) -> tuple[Array, Array]:
    """Mean differences and p-values of all pairs, for losses of shape learners x seeds x rows (rows aligned)."""
    rows = losses.mean(1)
    n = rows.shape[1]
    mean = rows.mean(1)
    centred = rows - mean[:, None]
    gram = centred @ centred.T / max(n - 1, 1)
    spread = np.diag(gram)
    variance = np.maximum(spread[:, None] + spread[None] - 2.0 * gram, 0.0)
    difference = mean[:, None] - mean[None]
    # A pair that never differs has no evidence either way; rounding must not invent any.
    certain = variance < 1e-15
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(certain, np.where(np.abs(difference) < 1e-12, 0.0, np.inf), difference / np.sqrt(variance / n))
    return difference, np.asarray(2.0 * stats.norm.sf(np.abs(z)))


def ranks(losses: Array) -> Array:
    """Rank of each learner (1 is best, ties share) on each data set, for mean losses of shape sets x learners."""
    return np.asarray(stats.rankdata(losses, axis=1))
