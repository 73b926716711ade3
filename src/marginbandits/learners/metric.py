"""What learners on a metric space share: a context is one point of it, and others are refused.

A K x d context is the point of its K·d numbers. Only contexts that are scored as they are (`Identity`) can be told from
points outside; features of them are the space's by definition.
"""

from marginbandits.contexts import Rows, Shape, dense
from marginbandits.features import Given, Identity
from marginbandits.learners.base import Learner
from marginbandits.scores.lipschitz import Space

__all__ = ["MetricContexts", "default_features"]


def default_features(features: Given | None, space: Space | None) -> Given:
    """What is not chosen: contexts as they are in a space that was given, standardised otherwise."""
    if features is not None:
        return features
    return "raw" if space is None else Identity()


class MetricContexts(Learner):
    """A subclass sets `_space`."""

    takes_names = False
    needs_every_row = True
    _space: Space

    def _admitted(self, rows: Rows, together: bool) -> Rows:
        taken = dense(super()._admitted(rows, together))
        if isinstance(self.features, Identity):
            self._space.refuse(taken.reshape(1, -1) if together else taken)
        return taken

    def _point_width(self, shape: Shape, n_features: int) -> int:
        width = n_features * self.n_actions if shape.shared else n_features
        if self._space.width not in (None, width):
            raise ValueError(f"features must give the space's {self._space.width} coordinates, got {width}")
        return width
