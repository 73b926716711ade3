"""Off-policy learning: from a table of past decisions to a policy, by the least weighted surrogate.

    W = argmin (1/Σc) Σ_i Σ_a c_i(a) ψ(<w_a, z_i>)² + (λ/2)‖W‖²,   Σ_a w_a = 0,   ψ(s) = max(1 + s, 0)

c_i(a) >= 0 is what action a would have cost in round i, as estimated by the log (`targets`); ψ² may be ψ, or the ramp
φ = min(ψ, 1). All three are at least 1 where s_a is largest: what is minimised bounds what greedy play would have cost,
by the same estimates. λ is chosen by cross-validation, with the best constant action among the candidates, and with
doubt counting for the constant (`choosing`). What is learnt is played greedily (`learnt`).

Foster & Krishnamurthy (2018), section 1.1, for the surrogates; Swaminathan & Joachims (2015), "Counterfactual risk
minimization", for learning from logs.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> contexts, actions = rng.normal(size=(500, 2)), rng.integers(2, size=500)
>>> losses = (actions != (contexts[:, 0] > 0)).astype(float)
>>> policy = MarginPolicy(seed=0).fit(contexts, actions, losses, np.full(500, 0.5))
>>> policy.predict([[2.0, 0.0], [-2.0, 0.0]])
array([1, 0])
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from marginbandits import saving
from marginbandits.features import Features
from marginbandits.learners.off_policy import choosing
from marginbandits.learners.off_policy.certificate import Certificate, held_out, margin_bound
from marginbandits.learners.off_policy.learnt import LearntPolicy
from marginbandits.learners.off_policy.reading import GivenLabels, as_features, read_rounds
from marginbandits.learners.options import NOTHING, MaybeActionCount
from marginbandits.ranges import MaybeRange
from marginbandits.types import Action, Array, Context, Decision
from marginbandits.validation import Choice, Integer, OneOf, Real, Seed, validated

__all__ = ["MarginPolicy"]

GRID = 10.0 ** np.arange(-5, 0)
"""λ, from which cross-validation chooses."""


class MarginPolicy(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learns whom to treat how from decisions of the past, their losses, and the probabilities they were taken with.

    `regularisation` is λ, or None for the choice by `folds`-fold cross-validation among 10^-5, …, 10^-1 and the best
    constant, which it takes unless another leads by more than `caution` standard errors. `targets` are "dr" (doubly
    robust, with ridge regression) or "ips". `actions` are the labels that the log has, where it has no numbers; of
    numbers there are `n_actions`, or one more than the largest. `reward_range` and `loss_range` say in what numbers
    rewards or losses come, where they are not within [0, 1]. Parameters are checked when they are given, and again
    by `fit`. `fit` leaves:

    `policy_`          the `Learner` that plays it: to serve, and to save
    `classes_`         the actions, in the order of laws
    `regularisation_`  λ, or None where it is the best constant
    `candidates_`      what cross-validation saw (`Candidate`), the best constant first; empty where λ was given
    `leader_`          weights (a constant's last, over 10), what they cost, and by how much at most the least is lower
    `certificate_`     the margin bound, which holds for every λ at once, and is often vacuous
    """

    @validated
    def __init__(
        self,
        *,
        surrogate: Annotated[str, Choice("squared hinge", "hinge", "ramp")] = "squared hinge",
        targets: Annotated[str, Choice("dr", "ips")] = "dr",
        regularisation: Annotated[float | None, OneOf(Real(1e-9, 1e9), NOTHING)] = None,
        folds: Annotated[int, Integer(3, 100)] = 5,
        caution: Annotated[float, Real(0)] = 2.5,
        features: Features = "raw",
        n_actions: MaybeActionCount = None,
        actions: Annotated[Sequence[Action] | None, OneOf(GivenLabels(), NOTHING)] = None,
        reward_range: MaybeRange = None,
        loss_range: MaybeRange = None,
        seed: Seed = 0,
    ) -> None:
        self.surrogate = surrogate
        self.targets = targets
        self.regularisation = regularisation
        self.folds = folds
        self.caution = caution
        self.features = features
        self.n_actions = n_actions
        self.actions = actions
        self.reward_range = reward_range
        self.loss_range = loss_range
        self.seed = seed

    def fit(
        self,
        contexts: Any,
        actions: npt.ArrayLike | None = None,
        losses: npt.ArrayLike | None = None,
        probabilities: npt.ArrayLike | None = None,
        *,
        rewards: npt.ArrayLike | None = None,
        available: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from n rounds: contexts (n x d), and of each the action taken, its loss or reward, its probability.

        `contexts` may be a whole log (`mb.read_log`, `mb.Logged`, `Rounds`) and stand alone; its features are kept in
        memory. `available` is n x K: which actions a round had. An action that the log never took is refused, because
        nothing can be said of it. Whatever is refused, what was learnt before stays.
        """
        type(self)(**self.get_params(deep=False))  # parameters may have been set since
        columns = _named(actions, losses, probabilities, rewards, available)
        policy, whole = as_features(self, read_rounds(self, contexts, columns, self.actions))
        filled = np.flatnonzero(whole.rows.any(0))  # of names, most columns may be free
        log = whole._replace(rows=whole.rows[:, filled])
        if len(log.losses) < self.folds:
            raise ValueError(f"contexts must be at least as many as the {self.folds} folds, got {len(log.losses)}")
        rng = np.random.default_rng(self.seed)
        folds = rng.permutation(np.arange(len(log.losses)) % self.folds)
        found, choice = list[choosing.Candidate](), self.regularisation
        paid = choosing.costs(log, self.targets, folds)
        if choice is None:
            found = choosing.candidates(log, self.surrogate, self.targets, GRID, folds)
            choice = choosing.chosen(found, self.caution).regularisation
        if choice is None:
            leader = choosing.constant_leader(log, paid)
        else:
            leader = choosing.leader(self.surrogate, log.rows, paid, choice)
        wide = np.zeros((policy.n_actions, whole.rows.shape[1] + 1))
        wide[:, filled], wide[:, -1] = leader.weights[:, :-1], leader.weights[:, -1]
        bound = margin_bound(log, leader.weights, choosing.CONSTANT)
        leader = replace(leader, weights=wide)
        policy._follow(wide[:, :-1], choosing.CONSTANT * wide[:, -1])
        self.policy_, self.leader_, self.regularisation_, self.candidates_ = policy, leader, choice, found
        self.classes_ = np.array(policy.actions if policy.actions is not None else range(policy.n_actions))
        self.certificate_ = bound
        return self

    def predict(self, contexts: Any, *, available: Any = None) -> npt.NDArray[Any]:
        """The action of each context; of those that tie, the first."""
        best = self.predict_proba(contexts, available=available).argmax(1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, contexts: Any, *, available: Any = None) -> Array:
        """The law of each context, n x K."""
        return np.asarray(self._fitted.laws(contexts, available=available))

    def laws(self, contexts: Any, *, available: Any = None) -> Array:
        """`predict_proba`, as learners call it."""
        return self.predict_proba(contexts, available=available)

    def law(self, context: Context, *, available: npt.ArrayLike | None = None) -> Array:
        """The law of one context."""
        return self._fitted.law(context, available=available)

    def act(self, context: Context, *, available: npt.ArrayLike | None = None) -> Decision:
        """A decision drawn from the law of one context."""
        return self._fitted.act(context, available=available)

    @validated
    def certify(
        self,
        contexts: Any,
        actions: npt.ArrayLike | None = None,
        losses: npt.ArrayLike | None = None,
        probabilities: npt.ArrayLike | None = None,
        *,
        rewards: npt.ArrayLike | None = None,
        available: npt.ArrayLike | None = None,
        confidence: Annotated[float, Real(above=0, below=1)] = 0.95,
    ) -> Certificate:
        """An upper bound on the policy's mean loss by a log that it was **not** fitted on; see `held_out`."""
        names, columns = self._fitted.actions, _named(actions, losses, probabilities, rewards, available)
        rounds = read_rounds(self, contexts, columns, names)
        laws = self.predict_proba(rounds.contexts, available=rounds.available)
        assert rounds.probabilities is not None
        return held_out(laws[rounds.at], rounds.losses, rounds.probabilities, confidence)

    def save(self, target: saving.Source) -> None:
        """Write `policy_` to a path or an open file; `mb.load` gives it back."""
        self._fitted.save(target)

    @property
    def _fitted(self) -> LearntPolicy:
        policy: LearntPolicy | None = getattr(self, "policy_", None)
        if policy is None:
            raise ValueError("MarginPolicy must be fitted first: call fit with a log")
        return policy


def _named(actions: Any, losses: Any, probabilities: Any, rewards: Any, available: Any) -> dict[str, Any]:
    return {
        "actions": actions,
        "losses": losses,
        "probabilities": probabilities,
        "rewards": rewards,
        "available": available,
    }
