"""The shortest correct NumPy: LinUCB by Sherman-Morrison, without checks, probabilities or features of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beside.data import Data, ridge_rows
from beside.player import Settings

DISTRIBUTION = "numpy"
TASKS = ("narrow",)
EXPLORERS: dict[str, list[Settings]] = {"LinUCB": [{"alpha": 0.2}]}


class PlainNumPy:
    """A loop as in a notebook."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.alpha = settings["alpha"]

    def prepare(self, data: Data) -> Sequence[Any]:
        return ridge_rows(data)  # type: ignore[return-value]  # an array is a sequence of rows

    def start(self, n_actions: int, n_features: int) -> None:
        d = n_features + 1
        self.inverse = np.stack([np.eye(d)] * n_actions)
        self.b, self.theta = np.zeros((2, n_actions, d))

    def round(self, x: Any, losses: list[float]) -> int:
        u = self.inverse @ x
        action = int(np.argmax(self.theta @ x + self.alpha * np.sqrt(u @ x)))
        self.inverse[action] -= np.outer(u[action], u[action]) / (1.0 + u[action] @ x)
        self.b[action] += (1.0 - losses[action]) * x
        self.theta[action] = self.inverse[action] @ self.b[action]
        return action


make = PlainNumPy
