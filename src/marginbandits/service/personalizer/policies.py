r"""Learning settings: Vowpal Wabbit's arguments, as Personalizer keeps them, and the learner that they stand for.

    --squarecb, --gamma_scale s        SquareCB(scale=s)
    --regcb, --regcbopt                RegCB(play="elimination"), RegCB(play="optimistic")
    --mellowness m                     RegCB(mellowness=m)
    --bag n                            Bag(n_policies=n)
    --cover n, --psi p                 Cover(n_policies=n, psi=p)
    none of these                      SquareCB()

`--epsilon e` is the share of exploration that the loop adds to whatever its learner does, so a plain epsilon policy is
SquareCB with that share. Other arguments (learning rates, interactions, kinds of costs) are kept, and told, and change
nothing: learners here have their own. Ways of exploring that no learner here has are refused.

>>> learning("--cb_explore_adf --epsilon 0.2 --cb_type mtr -q ::")
('SquareCB', {}, 0.2)
>>> learning("--cb_explore_adf --bag 5")
('Bag', {'n_policies': 5}, None)
>>> learning("--cb_explore_adf --regcb --mellowness 0.01")
('RegCB', {'play': 'elimination', 'mellowness': 0.01}, None)
"""

import shlex
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from marginbandits.service.personalizer.faults import FaultError

__all__ = ["Contract", "learning"]

MISSING = "The learning policy must contain --cb_explore_adf or --cats."
_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "--squarecb": ("SquareCB", {}),
    "--regcb": ("RegCB", {"play": "elimination"}),
    "--regcbopt": ("RegCB", {"play": "optimistic"}),
    "--bag": ("Bag", {}),
    "--cover": ("Cover", {}),
}
_PARAMETERS: dict[str, tuple[str, str, Callable[[str], float]]] = {
    "--gamma_scale": ("SquareCB", "scale", float),
    "--mellowness": ("RegCB", "mellowness", float),
    "--bag": ("Bag", "n_policies", int),
    "--cover": ("Cover", "n_policies", int),
    "--psi": ("Cover", "psi", float),
}
_NOT_HERE = ("--cats", "--softmax", "--first", "--synthcover", "--rnd")


class Contract(msgspec.Struct, frozen=True):
    """A policy by its name and arguments."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    arguments: Annotated[str, Meta(min_length=1, max_length=1024)]


def learning(arguments: str) -> tuple[str, dict[str, Any], float | None]:
    """The learner, what it is built with, and the share of exploration, if it is told."""
    words = [part for word in shlex.split(arguments) for part in word.split("=", 1)]
    if "--cb_explore_adf" not in words and "--cats" not in words:
        raise FaultError("InvalidPolicyConfiguration", MISSING)
    for word in _NOT_HERE:
        if word in words:
            raise ValueError(f"no learner here explores by {word}")
    given = [word for word in _KINDS if word in words]
    if len(given) > 1:
        raise ValueError(f"one way of exploring must be given, got {' and '.join(given)}")
    learner, parameters = _KINDS[given[0]] if given else ("SquareCB", {})
    parameters = dict(parameters)
    for word, (owner, name, kind) in _PARAMETERS.items():
        if word in words and owner == learner:
            parameters[name] = _number(words, word, kind)
    epsilon = _number(words, "--epsilon", float) if "--epsilon" in words else None
    if epsilon is not None and not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"--epsilon must be between 0 and 1, got {epsilon}")
    return learner, parameters, epsilon


def _number(words: list[str], word: str, kind: Callable[[str], float]) -> float:
    found = words[words.index(word) + 1 : words.index(word) + 2]
    try:
        return kind(found[0])
    except (IndexError, ValueError):
        raise ValueError(f"{word} must have a number after it, got {' '.join(found)[:40]!r}") from None
