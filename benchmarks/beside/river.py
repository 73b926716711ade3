"""river: its one contextual bandit, LinUCB with a Bayesian regression for each arm, on dictionaries.

Its prior must be 1 and its bonus is the deviation of a reward, √((1 + x'A⁻¹x)/β): contexts are stretched for our ridge.
"""

from collections.abc import Sequence
from typing import Any

from beside.data import STRETCH, Data, ridge_rows
from beside.player import Settings

DISTRIBUTION = "river"
EXPLORERS: dict[str, list[Settings]] = {"LinUCB": [{"beta": 25.0}, {"beta": 2.5}, {"beta": 0.5}]}


class River:
    """`pull` and `update`."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.settings, self.seed = settings, seed

    def prepare(self, data: Data) -> Sequence[Any]:
        rows = ridge_rows(data) / (STRETCH * (self.settings["beta"] / 10.0) ** 0.5)
        return [{f"f{i}": value for i, value in enumerate(row) if value} for row in rows.tolist()]

    def start(self, n_actions: int, n_features: int) -> None:
        from river import bandit

        self.arms = list(range(n_actions))
        self.bandit = bandit.LinUCBDisjoint(seed=self.seed, **self.settings)

    def round(self, x: Any, losses: list[float]) -> int:
        action = int(self.bandit.pull(self.arms, context=x))
        self.bandit.update(action, x, 1.0 - losses[action])
        return action


make = River
