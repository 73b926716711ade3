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

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from marginbandits.environments.logs.log import Log
from marginbandits.experiments.arguments import learner_spec
from marginbandits.experiments.log_policies import Always, AsLogged, AtRandom, Column, Learning
from marginbandits.experiments.specs import LearnerSpec, nameable_learners
from marginbandits.learners.base import Learner
from marginbandits.learners.loading import load
from marginbandits.validation import quoted, suggestion

__all__ = ["built", "columns", "policy", "words"]

KINDS = ("always", "column", "uniform", "logged")


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
        return Always(_label(label, log.labels), otherwise)
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


def _label(text: str, labels: Sequence[Any] | None) -> Any:
    """The action that is written so."""
    if labels is None:
        return text
    names = {str(one): one for one in labels}
    if text not in names:
        raise ValueError(f"policy always:{text}: no action is called {quoted(text)}{suggestion(text[:80], names)}")
    return names[text]
