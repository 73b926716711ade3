"""A log as users hand it in: columns of one length, each value checked, the first bad one named by its row."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Booleans, Integers, Numbers
from marginbandits.contexts import several
from marginbandits.learners.inputs import each
from marginbandits.learners.off_policy.learnt import LearntPolicy
from marginbandits.learners.off_policy.targets import Log, Places
from marginbandits.learners.offers import Names
from marginbandits.learners.options import Labels
from marginbandits.types import Array, Mask
from marginbandits.validation import quoted

if TYPE_CHECKING:
    from marginbandits.learners.off_policy.margin_policy import MarginPolicy

__all__ = ["GivenLabels", "read_log"]

_WHOLE, _REAL, _MASKS = Integers(1), Numbers(1, finite=False, booleans=True), Booleans(2)


class GivenLabels(Labels):
    """Two or more different names, kept as they were given: scikit-learn's `clone` asks for that."""

    def clean(self, value: object) -> Any:
        """The value itself."""
        super().clean(value)
        return value


def read_log(
    estimator: "MarginPolicy",
    contexts: Any,
    actions: Any,
    losses: Any,
    probabilities: Any,
    available: Any,
    *,
    never_taken: bool = False,
) -> tuple[LearntPolicy, Log]:
    """The log in features, and a policy that has learnt their scales and nothing else.

    `never_taken` allows for actions that the log never took.
    """
    taken, n_actions = _read_actions(estimator, actions)
    names = None if estimator.actions is None else list(estimator.actions)
    policy = LearntPolicy(n_actions, features=estimator.features, actions=names, seed=estimator.seed)
    rows = policy._read_log(contexts)
    n, K = len(rows), policy.n_actions
    lost = _column("losses", losses, n)
    _refuse("losses must be numbers within [0, 1]", lost, (lost >= 0.0) & (lost <= 1.0))
    chances = _column("probabilities", probabilities, n)
    _refuse("probabilities must be numbers above 0 and at most 1", chances, (chances > 0.0) & (chances <= 1.0))
    if len(taken) != n:
        raise ValueError(f"actions must be one for each of {n} contexts, got {len(taken)}")
    mask = _read_masks(available, n, K)
    _refuse("actions must be available in their rounds", taken, mask[np.arange(n), taken])
    missing = np.flatnonzero(np.bincount(taken, minlength=K) == 0)
    if len(missing) and not never_taken:
        name = int(missing[0]) if names is None else names[missing[0]]
        raise ValueError(f"actions must each be taken at least once, as {quoted(name)} never is: leave it out")
    return policy, Log(rows, taken, lost, chances, mask)


def _read_actions(estimator: "MarginPolicy", actions: Any) -> tuple[Places, int]:
    if estimator.actions is not None:
        names = Names(estimator.actions)
        return np.array(each("actions", several("actions", actions), names.place), np.int64), len(names.names)
    try:
        taken = np.asarray(_WHOLE.clean(actions))
    except ValueError:
        raise ValueError(f"actions must be whole numbers, or give actions=[…], got {quoted(actions)}") from None
    n_actions = max(int(taken.max()) + 1, 2) if estimator.n_actions is None else estimator.n_actions
    _refuse(f"actions must be whole numbers from 0 to {n_actions - 1}", taken, (taken >= 0) & (taken < n_actions))
    return taken, n_actions


def _column(name: str, values: Any, n: int) -> Array:
    if values is None:
        raise ValueError(f"{name} must be given, one for each of {n} contexts, got None")
    try:
        column = np.asarray(_REAL.clean(values))
    except ValueError:
        raise ValueError(f"{name} must be numbers, one for each of {n} contexts, got {quoted(values)}") from None
    if column.shape != (n,):
        raise ValueError(f"{name} must be one for each of {n} contexts, got {len(column)}")
    return column


def _read_masks(available: Any, n: int, n_actions: int) -> Mask:
    if available is None:
        return np.ones((n, n_actions), bool)
    try:
        mask: Mask = np.asarray(_MASKS.clean(available))
    except ValueError:
        mask = np.zeros((0, 0), bool)
    if mask.shape != (n, n_actions):
        raise ValueError(f"available must be {n} x {n_actions} booleans, got {quoted(available)}")
    return mask


def _refuse(rule: str, values: npt.NDArray[Any], good: npt.NDArray[np.bool_]) -> None:
    if not good.all():
        at = int(np.flatnonzero(~good)[0])
        raise ValueError(f"{rule}, got {quoted(values[at].item())} in row {at}")
