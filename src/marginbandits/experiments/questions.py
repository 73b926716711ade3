"""The two passes of an evaluation, file by file: what a model adds up, then what every policy says of every round.

What comes of a file depends on the file, the policies and the model alone, and files are joined in their order. So one
process that reads them one after another and several that read one each end with the same numbers, bit for bit.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from marginbandits.evaluation.off_policy.balance import Balance
from marginbandits.evaluation.off_policy.diagnostics import Finding, Watch
from marginbandits.evaluation.off_policy.evidence import Evidence, Gatherer, Pair
from marginbandits.experiments.reward_models import Model
from marginbandits.experiments.targets import Target
from marginbandits.log_parts import LogParts
from marginbandits.rounds import Rounds
from marginbandits.types import Action, Array

__all__ = ["Judged", "Question", "joined", "of_file"]


@dataclass(eq=False)
class Judged:
    """What some rounds say of one policy, or of two: evidence, diagnostics, and how far apart the two are."""

    gathered: list[Gatherer]
    watches: list[Watch]
    balance: Balance | None
    distances: list[Array] = field(default_factory=list)
    guessed: bool = False
    """Whether the laws of one are not known, though its weights are."""


@dataclass(eq=False)
class Question:
    """Policies to judge, by a model or none, on the losses or the rewards of a log of K actions; 0 are offered ones."""

    targets: list[Target]
    model: Model | None
    outcome: str
    n_actions: int
    labels: tuple[Action, ...] | None
    offers: bool
    laws: Array | None = None
    """Estimated, where the log's are lost."""
    _at: int = 0

    @property
    def ordered(self) -> bool:
        """Whether rounds must come in the log's order."""
        return any(one.ordered for one in self.targets)

    def seen(self, rounds: Iterable[Rounds]) -> Model:
        """What the model adds up of some rounds."""
        assert self.model is not None
        found = self.model.fresh()
        for one in rounds:
            found.see(one, self._outcomes(one))
        return found

    def judged(self, rounds: Iterable[Rounds]) -> Judged:
        """The pass in which every policy meets every round."""
        found = Judged(
            [Gatherer() for _ in self.targets],
            [Watch(self.n_actions, self.labels, offers=self.offers) for _ in self.targets],
            None if self.offers else Balance(self.n_actions),
        )
        for one in self._drawn(rounds):
            y, p = self._outcomes(one), one.probabilities
            assert p is not None
            if found.balance is not None:
                found.balance.add(one)
            predicted = None if self.model is None else self.model.predict(one)
            taken = None if predicted is None else predicted[one.at]
            played = [target.laws(one) for target in self.targets]
            for target, laws, gatherer, watch in zip(self.targets, played, found.gathered, found.watches, strict=True):
                direct = None if predicted is None else np.clip(np.einsum("ij,ij->i", laws, predicted), 0.0, 1.0)
                weights = target.weights(laws, one)
                gatherer.add(weights, y, taken, direct)
                gatherer.largest = max(gatherer.largest, 1.0 if target.guessed else _largest(laws, one, p))
                watch.add(one.actions, p, target=laws, available=one.there, laws=one.laws)
            if len(played) == 2:
                found.distances.append(np.abs(played[0] - played[1]).sum(1) / 2.0)
        found.guessed = any(one.guessed for one in self.targets)
        return found

    def _outcomes(self, rounds: Rounds) -> Array:
        return rounds.losses if self.outcome == "loss" else 1.0 - rounds.losses

    def _drawn(self, rounds: Iterable[Rounds]) -> Iterator[Rounds]:
        for one in rounds:
            if self.laws is not None:
                own = self.laws[self._at : self._at + len(one)]
                self._at += len(one)
                yield one.drawn_by(own)
            elif one.probabilities is None:
                raise ValueError(
                    "log has no probabilities, and without those of what was taken no other policy can be judged: log "
                    "them, or say propensities='estimate' to guess them from the contexts"
                )
            else:
                yield one


def of_file(work: Any, log: Any) -> tuple[Any, Any, Any]:
    """The work on one file of a log, what reading it has shown, and the hashes of its keys."""
    return work(iter(LogParts(log))), log.report, log.seen.hashes()


def joined(parts: Sequence[Judged], labels: Sequence[Action] | None) -> tuple[Evidence | Pair, list[Finding]]:
    """What all files say together."""
    first, *others = parts
    for other in others:
        for one, more in zip(first.gathered, other.gathered, strict=True):
            one.join(more)
        for watch, also in zip(first.watches, other.watches, strict=True):
            watch.join(also)
        if first.balance is not None and other.balance is not None:
            first.balance.join(other.balance)
        first.distances += other.distances
    evidence = [one.evidence() for one in first.gathered]
    findings = [one.findings(each.w, each.y) for one, each in zip(first.watches, evidence, strict=True)]
    if first.balance is not None:
        findings[0].append(first.balance.finding(labels or range(first.watches[0].n_actions)))
    if len(evidence) == 1:
        return evidence[0], findings[0]
    doubts = [replace(one, name=f"{one.name} (against)") for one in findings[1] if not one.good]
    return Pair(evidence[0], evidence[1], np.concatenate(first.distances)), findings[0] + doubts


def _largest(target: Array, rounds: Rounds, p: Array) -> float:
    """The largest weight that could have come up: of any action where laws are known, else at the least propensity."""
    if rounds.laws is None:
        return float(target.max() / p.min())
    possible = rounds.laws > 0.0
    return float((target[possible] / rounds.laws[possible]).max())
