"""The hinge's pull over all rounds kept, for the price of a minibatch, and without a minibatch's noise.

A particle's pull ∇V = Σ_i c_i z_i has c_i = 1 - ℓ_i beyond the upper margin, -ℓ_i below the lower, 0 between (see
`particles`). Every c_i is remembered as it was when round i was last looked at. A minibatch is looked at again, and the
sum moves by what changed:

    ∇V <- ∇V + Σ_{i in batch} (c_i now - c_i then) z_i

A plain minibatch estimate would be multiplied by the number of rounds over the minibatch's size, and so would its
noise: after enough rounds there would be nothing else. Here the noise vanishes as particles settle.

Schmidt, Le Roux & Bach (2017), "Minimizing finite sums with the stochastic average gradient"; Dubey et al. (2016),
"Variance reduction in stochastic gradient Langevin dynamics".
"""

from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from marginbandits.samplers.particles import F, hinge_slopes

__all__ = ["StoredPull"]


class StoredPull(Generic[F]):
    """Slopes of `size` rounds and their sum, for `n_particles` in each of `n_blocks`; in `kind`'s precision."""

    def __init__(self, n_blocks: int, n_particles: int, size: int, n_features: int, kind: type[F]) -> None:
        self.slopes: npt.NDArray[F] = np.zeros((n_blocks, n_particles, size), kind)
        self.total: npt.NDArray[F] = np.zeros((n_blocks, n_particles, n_features), kind)

    def forget(self, block: int, slot: int, row: npt.NDArray[F]) -> None:
        """Take out the round that was kept there; an empty place has slope 0."""
        if self.slopes[block, :, slot].any():
            self.total[block] -= self.slopes[block, :, slot, None] * row
            self.slopes[block, :, slot] = 0.0

    def refresh(
        self,
        block: int,
        which: slice,
        at: slice,
        particles: npt.NDArray[F],
        rows: npt.NDArray[F],
        losses: npt.NDArray[F],
        margins: npt.NDArray[F],
    ) -> None:
        """Look at the rounds `at` again for the particles `which`: two matrix products over all of them."""
        now = hinge_slopes(particles @ rows.T, losses, margins[:, None])
        change = now - self.slopes[block, which, at]
        if change.any():
            self.total[block, which] += change @ rows
            self.slopes[block, which, at] = now

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The live state."""
        return {"slopes": self.slopes, "total": self.total}
