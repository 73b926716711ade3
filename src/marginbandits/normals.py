"""Standard normal numbers for compiled code: what `generator.standard_normal()` would draw, up to rounding.

The area under exp(-x²/2), x >= 0, is cut into 256 pieces of the same size: 255 layers that end at edges x_1 < x_2 < ...
< x_255 = R, and a rectangle below them with all that is beyond R. Of 64 bits eight choose a piece, one the sign, and 52
a place in it. What lies inside the layer above is under the curve, 99 times in 100; else chance decides, or, beyond R,
two exponential numbers.

Marsaglia & Tsang (2000), "The ziggurat method for generating random variables".

>>> import numpy as np
>>> from marginbandits.held import chance
>>> rng, drawn = np.random.default_rng(0), np.empty(100)
>>> fill(chance(rng), drawn)
>>> bool(np.allclose(drawn, np.random.default_rng(0).standard_normal(100), rtol=1e-12))
True
"""

import math
from typing import Any

import numpy as np

from marginbandits.compiled import kernel
from marginbandits.held import bits, uniform
from marginbandits.types import Array

__all__: list[str] = []
# It is compiled, for other modules here alone: it trusts what it is given.

R = 3.6541528853610088
"""The last edge, for which 256 pieces are of one size."""
_PLACES = 2.0**52


def _edges() -> Any:
    """The edges, the last piece's width in the place of the first, and the height of the curve at each."""
    area = R * math.exp(-R * R / 2) + math.sqrt(math.pi / 2) * math.erfc(R / math.sqrt(2))
    edges = np.zeros(256)
    edges[255] = R
    for i in range(254, 0, -1):
        edges[i] = math.sqrt(-2.0 * math.log(area / edges[i + 1] + math.exp(-(edges[i + 1] ** 2) / 2)))
    heights = np.exp(-(edges**2) / 2)
    edges[0] = area / heights[255]
    return edges, heights


_EDGES, _HEIGHTS = _edges()
_WITHIN = np.append(R / _EDGES[0], np.append(0.0, _EDGES[1:255]) / _EDGES[1:])
_ONE, _EIGHT, _NINE, _OTHER, _PIECES, _MOST = (np.uint64(n) for n in (1, 8, 9, 17, 255, 2**52 - 1))


@kernel
def _beyond(source: Any, sign: float) -> float:
    """One that is beyond R."""
    while True:
        x, y = -math.log1p(-uniform(source)) / R, -math.log1p(-uniform(source))
        if y + y > x * x:
            return float(sign * (R + x))


@kernel
def _normal(source: Any) -> float:
    while True:
        drawn = bits(source)
        piece, sign = int(drawn & _PIECES), -1.0 if (drawn >> _EIGHT) & _ONE else 1.0
        share = float((drawn >> _NINE) & _MOST) / _PLACES
        x = share * _EDGES[piece]
        if share < _WITHIN[piece]:
            return float(sign * x)
        if piece == 0:
            return _beyond(source, -1.0 if (drawn >> _OTHER) & _ONE else 1.0)
        height = _HEIGHTS[piece] + (_HEIGHTS[piece - 1] - _HEIGHTS[piece]) * uniform(source)
        if height < math.exp(-0.5 * x * x):
            return float(sign * x)


@kernel
def fill(source: Any, out: Array) -> None:
    """Draw every number of `out` from a source (`held.chance`)."""
    for i in range(out.shape[0]):
        out[i] = _normal(source)
