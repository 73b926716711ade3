"""Policies as people write them after `--policy`.

    always:LABEL        one action in every round; where some do not offer it, with ,else=uniform or ,else=first
    column:NAME         the action in a column of the log
    uniform             every action alike
    logged              the policy that wrote the log
    agent.npz           a saved learner or policy, as it stands (or learning on, with --progressive)
    LinUCB(alpha=0.2)   a learner by name, which learns from the log as it goes

>>> words("column:new")
('column', 'new')
>>> columns(["always:hats", "column:new", "uniform"])
['new']
"""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from marginbandits.environments.logs.log import Log
from marginbandits.experiments.arguments import learner_spec
from marginbandits.experiments.log_policies import Always, AsLogged, AtRandom, Column, Learning
from marginbandits.experiments.specs import LearnerSpec, nameable_learners
from marginbandits.learners.base import Learner
from marginbandits.learners.loading import load
from marginbandits.rounds import Rounds
from marginbandits.validation import quoted, suggestion

__all__ = ["built", "columns", "policy", "words"]

KINDS = ("always", "column", "uniform", "logged")
MOST_NAMES, SHOWN = 10_000, 10
"""Names among which the nearest is looked for, and those that are told where none is near."""


def words(text: str) -> tuple[str, str]:
    """Kind and rest of what was written: one of KINDS, "file" or "learner"."""
    kind, colon, rest = text.strip().partition(":")
    if kind in ("always", "column"):
        if not rest:
            raise ValueError(f"policy {kind} needs {'an action' if kind == 'always' else 'a column'}: {kind}:NAME")
        return kind, rest
    if text.strip() in ("uniform", "logged"):
        return text.strip(), ""
    if text.strip().endswith(".npz") or (not colon and Path(text.strip()).is_file()):
        return "file", text.strip()
    name = text.partition("(")[0].strip()
    if name not in nameable_learners():
        known = [*KINDS, *nameable_learners()]
        near = suggestion((kind if colon else name)[:80], known)
        raise ValueError(
            f"policy must be always:LABEL, column:NAME, uniform, logged, a file of a saved learner (.npz) or a learner "
            f"by name, got {quoted(text)}{near}"
        )
    return "learner", text.strip()


def columns(policies: Iterable[str]) -> list[str]:
    """The columns that must be read along for these."""
    return list(dict.fromkeys(rest for kind, rest in map(words, policies) if kind == "column"))


def policy(text: str, log: Log, *, progressive: bool = False, seed: int = 0) -> Any:
    """What `mb.evaluate` takes for it on this log."""
    kind, rest = words(text)
    if kind == "always":
        label, _, otherwise = rest.partition(",else=")
        return Always(_label(label, log), otherwise)
    if kind == "column":
        return Column(rest)
    if kind in ("uniform", "logged"):
        return AtRandom() if kind == "uniform" else AsLogged()
    if kind == "learner":
        return Learning(built(learner_spec(rest), log.labels, seed))
    if not Path(rest).is_file():
        raise FileNotFoundError(f"there is no file {rest}")
    loaded = load(rest)
    if not isinstance(loaded, Learner):
        raise ValueError(f"{rest} holds no learner, but {quoted(loaded)}")
    return Learning(loaded) if progressive else loaded


def built(spec: LearnerSpec, labels: Sequence[Any] | None, seed: int, **options: Any) -> Learner:
    """A fresh learner of a log's actions, by their names; of two numbers where rounds offer their own."""
    options |= spec.parameters
    if labels is None:
        return spec.cls(n_actions=2, seed=seed, **options)
    return spec.cls(actions=list(labels), seed=seed, **options)


def _label(text: str, log: Log) -> Any:
    """The action that is written so. It is offered somewhere: else what is done elsewhere would be judged alone."""
    labels = None if log.labels is None else {str(one): one for one in log.labels}
    if labels is not None and text not in labels:
        raise ValueError(f"policy always:{text}: no action is called {quoted(text)}{suggestion(text[:80], labels)}")
    n, others = 0, set[str]()
    for rounds in log:
        for offer in _offered(rounds, list(labels or ())):
            if text in offer:
                return text if labels is None else labels[text]
            n += 1
            if len(others) < MOST_NAMES:
                others.update(offer)
    near = difflib.get_close_matches(text[:100], others, 1, cutoff=0.5)
    there = f"did you mean {quoted(near[0])}?" if near else f"there are {quoted(sorted(others)[:SHOWN])}"
    raise ValueError(f"policy always:{text}: {quoted(text)} is offered in 0 of {n:,} rows; {there}")


def _offered(rounds: Rounds, names: list[str]) -> Iterator[list[str]]:
    """What each round can be played by, as it is written."""
    if rounds.offers is not None:
        yield from ([str(one) for one in offer] for offer in rounds.offers)
        return
    for row in np.ones((len(rounds), len(names)), bool) if rounds.there is None else rounds.there:
        yield [one for one, there in zip(names, row, strict=True) if there]
