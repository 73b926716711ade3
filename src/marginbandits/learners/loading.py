"""Saved learners, whatever their class."""

from typing import Any

from marginbandits import saving
from marginbandits.learners.base import Learner

__all__ = ["load", "loads"]


def load(source: saving.Source, *, device: str | None = None, body: Any = None) -> Learner:
    """The learner saved to a path or file, whatever its class.

    Its networks go to another `device`, if one is named; a `body` that they had of the user's own is handed in again.
    """
    return Learner.load(source, device=device, body=body)


def loads(content: bytes, *, device: str | None = None, body: Any = None) -> Learner:
    """The learner whose `dumps` these bytes are, whatever its class; see `load`."""
    return Learner.loads(content, device=device, body=body)
