"""Learners that misbehave, importable by worker processes."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import marginbandits as mb
from marginbandits.contexts import Batch, Shape
from marginbandits.learners.base import Parts


def arrays_of(agent: mb.Learner) -> dict[str, Any]:
    """All that it has learnt, to be spoilt: `state()` is to be read."""
    assert agent._state is not None
    return agent._state.arrays()


class Raising(mb.Uniform):
    """Raises after ten rounds."""

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._rounds = 0
        return {}

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._rounds += 1
        if self._rounds == 10:
            raise RuntimeError("ten rounds are enough")


class Dying(mb.Uniform):
    """Kills its own process, as the system does when memory runs out."""

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}


class DyingOnce(mb.Uniform):
    """Kills its process the first time anyone tries it; the mark is a file named by an environment variable."""

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        mark = Path(os.environ["DYING_ONCE"])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {}


class Slow(mb.Uniform):
    """Takes its time."""

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        time.sleep(0.2)
        return {}
