"""A log as users hand it in, whole or in columns: in features, with the policy that has learnt their scales."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from marginbandits.arrays import Integers
from marginbandits.contexts import several
from marginbandits.learners.inputs import each
from marginbandits.learners.off_policy.learnt import LearntPolicy
from marginbandits.learners.off_policy.targets import Log, Places
from marginbandits.learners.offers import Names
from marginbandits.learners.options import Labels
from marginbandits.log_parts import LogParts, is_log, record
from marginbandits.ranges import as_losses, one_range
from marginbandits.rounds import Rounds
from marginbandits.types import Action
from marginbandits.validation import quoted

if TYPE_CHECKING:
    from marginbandits.learners.off_policy.margin_policy import MarginPolicy

__all__ = ["GivenLabels", "as_features", "read_rounds"]

_WHOLE = Integers(1)


class GivenLabels(Labels):
    """Two or more different names, kept as they were given: scikit-learn's `clone` asks for that."""

    def clean(self, value: object) -> Any:
        """The value itself."""
        super().clean(value)
        return value


def read_rounds(
    estimator: "MarginPolicy", contexts: Any, columns: dict[str, Any], names: Sequence[Action] | None
) -> Rounds:
    """All rounds of a log, or of its `columns`: actions, losses or rewards, probabilities, available.

    Actions are in the order of `names`, where there are any.
    """
    if is_log(contexts):
        strange = [name for name, value in columns.items() if value is not None]
        if strange:
            raise ValueError(f"give a log alone, or columns, got a log and {strange[0]}")
        own, within = one_range(estimator.reward_range, estimator.loss_range), getattr(contexts, "within", None)
        if own is not None and within is not None and own != tuple(within):
            raise ValueError(f"the log has its own range {within}: leave out reward_range and loss_range, got {own}")
        rounds = _whole(contexts, estimator.n_actions, names)
    else:
        rounds = _columns(estimator, contexts, columns, names)
    if rounds.probabilities is None:
        raise ValueError("probabilities must be given: without them what was not done cannot be weighed, got None")
    return rounds


def as_features(estimator: "MarginPolicy", rounds: Rounds) -> tuple[LearntPolicy, Log]:
    """The rounds in features, and a policy that has learnt their scales and nothing else."""
    labels, probabilities = rounds.labels, rounds.probabilities
    assert labels is not None
    assert probabilities is not None
    n, K = len(rounds), len(labels)
    missing = np.flatnonzero(np.bincount(rounds.actions, minlength=K) == 0)
    if len(missing):
        raise ValueError(
            f"actions must each be taken at least once, as {quoted(labels[missing[0]])} never is: leave it out"
        )
    names = None if labels == tuple(range(K)) else list(labels)
    policy = LearntPolicy(K, features=estimator.features, actions=names, seed=estimator.seed)
    mask = np.ones((n, K), bool) if rounds.available is None else rounds.available
    return policy, Log(policy._read_log(rounds.contexts), rounds.actions, rounds.losses, probabilities, mask)


def _whole(log: Any, n_actions: int | None, names: Sequence[Action] | None) -> Rounds:
    rounds = Rounds.joined(list(LogParts(log, n_actions)))
    if rounds.offers is not None:
        raise ValueError("MarginPolicy needs the same actions in all rounds: for offers, `warm_start` a learner")
    if names is None:
        return rounds
    wanted, had = tuple(names), rounds.labels or ()
    if set(had) - set(wanted):
        raise ValueError(f"actions must have all of the log's {quoted(had)}, got {quoted(wanted)}")
    place = np.array([wanted.index(one) for one in had], np.int64)
    available = None
    if rounds.available is not None:
        available = np.zeros((len(rounds), len(wanted)), bool)
        available[:, place] = rounds.available
    taken = place[rounds.actions]
    return Rounds(rounds.contexts, taken, rounds.losses, rounds.probabilities, available, labels=wanted)


def _columns(
    estimator: "MarginPolicy", contexts: Any, columns: dict[str, Any], given_names: Sequence[Action] | None
) -> Rounds:
    taken, labels = _read_actions(estimator.n_actions, given_names, columns["actions"])
    within = one_range(estimator.reward_range, estimator.loss_range)
    name = "losses" if columns["rewards"] is None else "rewards"
    if columns["losses"] is not None and columns["rewards"] is not None:
        raise ValueError("give either losses or rewards, not both")
    if columns[name] is None:
        raise ValueError("losses must be given, or rewards, one for each context, got None")
    if within is not None and (estimator.reward_range is None) != (name == "losses"):
        raise ValueError(f"give rewards with reward_range, losses with loss_range, got {name} and {within}")
    given = SimpleNamespace(**{**columns, "actions": taken, "contexts": contexts, "losses": columns[name]})
    if name == "losses" and within is None:
        return record(given, labels=labels)
    try:
        values = as_losses(np.asarray(given.losses, float), within, rewards=name == "rewards")
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {quoted(given.losses)}") from None
    low, high = within or (0.0, 1.0)
    for i, one in enumerate(np.asarray(given.losses, float).ravel().tolist()):
        if not low <= one <= high:
            hint = "" if within else ", or say reward_range=(low, high)"
            raise ValueError(f"{name} must lie in [{low:g}, {high:g}]{hint}, got {one:g} in round {i}")
    given.losses = values
    return record(given, labels=labels)


def _read_actions(
    n_actions: int | None, given: Sequence[Action] | None, actions: Any
) -> tuple[Places, tuple[Action, ...]]:
    if given is not None:
        names = Names(given)
        return np.array(each("actions", several("actions", actions), names.place), np.int64), names.names
    try:
        taken = np.asarray(_WHOLE.clean(actions))
    except ValueError:
        raise ValueError(f"actions must be whole numbers, or give actions=[…], got {quoted(actions)}") from None
    return taken, tuple(range(max(int(taken.max()) + 1, 2) if n_actions is None else n_actions))
