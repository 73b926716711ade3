"""Open Bandit Pipeline: its linear online policies.

Its package imports PyTorch for its offline learners, gigabytes that these policies never touch: an empty module stands
in for it. LinTS has no scale of its own; rewards ten times as large do what our scale of 0.1 does.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from beside.data import Data, ridge_rows
from beside.player import Settings

DISTRIBUTION = "obp"
EXPLORERS: dict[str, list[Settings]] = {
    "LinUCB": [{"epsilon": 0.2}, {"epsilon": 1.0}],
    "LinTS": [{"stretch": 10.0}, {"stretch": 3.0}],
    "EpsilonGreedy": [{"epsilon": 0.02}],
}
SKIPPED = {("sparse", "LinTS"): "seconds for each round"}


def linear() -> Any:
    """The module of its linear policies, without those that need PyTorch."""
    if "obp" not in sys.modules:
        found = find_spec("obp")
        assert found is not None
        assert found.submodule_search_locations is not None
        root = Path(next(iter(found.submodule_search_locations)))
        for name, path in (("obp", root), ("obp.policy", root / "policy")):
            package = ModuleType(name)
            package.__path__ = [str(path)]
            sys.modules[name] = package
        sys.modules["torch"] = SimpleNamespace(Tensor=None, tensor=None)  # type: ignore[assignment]  # stands for a module
    return importlib.import_module("obp.policy.linear")


class OpenBanditPipeline:
    """`select_action` and `update_params`."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.explorer, self.seed = explorer, seed
        self.settings = {name: value for name, value in settings.items() if name != "stretch"}
        self.stretch = settings.get("stretch", 1.0)

    def prepare(self, data: Data) -> Sequence[Any]:
        return [row[None] for row in ridge_rows(data)]

    def start(self, n_actions: int, n_features: int) -> None:
        policy = {"EpsilonGreedy": "LinEpsilonGreedy"}.get(self.explorer, self.explorer)
        self.bandit = getattr(linear(), policy)(
            dim=n_features + 1, n_actions=n_actions, random_state=self.seed, **self.settings
        )

    def round(self, x: Any, losses: list[float]) -> int:
        action = int(self.bandit.select_action(x)[0])
        self.bandit.update_params(action, self.stretch * (1.0 - losses[action]), x)
        return action


make = OpenBanditPipeline
