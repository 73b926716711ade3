"""Many warm chains at once, for a potential of margins with a Gaussian part.

A round with features z, loss ℓ and score s = <w, z> costs a particle w on both sides of its margin γ: the loss pulls
the score below -γ, the reward 1 - ℓ above γ. The cost is a choice of

    squared hinge   ℓ (γ + s)_+²/2 + (1 - ℓ)(γ - s)_+²/2
    hinge           ℓ (γ + s)_+ + (1 - ℓ)(γ - s)_+ + s²/2

Within the margin both are (s - y)²/2 and a constant, with y = γ(1 - 2ℓ) and y = 1 - 2ℓ; so over all rounds, with
λ‖w‖²/2, the potential is Gaussian but for what lies beyond the margin:

    U(w) = ½ (w - θ)ᵀA(w - θ) + V(w),   A = λI + Σ zzᵀ,   θ = A⁻¹ Σ y z,   A⁻¹ = CᵀC

    squared hinge   V = -Σ (1 - ℓ)(s - γ)_+²/2 + ℓ (-s - γ)_+²/2      beyond the margin, who agrees pays nothing
    hinge           V = Σ (1 - ℓ)(s - γ)_+ + ℓ (-s - γ)_+             beyond the margin, who agrees pays s²/2

The Gaussian part is known exactly at no cost that grows with history (`factors`); only ∇V, which vanishes as γ
grows, needs the rounds themselves (`stored_pull`). A step is preconditioned by A⁻¹ and leaves the Gaussian
exp(-½(w - θ)ᵀA(w - θ)/τ²) as it is, whatever its size h <= 1:

    w <- w - h (w - θ + A⁻¹∇V(w)) + τ √(h(2 - h)) Cᵀξ,   ξ ~ N(0, I)

Only rounds that are kept are in V, m of an action's N, a uniform sample. Each stands for as many as it may without U
ceasing to be convex: for N/(√m + √d + 3)² of them, and for one at least, since m normal rows have no direction of more
than (√m + √d + 3)²/m times its share in all, with probability 1 - e^{-9/2}. Were each to count once for ever, only the
Gaussian part of what is kept no longer would remain, and the margin would fade as N grows. No term of U curves more
than its part of A, so no h <= 1 is too large. Rows of `particles` are chains, in single or double precision, which is
to be that of C.

Cotter, Roberts, Stuart & White (2013), "MCMC methods for functions: modifying old algorithms to make them faster";
Davidson & Szarek (2001), "Local operator theory, random matrices and Banach spaces", for the largest direction.

>>> [slope(score, 0.25, 1.0, True) for score in (2.0, 0.5, -2.0)]
[-0.75, 0.0, 0.25]
"""

import math

import numpy as np

from marginbandits.compiled import kernel
from marginbandits.lanes import each, line, put, total, width
from marginbandits.types import Array

__all__: list[str] = []
# All of it is compiled, for other modules here alone: it trusts the arrays that learners keep.


@kernel
def scores_of(particles: Array, rows: Array, shared: bool, row: Array, out: Array) -> None:
    """Scores of every action's particles, one block for each or one for all; `row` is room for a row like them."""
    n, d = particles.shape[1], particles.shape[2]
    full, zero = n - n % 4, particles.dtype.type(0.0)
    for a in range(out.shape[0]):
        if shared or a == 0:
            for j in range(d):
                row[j] = rows[a, j]
        own = particles[0 if shared else a]
        for k in range(0, full, 4):  # four particles at once
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(d):
                s0 += own[k, j] * row[j]
                s1 += own[k + 1, j] * row[j]
                s2 += own[k + 2, j] * row[j]
                s3 += own[k + 3, j] * row[j]
            out[a, k], out[a, k + 1], out[a, k + 2], out[a, k + 3] = s0, s1, s2, s3
        for k in range(full, n):
            s0 = zero
            for j in range(d):
                s0 += own[k, j] * row[j]
            out[a, k] = s0


@kernel
def slope(score: float, loss: float, margin: float, squared: bool) -> float:
    """Slope of a term of V in its score: 0 within the margin."""
    if score > margin:
        return (1.0 - loss) * ((margin - score) if squared else 1.0)
    if score < -margin:
        return -loss * ((margin + score) if squared else 1.0)
    return 0.0


