"""What one side of a comparison is: built for an explorer and one of its settings, then played."""

from collections.abc import Sequence
from typing import Any, Protocol

from beside.data import Data

Settings = dict[str, Any]
"""One way to set a peer up; of several, the one that loses least in a trial is measured."""


class Player(Protocol):
    """Only `round` is timed. A player that has a loop of its own has `whole` too."""

    def prepare(self, data: Data) -> Sequence[Any]:
        """The contexts in the form that this library's user would hold."""
        ...

    def start(self, n_actions: int, n_features: int) -> None:
        """A learner that knows nothing yet."""
        ...

    def round(self, x: Any, losses: list[float]) -> int:
        """Plays one round, learns the loss of what was played, and says what it was."""
        ...


class WholePlayer(Player, Protocol):
    """One whose library has a loop of its own."""

    def ready(self, data: Data) -> Any:
        """What the whole run reads; not timed."""
        ...

    def whole(self, given: Any) -> float:
        """Plays everything, and gives the mean loss."""
        ...
