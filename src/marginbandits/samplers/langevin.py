"""Projected Langevin Monte Carlo: gradient steps with noise, projected back onto Θ.

    θ ← Proj(θ - (α/2) ∇F̃(θ) + √α ξ),   ξ ~ N(0, I)

`projected_langevin` takes any (sub)gradient and covers Algorithm 2 of Foster & Krishnamurthy (2018) as printed: F̃ is
the average of F over m fresh draws z ~ N(0, u² I) in every step, plus (λ/2)‖θ‖². For the hinge potential of linear
scores the average over z has a closed form (`HingePotential.smoothed_gradient`): pass that, and no m remains.

The rows of `start` are independent chains and move together. The step biases the law: by discretisation, and by the
mass that projection leaves on the border. Both vanish with α; `hit_and_run` has neither.

>>> import numpy as np
>>> from marginbandits.projections import ball
>>> rng = np.random.default_rng(0)
>>> inside = lambda rows: ball(rows, radius=1.0)
>>> draws = projected_langevin(lambda rows: 20.0 * rows, np.zeros((2000, 2)), inside, rng, step=0.02, n_steps=100)
>>> bool(abs(draws.var() - 1 / 20) < 0.01)
True
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.types import Array
from marginbandits.validation import Count, Real, fits, quoted, validated

__all__ = ["projected_langevin"]


@validated
def projected_langevin(
    gradient: Callable[[Array], Array],
    start: Annotated[npt.ArrayLike, Numbers(2, low=-1e50, high=1e50)],
    project: Callable[[Array], Array],
    rng: np.random.Generator,
    *,
    step: Annotated[float, Real(above=0, high=1e30)],
    n_steps: Count,
    smoothing: Annotated[float, Real(0, 1e30)] = 0.0,
    n_draws: Count = 1,
    ridge: Annotated[float, Real(0, 1e30)] = 0.0,
) -> Array:
    """The chains' last points after `n_steps` steps of size α = `step` from the rows of `start`.

    `smoothing` is u and `n_draws` m, the number of gradients averaged in every step (one, if u is 0); `ridge` is λ.
    `gradient` and `project` map rows to rows; the gradient must exist on all of R^d, for θ + z leaves Θ.
    """
    theta = np.array(start, float)
    chains, d = theta.shape
    fits(n_draws=n_draws, chains=chains, dimension=d)
    for _ in range(n_steps):
        if smoothing > 0.0:
            z = smoothing * rng.standard_normal((n_draws, chains, d))
            at = (theta + z).reshape(-1, d)
            slope = _rows("gradient", gradient(at), at.shape).reshape(n_draws, chains, d).mean(0)
        else:
            slope = _rows("gradient", gradient(theta), theta.shape)
        noise = rng.standard_normal((chains, d))
        moved = theta - (0.5 * step) * (slope + ridge * theta) + math.sqrt(step) * noise
        theta = _rows("project", project(moved), theta.shape)
    return theta


_FINITE = Numbers(2, low=-1e250, high=1e250)


def _rows(name: str, answer: Array, shape: tuple[int, ...]) -> Array:
    """What a user's function answered, which must be finite rows like those it was given."""
    try:
        rows: Array = _FINITE.clean(answer)
    except ValueError:
        rows = np.empty(0)
    if rows.shape != shape:
        raise ValueError(f"{name} must return finite rows of shape {shape}, got {quoted(answer)}")
    return rows
