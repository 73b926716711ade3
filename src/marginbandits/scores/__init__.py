"""Score classes F."""

from marginbandits.scores.cells import Cells, lipschitz_cover
from marginbandits.scores.finite import Finite
from marginbandits.scores.finite_space import FiniteSpace
from marginbandits.scores.linear import Linear, SharedLinear
from marginbandits.scores.lipschitz import Cube, MetricSpace, covering_dimension
from marginbandits.scores.networks import Networks

__all__ = [
    "Cells",
    "Cube",
    "Finite",
    "FiniteSpace",
    "Linear",
    "MetricSpace",
    "Networks",
    "SharedLinear",
    "covering_dimension",
    "lipschitz_cover",
]
