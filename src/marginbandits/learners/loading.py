"""Saved learners, whatever their class."""

from marginbandits import saving
from marginbandits.learners.base import Learner

__all__ = ["load", "loads"]


def load(source: saving.Source, *, device: str | None = None) -> Learner:
    """The learner saved to a path or file, whatever its class; its networks on another `device`, if one is named."""
    return Learner.load(source, device=device)


def loads(content: bytes, *, device: str | None = None) -> Learner:
    """The learner whose `dumps` these bytes are, whatever its class; see `load`."""
    return Learner.loads(content, device=device)
