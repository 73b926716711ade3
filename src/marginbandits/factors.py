"""Rank-one updates of a triangular factor: what ridge regression and particles both stand on.

For A = λI + Σ z zᵀ, only the lower triangular C of A⁻¹ = CᵀC is kept. A new row z changes it in O(d²) by Carlson's
square-root update, the form of Sherman-Morrison that is symmetric and positive definite by construction, whatever the
rounding; zᵀA⁻¹z = ‖Cz‖² is half the work of a product with A⁻¹.

The update goes once over C, four rows at a time: f = Cz of these, then, with α_i = 1 + f_0² + … + f_i²,

    C_i <- √(α_{i-1}/α_i) C_i - f_i/√(α_{i-1}α_i) g,   g <- g + f_i C_i

so that rows are still at hand when they change. f of the next four is made before these change: nothing waits for a
square root. At the end g/α is the gain (A + zzᵀ)⁻¹z.

Sums have the precision of the row, single or double, which is to be that of C.

Carlson (1973), "Fast triangular formulation of the square root filter", AIAA Journal 11(9).

>>> import numpy as np
>>> factor, gain = np.eye(2), np.zeros(2)
>>> carlson(factor, np.array([1.0, 0.0]), gain, np.empty((2, 2))), gain
(1.0, array([0.5, 0. ]))
>>> (factor.T @ factor).round(9)
array([[0.5, 0. ],
       [0. , 1. ]])
"""

import math
from typing import Any

from marginbandits.compiled import kernel
from marginbandits.lanes import each, line, put, total, width
from marginbandits.types import Array

__all__ = ["carlson", "dot", "square_norm"]


@kernel
def dot(weights: Array, row: Array) -> float:
    """<θ, z>, for other kernels too."""
    product = row.dtype.type(0.0)
    for j in range(row.shape[0]):
        product += weights[j] * row[j]
    return product


@kernel
def _four(factor: Array, i: int, row: Array) -> Any:
    """<C_i, z> of four rows from i on; what they have beyond the diagonal is 0."""
    r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
    v0 = v1 = v2 = v3 = each(row.dtype.type(0.0))
    many = width(row)
    wide = min(-(-(i + 4) // many), row.shape[0] // many) * many
    for j in range(0, wide, many):
        z = line(row, j)
        v0 = v0 + line(r0, j) * z
        v1 = v1 + line(r1, j) * z
        v2 = v2 + line(r2, j) * z
        v3 = v3 + line(r3, j) * z
    f0, f1, f2, f3 = total(v0), total(v1), total(v2), total(v3)
    for j in range(wide, i + 4):
        f0 += r0[j] * row[j]
        f1 += r1[j] * row[j]
        f2 += r2[j] * row[j]
        f3 += r3[j] * row[j]
    return f0, f1, f2, f3


@kernel
def square_norm(block: Array, row: Array) -> float:
    """‖Cz‖² for lower triangular C, for other kernels too."""
    norm, d = 0.0, row.shape[0]
    for i in range(d % 4):
        f = row.dtype.type(0.0)
        for j in range(i + 1):
            f += block[i, j] * row[j]
        norm += f * f
    for i in range(d % 4, d, 4):
        f0, f1, f2, f3 = _four(block, i, row)
        norm += f0 * f0 + f1 * f1 + f2 * f2 + f3 * f3
    return norm


@kernel
def carlson(factor: Array, row: Array, gain: Array, kept: Array) -> float:
    """C of A + zzᵀ from C of A; `gain`, given as zeros, becomes (A + zzᵀ)⁻¹z. Returns zᵀA⁻¹z, for the A before.

    `kept` becomes C as it was up to the diagonal, unless it is empty; beyond it is given as zeros. Rows may go on in
    zeros, z too: those that begin and end where lines of memory do are the fastest.
    """
    d, number, zero = factor.shape[0], row.dtype.type, row.dtype.type(0.0)
    alpha, root, few, many = 1.0, 1.0, d % 4, width(row)
    keeping = kept.shape[0] > 0
    for i in range(few):
        r0, f0 = factor[i], zero
        for j in range(i + 1):
            f0 += r0[j] * row[j]
        a0 = alpha + f0 * f0
        q0 = math.sqrt(a0)
        s0 = 1.0 / (root * q0)
        k0, m0, alpha, root = number(alpha * s0), number(f0 * s0), a0, q0
        for j in range(i + 1):
            e0 = r0[j]
            if keeping:
                kept[i, j] = e0
            r0[j] = k0 * e0 - m0 * gain[j]
            gain[j] += f0 * e0
    n0 = n1 = n2 = n3 = zero
    if d > few:
        n0, n1, n2, n3 = _four(factor, few, row)
    for i in range(few, d, 4):
        r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        f0, f1, f2, f3 = n0, n1, n2, n3
        a0 = alpha + f0 * f0
        a1 = a0 + f1 * f1
        a2 = a1 + f2 * f2
        a3 = a2 + f3 * f3
        q0, q1, q2, q3 = math.sqrt(a0), math.sqrt(a1), math.sqrt(a2), math.sqrt(a3)
        s0, s1, s2, s3 = 1.0 / (root * q0), 1.0 / (q0 * q1), 1.0 / (q1 * q2), 1.0 / (q2 * q3)
        k0, k1, k2, k3 = number(alpha * s0), number(a0 * s1), number(a1 * s2), number(a2 * s3)
        m0, m1, m2, m3 = number(f0 * s0), number(f1 * s1), number(f2 * s2), number(f3 * s3)
        alpha, root = a3, q3
        if i + 4 < d:  # the next four meanwhile: they wait for no square root
            n0, n1, n2, n3 = _four(factor, i + 4, row)
        wide = min(-(-(i + 4) // many), row.shape[0] // many) * many
        for j in range(0, wide, many):
            g, c0, c1, c2, c3 = line(gain, j), line(r0, j), line(r1, j), line(r2, j), line(r3, j)
            if keeping:
                put(kept[i], j, c0)
                put(kept[i + 1], j, c1)
                put(kept[i + 2], j, c2)
                put(kept[i + 3], j, c3)
            put(r0, j, each(k0) * c0 - each(m0) * g)
            g = g + each(f0) * c0
            put(r1, j, each(k1) * c1 - each(m1) * g)
            g = g + each(f1) * c1
            put(r2, j, each(k2) * c2 - each(m2) * g)
            g = g + each(f2) * c2
            put(r3, j, each(k3) * c3 - each(m3) * g)
            put(gain, j, g + each(f3) * c3)
        for j in range(wide, i + 4):
            b, e0, e1, e2, e3 = gain[j], r0[j], r1[j], r2[j], r3[j]
            if keeping:
                kept[i, j], kept[i + 1, j], kept[i + 2, j], kept[i + 3, j] = e0, e1, e2, e3
            r0[j] = k0 * e0 - m0 * b
            b += f0 * e0
            r1[j] = k1 * e1 - m1 * b
            b += f1 * e1
            r2[j] = k2 * e2 - m2 * b
            b += f2 * e2
            r3[j] = k3 * e3 - m3 * b
            gain[j] = b + f3 * e3
    for j in range(d):
        gain[j] /= alpha
    return alpha - 1.0
