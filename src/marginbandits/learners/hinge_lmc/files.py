"""A young Hinge-LMC in a small file: a Gaussian part of few rounds is saved as those rounds.

A block's factor has d²/2 numbers, its first rounds have d each and are in the reservoir, in order, until that is full.
So while a block has seen at most d/4 rounds, its factor is left out, and made again by learning those. It is left
out only if that gives the same bits.
"""

from collections.abc import Mapping

import numpy as np

from marginbandits.oracles.ridge import Ridge
from marginbandits.reservoir import Reservoir
from marginbandits.state import Field
from marginbandits.types import Array

__all__ = ["REPLAYED", "relearn", "without_young_blocks"]

REPLAYED = "ridge.replayed"


def relearn(ridge: Ridge, reservoir: Reservoir, block: int, target: float) -> None:
    """Learn a block's rounds again, from nothing; `target` is that of a round without loss."""
    for at in range(reservoir.held(block)):
        ridge.learn(reservoir.rows[block], at, block, target * (1.0 - 2.0 * reservoir.losses[block, at]))


def without_young_blocks(
    fields: Mapping[str, Field], ridge: Ridge, reservoir: Reservoir, target: float
) -> Mapping[str, Field]:
    """The fields to save: young blocks as they began, and a list of which they are."""
    n_blocks, d = ridge.theta.shape
    few = min(reservoir.losses.shape[1], d // 4)
    young = np.flatnonzero((reservoir.seen > 0) & (reservoir.seen <= few))
    replayed = np.zeros(n_blocks, bool)
    if len(young) == 0:
        return {**fields, REPLAYED: Field(replayed)}
    fresh = Ridge(n_blocks, d, ridge.regularisation, ridge.models.dtype.type)
    theta, factor = fresh.theta.copy(), fresh.factor.copy()
    for block in range(n_blocks):
        if block in young:
            relearn(fresh, reservoir, block, target)
        same = _same(fresh.theta[block], ridge.theta[block]) and _same(fresh.factor[block], ridge.factor[block])
        if block in young and same:
            replayed[block] = True
        else:
            theta[block], factor[block] = ridge.theta[block], ridge.factor[block]
    kept = {"ridge.theta": theta, "ridge.factor": factor}
    smaller = {name: fields[name]._replace(array=array) for name, array in kept.items()}
    return {**fields, **smaller, REPLAYED: Field(replayed)}


def _same(one: Array, other: Array) -> bool:
    return one.tobytes() == other.tobytes()
