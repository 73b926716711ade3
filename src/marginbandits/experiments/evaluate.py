"""What a policy would have lost, from the log of another: the one call.

The default is the doubly robust estimator, with a cross-fitted ridge regression and Hall's interval. Doubly robust,
because it is unbiased whatever the model is worth and needs no choice between losses and rewards (inverse propensity
weighting of losses near 1 is noise); Hall's, because weights are skewed, and it covers where the normal interval does
not, in one pass and without a seed. What each of the others is for: docs/off_policy.md.

>>> from marginbandits.environments import Logged
>>> rng = np.random.default_rng(0)
>>> X, a = rng.standard_normal((2000, 2)), rng.integers(0, 2, 2000)
>>> loss = (rng.random(2000) < np.where(a == 1, 0.3, 0.6)).astype(float)
>>> log = Logged(X, a, loss, np.full(2000, 0.5), n_actions=2, seed=0)
>>> print(evaluate(1, log))
The mean loss of always 1 is 0.276 (95% interval 0.249 to 0.305), by the doubly robust estimator from 2,000 rounds.
>>> evaluate(1, log, against=0).ends
Interval(mean=-0.3484, low=-0.3887, high=-0.307)
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, overload

import numpy as np

from marginbandits.evaluation.off_policy.diagnostics import Finding, Watch
from marginbandits.evaluation.off_policy.estimate import Estimate
from marginbandits.evaluation.off_policy.estimators import METHODS, MODELLED
from marginbandits.evaluation.off_policy.evidence import Evidence, Gatherer, Pair
from marginbandits.evaluation.off_policy.judging import Kind, Level, MaybeParameter, value
from marginbandits.experiments.log_chunks import Chunk, LogChunks
from marginbandits.experiments.propensities import estimated_laws
from marginbandits.experiments.reward_models import reward_model
from marginbandits.experiments.targets import Target
from marginbandits.types import Array
from marginbandits.validation import Choice, Instance, Integer, ListOf, OneOf, Seed, validated

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
    outcome: Annotated[str, Choice("loss", "reward")] = "loss",
    progressive: bool = False,
    propensities: Annotated[str, Choice("logged", "estimate")] = "logged",
    parameter: MaybeParameter = None,
    n_actions: MaybeCount = None,
    folds: Annotated[int, Integer(2, 100)] = 5,
    seed: Seed = 0,
) -> Estimate | list[Estimate]:
    """The mean loss (or reward) of a policy on the rounds of a log, or its difference to that of another, `against`.

    A policy is a learner, frozen or `progressive`; a function of contexts; an action; or a column of actions
    (`targets`). A log is a record of arrays or anything that yields such (`log_chunks`). Several methods give several
    estimates, from the same passes: one, and one more before it where a `model` is fitted (`reward_models`).
    """
    methods = [method] if isinstance(method, str) else list(method)
    chunks = LogChunks(log, n_actions)
    modelled = any(one in MODELLED for one in methods)
    if chunks.once and (propensities == "estimate" or (modelled and reward_model(model, 2, folds).passes)):
        raise ValueError(
            "log can be read once, and a model needs two passes: give a list, or a reader that starts again"
        )
    K, labels = chunks.n_actions, chunks.labels
    targets = [Target(policy, n_actions=K, labels=labels, progressive=progressive)]
    if against is not None:
        too = progressive and hasattr(against, "learn")
        targets.append(Target(against, n_actions=K, labels=labels, progressive=too, name="against"))
    laws = estimated_laws(chunks, K, folds) if propensities == "estimate" else None
    fitted = None
    if modelled:
        fitted = reward_model(model, K, folds)
        if fitted.passes:
            for chunk in chunks:
                fitted.see(chunk, _outcomes(chunk, outcome))
        fitted.done()
    evidence, findings = _gathered(_with_laws(chunks, laws), targets, fitted, outcome, chunks)
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
    return found[0] if isinstance(method, str) else found


def _outcomes(chunk: Chunk, outcome: str) -> Array:
    return chunk.losses if outcome == "loss" else 1.0 - chunk.losses


def _with_laws(chunks: LogChunks, laws: Array | None) -> Iterator[Chunk]:
    for chunk in chunks:
        if laws is not None:
            yield chunk.drawn_by(laws[chunk.start : chunk.start + len(chunk)])
        elif chunk.probabilities is None:
            raise ValueError(
                "log has no probabilities, and without those of what was taken no other policy can be judged: log "
                "them, or say propensities='estimate' to guess them from the contexts"
            )
        else:
            yield chunk


def _gathered(
    chunks: Iterator[Chunk], targets: list[Target], fitted: Any, outcome: str, log: LogChunks
) -> tuple[Evidence | Pair, list[Finding]]:
    """The pass in which every policy meets every round."""
    gathered = [Gatherer() for _ in targets]
    watches = [Watch(log.n_actions, log.labels) for _ in targets]
    distances: list[Array] = []
    for chunk in chunks:
        y, p = _outcomes(chunk, outcome), chunk.probabilities
        assert p is not None
        predicted = None if fitted is None else fitted.predict(chunk)
        taken = None if predicted is None else predicted[chunk.at]
        played = [target.laws(chunk) for target in targets]
        for target, gatherer, watch in zip(played, gathered, watches, strict=True):
            direct = None if predicted is None else np.clip(np.einsum("ij,ij->i", target, predicted), 0.0, 1.0)
            gatherer.add(target[chunk.at] / p, y, taken, direct)
            gatherer.largest = max(gatherer.largest, _largest(target, chunk, p))
            watch.add(chunk.actions, p, target=target, available=chunk.available, laws=chunk.laws)
        if len(played) == 2:
            distances.append(np.abs(played[0] - played[1]).sum(1) / 2.0)
    evidence = [one.evidence() for one in gathered]
    findings = [one.findings(each.w, each.y) for one, each in zip(watches, evidence, strict=True)]
    if len(evidence) == 1:
        return evidence[0], findings[0]
    doubts = [replace(one, name=f"{one.name} (against)") for one in findings[1] if not one.good]
    return Pair(evidence[0], evidence[1], np.concatenate(distances)), findings[0] + doubts


def _largest(target: Array, chunk: Chunk, p: Array) -> float:
    """The largest weight that could have come up: of any action where laws are known, else at the least propensity."""
    if chunk.laws is None:
        return float(target.max() / p.min())
    possible = chunk.laws > 0.0
    return float((target[possible] / chunk.laws[possible]).max())
