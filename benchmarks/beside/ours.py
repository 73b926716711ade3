"""marginbandits, as it is shipped: contexts as they are, standardised online; probabilities; checked input.

But for RegCB, which has two learning rates to choose from in a trial, as Vowpal Wabbit has.
"""

from collections.abc import Sequence
from typing import Any

from beside.data import Data
from beside.player import Settings

DISTRIBUTION = "marginbandits"
EXPLORERS: dict[str, list[Settings]] = {
    **{name: [{}] for name in ("LinUCB", "LinTS", "EpsilonGreedy", "Bag", "SquareCB", "Cover")},
    "RegCB": [{}, {"learning_rate": 0.25}],  # two rates, as its peer has
}


class Ours:
    """A learner by its name."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.explorer, self.settings, self.seed = explorer, settings, seed

    def prepare(self, data: Data) -> Sequence[Any]:
        if data.sparse:
            return [data.contexts[i : i + 1] for i in range(len(data.losses))]
        return data.contexts  # type: ignore[no-any-return]  # rows of an array

    def start(self, n_actions: int, n_features: int) -> None:
        import marginbandits as mb

        self.agent = getattr(mb, self.explorer)(n_actions, seed=self.seed, **self.settings)

    def round(self, x: Any, losses: list[float]) -> int:
        decision = self.agent.act(x)
        self.agent.learn(x, decision, losses[decision.action])
        return int(decision.action)

    def ready(self, data: Data) -> Any:
        import marginbandits as mb

        return mb.Oblivious.of(data.contexts, data.losses)

    def whole(self, given: Any) -> float:
        import marginbandits as mb

        agent = getattr(mb, self.explorer)(given.n_actions, seed=self.seed, **self.settings)
        return float(mb.simulate(agent, given).losses.mean())


make = Ours
