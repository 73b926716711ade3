"""What a policy would have lost, from the log of another: the one call.

The default is the doubly robust estimator, with a cross-fitted ridge regression and Hall's interval. Doubly robust,
because it is unbiased (if the propensities are true) however poor the model, and needs no choice between losses and
rewards (inverse propensity weighting of losses near 1 is noise); Hall's, because weights are skewed, and it covers
where the normal interval does not, in one pass and without a seed. What each of the others is for: docs/off_policy.md.

>>> import numpy as np
>>> from marginbandits.environments import Logged
>>> rng = np.random.default_rng(0)
>>> X, a = rng.standard_normal((2000, 2)), rng.integers(0, 2, 2000)
>>> loss = (rng.random(2000) < np.where(a == 1, 0.3, 0.6)).astype(float)
>>> log = Logged(X, a, loss, np.full(2000, 0.5), n_actions=2, seed=0)
>>> print(evaluate(1, log))
The mean loss of always 1 is 0.276 (95% interval 0.248 to 0.305), by the doubly robust estimator from 2,000 rounds.
>>> evaluate(1, log, against=0).ends
Interval(mean=-0.3484, low=-0.3888, high=-0.3071)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, overload

import numpy as np

from marginbandits.evaluation.off_policy.estimate import Estimate
from marginbandits.evaluation.off_policy.estimators import METHODS, MODELLED
from marginbandits.evaluation.off_policy.judging import Kind, Level, MaybeParameter, value
from marginbandits.experiments.propensities import estimated_laws
from marginbandits.experiments.questions import Question, joined, of_file
from marginbandits.experiments.reward_models import Fitted, reward_model
from marginbandits.experiments.targets import Target
from marginbandits.log_parts import LogParts
from marginbandits.rounds import Progress, Rounds
from marginbandits.validation import Choice, Function, Instance, Integer, ListOf, OneOf, Seed, quoted, validated

__all__ = ["evaluate"]

Methods = Annotated[str | Sequence[str], OneOf(Choice(*METHODS), ListOf(Choice(*METHODS)))]
MaybeCount = Annotated[int | None, OneOf(Integer(2, 10**7), Instance(type(None)))]


@overload
def evaluate(policy: Any, log: Any, *, method: str = ..., **options: Any) -> Estimate: ...
@overload
def evaluate(policy: Any, log: Any, *, method: Sequence[str], **options: Any) -> list[Estimate]: ...
@validated  # type: ignore[misc]  # the options of both are those below
def evaluate(
    policy: Any,
    log: Any,
    *,
    method: Methods = "dr",
    interval: Kind = "hall",
    level: Level = 0.95,
    against: Any = None,
    model: Any = None,
    outcome: Annotated[str | None, OneOf(Choice("loss", "reward"), Instance(type(None)))] = None,
    progressive: bool = False,
    propensities: Annotated[str, Choice("logged", "estimate")] = "logged",
    parameter: MaybeParameter = None,
    n_actions: MaybeCount = None,
    folds: Annotated[int, Integer(2, 100)] = 5,
    seed: Seed = 0,
    progress: Progress = None,
    spread: Annotated[Callable[..., Any] | None, OneOf(Function(), Instance(type(None)))] = None,
) -> Estimate | list[Estimate]:
    """The mean loss (or reward) of a policy on the rounds of a log, or its difference to that of another, `against`.

    Which of the two is said by `outcome`; unless it is, the log's own: rewards where it has a column of these.
    A policy is a learner, frozen or `progressive`; a function of contexts; an action; or a column of actions
    (`targets`). A log is what `mb.read_log` gives, a record of arrays, or anything that yields such (`log_parts`).
    Several methods give several estimates, from the same passes: one, and one more before it where a `model` is fitted
    (`reward_models`). `progress` is told of rounds as they are read; `spread` reads the files of a folder elsewhere
    (`dask_runner.over_files`), to the same numbers.
    """
    if outcome is None:
        outcome = "reward" if getattr(log, "rewards", None) is True else "loss"
    methods = [method] if isinstance(method, str) else list(method)
    parts = LogParts(log, n_actions)
    modelled = any(one in MODELLED for one in methods)
    fitted = reward_model(model, parts.n_actions, folds) if modelled else None
    passes = fitted is not None and fitted.passes > 0
    if parts.once and (propensities == "estimate" or passes):
        raise ValueError(
            "log can be read once, and a model needs two passes: give a list, or a reader that starts again"
        )
    labels = None if parts.offers else parts.labels or tuple(range(parts.n_actions))
    targets = [Target(policy, labels=labels, progressive=progressive)]
    if against is not None:
        too = progressive and hasattr(against, "learn")
        targets.append(Target(against, labels=labels, progressive=too, name="against"))
    laws = estimated_laws(parts, parts.n_actions, folds) if propensities == "estimate" else None
    question = Question(targets, fitted, outcome, parts.n_actions, labels, parts.offers, laws)
    over = _here(parts, progress) if spread is None else _there(log, spread, question, progress)
    if fitted is not None:
        if passes:
            fitted.begin(next(iter(parts)))
            for seen in over(question.seen):
                fitted.join(seen)
        fitted.done()
    judged = list(over(question.judged))
    if spread is None:
        for target in targets:
            target.done()
    evidence, findings = joined(judged, labels)
    if interval == "sequence" and against is not None and any(one.guessed for one in judged):
        raise ValueError(
            "interval 'sequence' of a difference to the log's own policy needs its laws, and the log has none"
        )
    found = [
        value(
            evidence,
            one,
            interval=interval,
            level=level,
            parameter=parameter,
            seed=seed,
            outcome=outcome,
            findings=findings,
            estimated_propensities=laws is not None,
            policy=targets[0].name,
            against=targets[1].name if against is not None else "",
        )
        for one in methods
    ]
    if getattr(log, "within", None) is not None and bool(log.rewards) == (outcome == "reward"):
        found = [replace(one, within=log.within) for one in found]
    return found[0] if isinstance(method, str) else found


def _here(parts: LogParts, progress: Progress) -> Callable[..., Iterator[Any]]:
    """File after file, in this process."""

    def watched(rounds: Iterator[Rounds]) -> Iterator[Rounds]:
        for one in rounds:
            yield one
            if progress is not None:
                progress(len(one))

    return lambda work: (work(watched(own)) for own in parts.files())


def _there(
    log: Any, spread: Callable[..., Any], question: Question, progress: Progress
) -> Callable[..., Iterator[Any]]:
    """The files of a folder, wherever `spread` takes them; in their order."""
    if not hasattr(log, "files"):
        raise ValueError(f"files are read apart where there are some: read_log of a folder, got {quoted(log)}")
    if question.ordered or question.laws is not None or isinstance(question.model, Fitted):
        raise ValueError(
            "files read apart take policies as they stand, logged propensities, and no model that needs all rounds at "
            "once: no progressive learner, no array as a column, no propensities='estimate', no scikit-learn model"
        )

    def over(work: Callable[..., Any]) -> Iterator[Any]:
        reports, keys = [], []
        for found, report, hashes in spread(partial(of_file, work), log.files()):
            reports.append(report)
            keys.append(hashes)
            if progress is not None:
                progress(report.rounds)
            yield found
        log.report = type(report).joined(reports)
        every = np.concatenate(keys)
        if twice := len(every) - len(np.unique(every)):
            raise ValueError(f"{twice:,} keys are in more than one file: read apart, none of them can be left out")

    return over
