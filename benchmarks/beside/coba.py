"""coba: its own LinUCB and LinTS, and Vowpal Wabbit through its learners.

Actions are categories: one-hot for its own learners, names for Vowpal Wabbit's. Its own keep one matrix for all actions
together, of (K(d + 1))² numbers.
"""

from collections.abc import Sequence
from typing import Any

from beside.data import Data, named, ridge_rows
from beside.player import Settings

DISTRIBUTION = "coba"
RATES = 0.5, 3.0
EXPLORERS: dict[str, list[Settings]] = {
    "LinUCB": [{"alpha": 0.2}, {"alpha": 1.0}],
    "LinTS": [{"v": 0.01}, {"v": 0.1}],
    "EpsilonGreedy": [{"epsilon": 0.02, "learning_rate": rate} for rate in RATES],
    "SquareCB": [{"gamma_scale": 30, "learning_rate": rate} for rate in RATES],
}
SKIPPED = {("sparse", "LinUCB"): "a matrix of 3 GB", ("sparse", "LinTS"): "a matrix of 3 GB"}


class Coba:
    """`predict` and `learn`."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.explorer, self.settings, self.seed = explorer, settings, seed
        self.own = explorer.startswith("Lin")

    def prepare(self, data: Data) -> Sequence[Any]:
        if self.own:
            return ridge_rows(data).tolist()  # type: ignore[no-any-return]  # rows of an array
        return [{f"f{i}": value for i, value in pairs} for pairs in named(data)]

    def start(self, n_actions: int, n_features: int) -> None:
        import coba

        shared = {"seed": self.seed, **self.settings}
        if self.own:
            self.actions: list[Any] = [tuple(int(a == b) for b in range(n_actions)) for a in range(n_actions)]
            self.bandit = {"LinUCB": coba.LinUCBLearner, "LinTS": coba.LinTSLearner}[self.explorer](
                features=["xa"], **shared
            )
        else:
            self.actions = [str(action) for action in range(n_actions)]
            kind = coba.VowpalEpsilonLearner if self.explorer == "EpsilonGreedy" else coba.VowpalSquarecbLearner
            self.bandit = kind(features=["a", "ax"], **shared)
        self.places = {action: i for i, action in enumerate(self.actions)}

    def round(self, x: Any, losses: list[float]) -> int:
        chosen, probability, *more = self.bandit.predict(x, self.actions)
        action = self.places[chosen]
        self.bandit.learn(x, chosen, 1.0 - losses[action], probability, **(more[0] if more else {}))
        return action


make = Coba
