"""Steps that networks are taught by: AdamW, and Langevin dynamics, from a gradient.

    adamw      m <- β₁m + (1-β₁)g,  v <- β₂v + (1-β₂)g²,  θ <- (1 - hδ)θ - h m̂/(√v̂ + ε),   m̂, v̂ without their bias to 0
    langevin   θ <- θ - hG(g + λθ/N) + τ√(2hG/N) ξ

as `oracles.ensembles` has them. All arrays are flat; what a step changes is written into others, so that a round can be
taken back, or into the same.

Loshchilov & Hutter (2019), "Decoupled weight decay regularization".

>>> import numpy as np
>>> theta, adam = np.ones(1, np.float32), np.zeros((2, 1), np.float32)
>>> adamw(theta, adam, np.ones(1, np.float32), *paced(0.1, 0.0, steps=1), theta, adam)
>>> theta.round(3)
array([0.9], dtype=float32)
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.scores.networks import namespace
from marginbandits.types import Array

__all__ = ["adamw", "adamw_of_arrays", "adamw_of_each", "langevin", "paced"]

Small = npt.NDArray[np.float32]

_FADE, _FADE_SQUARES, _LEAST = 0.9, 0.999, 1e-8
"""AdamW's usual three: β₁, β₂ and ε; the preconditioner has the second."""
_FEWEST = 10.0
"""Steps that λ alone would need, at the least, to take a weight to 0."""


def paced(rate: Any, decay: Any, steps: int) -> tuple[Any, float, Any]:
    """What goes with the step of AdamW of this number: its pace, the scale of its squares, its decay."""
    return rate / (1.0 - _FADE**steps), 1.0 / (1.0 - _FADE_SQUARES**steps), rate * decay


@kernel
def _moved(
    now: Small, m: Small, v: Small, gradient: Small, h: float, wide: float, lost: float, out: Small, p: Small, q: Small
) -> None:
    one = np.float32(1.0)
    fade, fade_squares, least = np.float32(_FADE), np.float32(_FADE_SQUARES), np.float32(_LEAST)
    pace, scale, decay = np.float32(h), np.float32(wide), np.float32(lost)
    for i in range(now.shape[0]):
        g = gradient[i]
        p[i] = fade * m[i] + (one - fade) * g
        q[i] = fade_squares * v[i] + (one - fade_squares) * g * g
        # Taken off at once: 1 - lost is so near 1 that a product with it, rounded, decays too much or too little.
        out[i] = now[i] - (decay * now[i] + pace * p[i] / (np.sqrt(scale * q[i]) + least))


@kernel
def adamw(
    parameters: Small, adam: Small, gradient: Small, h: float, wide: float, lost: float, out: Small, out_adam: Small
) -> None:
    """One step of AdamW, `paced`, into `out` and `out_adam`."""
    _moved(parameters, adam[0], adam[1], gradient, h, wide, lost, out, out_adam[0], out_adam[1])


@kernel
def adamw_of_each(
    parameters: Small,
    adam: Small,
    gradient: Small,
    h: Array,
    wide: float,
    lost: Array,
    stretches: npt.NDArray[np.int64],
    out: Small,
    out_adam: Small,
) -> None:
    """`adamw` of each of several learners, bit for bit: a stretch is whose it is, where it begins and where it ends."""
    for k in range(stretches.shape[0]):
        s, i, j = stretches[k]
        m, v, p, q = adam[0][i:j], adam[1][i:j], out_adam[0][i:j], out_adam[1][i:j]
        _moved(parameters[i:j], m, v, gradient[i:j], h[s], wide, lost[s], out[i:j], p, q)


def adamw_of_arrays(
    parameters: Any, adam: Any, gradient: Any, h: Any, wide: Any, lost: Any, out: Any, out_adam: Any
) -> None:
    """`adamw` on the arrays of any library, `paced`. `out` may be what it is made of.

    The same but for rounding: the kernel multiplies and adds at once.
    """
    fade, fade_squares = float(np.float32(_FADE)), float(np.float32(_FADE_SQUARES))
    out_adam[0, ...] = fade * adam[0, ...] + (1.0 - fade) * gradient
    out_adam[1, ...] = fade_squares * adam[1, ...] + (1.0 - fade_squares) * gradient * gradient
    roots = namespace(parameters).sqrt(wide * out_adam[1, ...])
    out[...] = parameters - (lost * parameters + h * out_adam[0, ...] / (roots + _LEAST))


def langevin(
    parameters: Any,
    squares: Any,
    gradient: Any,
    noise: Any,
    rate: float,
    temperature: float,
    rounds: int,
    steps: int,
    out: Any,
    out_squares: Any,
) -> None:
    """One step of Langevin dynamics into `out`, of any library's arrays; preconditioned, if there are `squares`."""
    slopes, spread = gradient + parameters / rounds, temperature * math.sqrt(2.0 * rate / rounds)
    if not squares.shape[0]:
        out[...] = parameters - (rate * slopes - spread * noise)
        return
    out_squares[0, ...] = _FADE_SQUARES * squares[0, ...] + (1.0 - _FADE_SQUARES) * slopes * slopes
    root = namespace(parameters).sqrt
    gain = 1.0 / (root(out_squares[0, ...] / (1.0 - _FADE_SQUARES**steps)) + _FEWEST * rate / rounds)
    out[...] = parameters - (rate * gain * slopes - spread * root(gain) * noise)
