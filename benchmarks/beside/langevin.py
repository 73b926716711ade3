"""Gradients of the hinge potential at one point and at 64, as Langevin Monte Carlo asks for them: ours, and JAX's.

JAX is compiled beforehand and waits for its answer, as the next step of a chain does. Of its ways to say the same, by
differentiation and by the formula, rows on the left or on the right, the fastest is measured.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from beside.data import Array, Data
from beside.player import Settings

DISTRIBUTION = "jax"
MARGIN, ROWS, COLUMNS = 0.5, 2_000, 50
EXPLORERS: dict[str, list[Settings]] = {
    f"{chains}, {precision}": [{"form": form} for form in ("autodiff", "formula", "transposed")]
    for chains in ("1 chain", "64 chains")
    for precision in ("float32", "float64")
}


def write(seed: int, folder: Path) -> Path:
    """Rows and weights of a potential."""
    path = folder / f"langevin-{seed}.npz"
    rng = np.random.default_rng(seed)
    np.savez(path, contexts=rng.standard_normal((ROWS, COLUMNS)) / COLUMNS**0.5, losses=rng.random((ROWS, 1)))
    return path


def points(explorer: str) -> Array:
    return np.random.default_rng(1).standard_normal((int(explorer.split()[0]), COLUMNS))


class Ours:
    """`HingePotential.gradient`, and its `single_gradient`."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.explorer = explorer

    def gradient(self, data: Data) -> tuple[Callable[[Any], Any], Any, float]:
        from marginbandits.samplers import HingePotential

        weights = data.losses[:, 0]
        potential, at = HingePotential(data.contexts, weights, MARGIN), points(self.explorer)
        value = float(potential(at).mean() / weights.sum())
        if self.explorer.endswith("32"):
            return potential.single_gradient(), at.astype(np.float32), value
        return potential.gradient, at, value


class JAX:
    """A compiled function of the points."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.explorer, self.form = explorer, settings["form"]

    def gradient(self, data: Data) -> tuple[Callable[[Any], Any], Any, float]:
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", self.explorer.endswith("64"))
        kind = jnp.float64 if self.explorer.endswith("64") else jnp.float32
        rows, weights = jnp.asarray(data.contexts, kind) / MARGIN, jnp.asarray(data.losses[:, 0], kind)
        columns = jnp.asarray(data.contexts.T.copy(), kind) / MARGIN

        def total(at: Any) -> Any:
            return (jnp.maximum(1.0 + at @ rows.T, 0.0) @ weights).sum()

        def formula(at: Any) -> Any:
            return jnp.where(1.0 + at @ columns > 0.0, weights, 0.0) @ rows

        def transposed(at: Any) -> Any:
            return (columns @ jnp.where(1.0 + rows @ at.T > 0.0, weights[:, None], 0.0)).T

        forms = {"autodiff": jax.grad(total), "formula": formula, "transposed": transposed}
        compiled = jax.jit(forms[self.form])
        at = jnp.asarray(points(self.explorer), kind)
        value = float(total(at)) / len(at) / float(weights.sum())
        return lambda here: compiled(here).block_until_ready(), at, value


make = JAX