@kernel
def langevin_step(
    particles: Array,
    mean: Array,
    factor: Array,
    pull: Array,
    weight: float,
    most: float,
    step: float,
    temperature: float,
    normals: Array,
) -> None:
    """One step of every particle, in place; `factor` is C, `mean` θ, `weight` · `pull` ∇V and `temperature` τ above.

    C∇V is a sum of vectors no longer than their slopes, because zᵀA⁻¹z <= 1 for every round; where rounding says
    otherwise (rows that differ in size by more than a float has digits) it is cut down to `most`, what slopes may sum
    to. C is lower triangular and is read once for two particles: its row i turns component i of τ√(h(2 - h)) ξ - h C∇V
    into a move.
    """
    n, d, size = particles.shape[0], particles.shape[1], factor.shape[1]
    number, many, full = particles.dtype.type, width(factor), d - d % 4
    noise, zero = temperature * math.sqrt(step * (2.0 - step)), number(0.0)
    both, moves = np.zeros((2, size), particles.dtype), np.empty((2, size), particles.dtype)
    u, v, p, q = both[0], both[1], moves[0], moves[1]
    for k in range(0, n, 2):
        other = min(k + 1, n - 1)  # the last of an odd number goes with itself
        for j in range(d):
            u[j], v[j] = weight * pull[k, j], weight * pull[other, j]
        for j in range(size):
            p[j], q[j] = zero, zero
        for i in range(0, full, 4):  # four rows at once; what they have beyond the diagonal is 0
            r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
            wide = min(-(-(i + 4) // many), size // many) * many
            s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = each(zero)
            for j in range(0, wide, many):
                x, y, c0, c1, c2, c3 = line(u, j), line(v, j), line(r0, j), line(r1, j), line(r2, j), line(r3, j)
                s0, s1, s2, s3 = s0 + c0 * x, s1 + c1 * x, s2 + c2 * x, s3 + c3 * x
                t0, t1, t2, t3 = t0 + c0 * y, t1 + c1 * y, t2 + c2 * y, t3 + c3 * y
            a0, a1, a2, a3, b0, b1, b2, b3 = (
                total(s0),
                total(s1),
                total(s2),
                total(s3),
                total(t0),
                total(t1),
                total(t2),
                total(t3),
            )
            for j in range(wide, i + 4):
                a0 += r0[j] * u[j]
                a1 += r1[j] * u[j]
                a2 += r2[j] * u[j]
                a3 += r3[j] * u[j]
                b0 += r0[j] * v[j]
                b1 += r1[j] * v[j]
                b2 += r2[j] * v[j]
                b3 += r3[j] * v[j]
            a0 = number(noise * normals[k, i] - step * min(max(a0, -most), most))
            a1 = number(noise * normals[k, i + 1] - step * min(max(a1, -most), most))
            a2 = number(noise * normals[k, i + 2] - step * min(max(a2, -most), most))
            a3 = number(noise * normals[k, i + 3] - step * min(max(a3, -most), most))
            b0 = number(noise * normals[other, i] - step * min(max(b0, -most), most))
            b1 = number(noise * normals[other, i + 1] - step * min(max(b1, -most), most))
            b2 = number(noise * normals[other, i + 2] - step * min(max(b2, -most), most))
            b3 = number(noise * normals[other, i + 3] - step * min(max(b3, -most), most))
            for j in range(0, wide, many):
                c0, c1, c2, c3 = line(r0, j), line(r1, j), line(r2, j), line(r3, j)
                put(p, j, line(p, j) + (each(a0) * c0 + each(a1) * c1) + (each(a2) * c2 + each(a3) * c3))
                put(q, j, line(q, j) + (each(b0) * c0 + each(b1) * c1) + (each(b2) * c2 + each(b3) * c3))
            for j in range(wide, i + 4):
                p[j] += a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j]
                q[j] += b0 * r0[j] + b1 * r1[j] + b2 * r2[j] + b3 * r3[j]
        for i in range(full, d):
            a0, b0 = zero, zero
            for j in range(i + 1):
                a0 += factor[i, j] * u[j]
                b0 += factor[i, j] * v[j]
            a0 = number(noise * normals[k, i] - step * min(max(a0, -most), most))
            b0 = number(noise * normals[other, i] - step * min(max(b0, -most), most))
            for j in range(i + 1):
                p[j] += a0 * factor[i, j]
                q[j] += b0 * factor[i, j]
        for one in range(k, other + 1):
            own, moved = particles[one], moves[one - k]
            for j in range(d):
                own[j] += step * (mean[j] - own[j]) + moved[j]


@kernel
def absorb(
    particles: Array,
    margin: float,
    squared: bool,
    row: Array,
    loss: float,
    nudges: Array,
    gain: Array,
    variance: float,
) -> None:
    """Move each particle to the least of ½ (w - w₀)ᵀA(w - w₀) + the new round's own cost - its nudge·s, in place.

    `gain` is (A + zzᵀ)⁻¹z and `variance` zᵀA⁻¹z, both from `factors`. The score moves along A⁻¹z to where the slope is
    0, or to the kink where it changes sign. Without it a particle would lag behind the data by 1/h steps. Nudges τξ,
    ξ ~ N(0, 1), one for each particle, turn draws of the old Gaussian part into draws of the new one; without them
    particles would draw closer together than their posterior is wide. Beyond the margin of the squared hinge, where the
    round curves by ℓ or 1 - ℓ instead of 1, they count as much less; where it is flat, not at all.
    """
    if variance <= 0.0:
        return
    d, target, number = row.shape[0], (margin if squared else 1.0) * (1.0 - 2.0 * loss), particles.dtype.type
    for k in range(particles.shape[0]):
        nudge, total = nudges[k], number(0.0)
        for i in range(d):
            total += particles[k, i] * row[i]
        score = float(total)
        start = score + variance * nudge
        moved = (start + variance * target) / (1.0 + variance)
        if moved > margin:
            if squared:
                pull = math.sqrt(loss) * nudge - loss * margin
                moved = max(margin, (score + variance * pull) / (1.0 + variance * loss))
            else:
                moved = max(margin, (start - variance * loss) / (1.0 + variance))
        elif moved < -margin:
            if squared:
                pull = math.sqrt(1.0 - loss) * nudge + (1.0 - loss) * margin
                moved = min(-margin, (score + variance * pull) / (1.0 + variance * (1.0 - loss)))
            else:
                moved = min(-margin, (start + variance * (1.0 - loss)) / (1.0 + variance))
        share = number((1.0 + variance) / variance * (moved - score))
        for i in range(d):
            particles[k, i] += share * gain[i]
