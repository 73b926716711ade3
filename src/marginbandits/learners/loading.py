"""Saved learners, whatever their class."""

from marginbandits import saving
from marginbandits.learners.base import Learner

__all__ = ["load", "loads"]


def load(source: saving.Source) -> Learner:
    """The learner saved to a path or file, whatever its class; see `Learner.save`."""
    return Learner.load(source)


def loads(content: bytes) -> Learner:
    """The learner whose `dumps` these bytes are, whatever its class."""
    return Learner.loads(content)
