"""Score classes F."""

from marginbandits.scores.finite import Finite
from marginbandits.scores.linear import Linear, SharedLinear
from marginbandits.scores.lipschitz import Cube, MetricSpace, covering_dimension

__all__ = ["Cube", "Finite", "Linear", "MetricSpace", "SharedLinear", "covering_dimension"]
