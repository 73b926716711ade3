"""Many warm chains at once, for a hinge potential with a Gaussian part.

A round with features z, loss ℓ and score s = <w, z> costs a particle w the hinge on both sides of its margin, the loss
pulling the score down and the reward 1 - ℓ pulling it up, and the square of its score:

    ℓ (γ + s)_+ + (1 - ℓ)(γ - s)_+ + s²/2  =  γ + (s - y)²/2 - y²/2 + ℓ (-s - γ)_+ + (1 - ℓ)(s - γ)_+,   y = 1 - 2ℓ

So over all rounds, with λ‖w‖²/2, the potential is Gaussian but for what lies beyond the margin:

    U(w) = ½ (w - θ)ᵀA(w - θ) + V(w),   A = λI + Σ zzᵀ,   θ = A⁻¹ Σ y z,   A⁻¹ = CᵀC

The Gaussian part is known exactly at no cost that grows with history (`factors`); only ∇V, which vanishes as γ
grows, needs the rounds themselves (`stored_pull`). A step is preconditioned by A⁻¹ and leaves the Gaussian
exp(-½(w - θ)ᵀA(w - θ)/τ²) as it is, whatever its size h <= 1:

    w <- w - h (w - θ + A⁻¹∇V(w)) + τ √(h(2 - h)) Cᵀξ,   ξ ~ N(0, I)

Rows of `particles` are chains.

Cotter, Roberts, Stuart & White (2013), "MCMC methods for functions: modifying old algorithms to make them faster".

>>> import numpy as np
>>> scores, now = np.array([[2.0, 0.5, -2.0]]), np.empty((1, 3))
>>> hinge_slopes(scores, np.full(3, 0.25), np.ones(1), np.zeros((1, 3)), now), now
(True, array([[ 0.75,  0.  , -0.25]]))
"""

import math

from marginbandits.compiled import kernel
from marginbandits.types import Array

__all__: list[str] = []
# All of it is compiled, for other modules here alone: it trusts the arrays that learners keep.


@kernel
def hinge_slopes(scores: Array, losses: Array, margins: Array, then: Array, now: Array) -> bool:
    """Slopes of V's terms in their scores, particles x rounds, into `now`; whether any is not what it was `then`."""
    changed = False
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            slope = 0.0
            if scores[i, j] > margins[i]:
                slope = 1.0 - losses[j]
            elif scores[i, j] < -margins[i]:
                slope = -losses[j]
            now[i, j] = slope
            changed |= slope != then[i, j]
    return changed


@kernel
def langevin_step(
    particles: Array,
    mean: Array,
    factor: Array,
    pull: Array,
    n_rounds: float,
    step: float,
    temperature: float,
    normals: Array,
) -> None:
    """One step of every particle, in place; `factor` is C, `mean` θ, `pull` ∇V and `temperature` τ above.

    C∇V is a sum over at most `n_rounds` rounds of vectors no longer than 1, because zᵀA⁻¹z <= 1 for each of them; where
    rounding says otherwise (rows that differ in size by more than a float has digits) it is cut down to that. C is
    lower triangular and is read once: its row i turns component i of τ√(h(2 - h)) ξ - h C∇V into a move.
    """
    n, d = particles.shape
    noise = temperature * math.sqrt(step * (2.0 - step))
    for k in range(n):
        for j in range(d):
            particles[k, j] += step * (mean[j] - particles[k, j])
    full = d - d % 4
    for i in range(0, full, 4):  # four rows at once; what they have beyond the diagonal is 0
        r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        for k in range(n):
            a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
            for j in range(i + 4):
                a0 += r0[j] * pull[k, j]
                a1 += r1[j] * pull[k, j]
                a2 += r2[j] * pull[k, j]
                a3 += r3[j] * pull[k, j]
            m0 = noise * normals[k, i] - step * min(max(a0, -n_rounds), n_rounds)
            m1 = noise * normals[k, i + 1] - step * min(max(a1, -n_rounds), n_rounds)
            m2 = noise * normals[k, i + 2] - step * min(max(a2, -n_rounds), n_rounds)
            m3 = noise * normals[k, i + 3] - step * min(max(a3, -n_rounds), n_rounds)
            for j in range(i + 4):
                particles[k, j] += m0 * r0[j] + m1 * r1[j] + m2 * r2[j] + m3 * r3[j]
    for i in range(full, d):
        for k in range(n):
            a0 = 0.0
            for j in range(i + 1):
                a0 += factor[i, j] * pull[k, j]
            m0 = noise * normals[k, i] - step * min(max(a0, -n_rounds), n_rounds)
            for j in range(i + 1):
                particles[k, j] += m0 * factor[i, j]


@kernel
def absorb(
    particles: Array, margins: Array, row: Array, loss: float, nudges: Array, gain: Array, variance: float
) -> None:
    """Move each particle to the least of ½ (w - w₀)ᵀA(w - w₀) + the new round's own cost - its nudge·s, in place.

    `gain` is (A + zzᵀ)⁻¹z and `variance` zᵀA⁻¹z, both from `factors`. The score moves along A⁻¹z to where the slope is
    0, or to the kink where it changes sign. Without it a particle would lag behind the data by 1/h steps. Nudges τξ,
    ξ ~ N(0, 1), one for each particle, turn draws of the old Gaussian part into draws of the new one; without them
    particles would draw closer together than their posterior is wide.
    """
    if variance <= 0.0:
        return
    d = row.shape[0]
    for k in range(particles.shape[0]):
        margin, nudge, score = margins[k], nudges[k], 0.0
        for i in range(d):
            score += particles[k, i] * row[i]
        moved = (score + variance * (nudge + 1.0 - 2.0 * loss)) / (1.0 + variance)
        if moved > margin:
            moved = max(margin, (score + variance * (nudge - loss)) / (1.0 + variance))
        elif moved < -margin:
            moved = min(-margin, (score + variance * (nudge + 1.0 - loss)) / (1.0 + variance))
        share = (1.0 + variance) / variance * (moved - score)
        for i in range(d):
            particles[k, i] += share * gain[i]
