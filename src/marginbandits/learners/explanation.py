"""What a learner's choice rests on: of every action the loss that is predicted, and what speaks for it and against.

The effect of an entry is the loss that is predicted with it, less what would be predicted of what is usual in its
place: of a category the others of its name, each as often as it was learnt; of a number its mean; of a word, or an item
of a list, that it is not there. What lowers the predicted loss speaks for the action.

That is all it is. Effects do not add up to the prediction, for entries that say the same stand in for each other; and
they tell what the learner has come to expect, not what causes what: to change an entry in the world need not change
what happens as its effect says. Predictions are those of the model, which may lie beyond what can happen.

>>> from marginbandits.learners import LinUCB
>>> agent = LinUCB(actions=["hat", "shoe"], seed=0)
>>> for country in ["DE", "FR"] * 20:
...     decision = agent.act({"country": country})
...     agent.learn({"country": country}, decision, loss=float((decision.action == "hat") != (country == "DE")))
>>> print(agent.explain({"country": "DE"}))
action  played  loss    ±    what speaks for it (-) and against it (+)
hat     100%    -0.04  0.05  -0.421 country=DE
shoe    0%      1.00   0.89  +0.499 country=DE
"""

import math
import os
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from marginbandits.features import Table
from marginbandits.pictures import figure
from marginbandits.types import Action

__all__ = ["Effect", "Explained", "Explanation", "left", "without"]

SHOWN, DRAWN = 4, 8
"""Entries that are printed, and drawn, of each action."""


class Effect(NamedTuple):
    """An entry, as it was given, and by how much it moves the prediction."""

    entry: str
    effect: float


class Explained(NamedTuple):
    """One action: how likely it is played, what is predicted of it, how far off that may be, and what moved it."""

    action: Action
    probability: float
    predicted: float
    width: float  # NaN where the learner does not say
    effects: list[Effect]  # the largest first


@dataclass(frozen=True, slots=True)
class Explanation:
    """All actions, the likeliest first. Numbers are losses or, where the learner has a reward_range, rewards."""

    what: str  # "loss" or "reward"
    actions: list[Explained]

    def __str__(self) -> str:
        sign = "-" if self.what == "loss" else "+"
        other = "+" if self.what == "loss" else "-"
        head = ["action", "played", self.what, " ± ", f"what speaks for it ({sign}) and against it ({other})"]
        table = [head, *map(self._row, self.actions)]
        widths = [max(len(row[i]) for row in table) for i in range(4)]
        lines = ["  ".join([*(row[i].ljust(widths[i]) for i in range(4)), row[4]]) for row in table]
        return "\n".join(line.rstrip() for line in lines)

    def _row(self, one: Explained) -> list[str]:
        predicted, width = (f"{number:.2f}" if self.what == "loss" else f"{number:.3g}" for number in one[2:4])
        told = "" if math.isnan(one.width) else width
        return [_short(str(one.action)), f"{one.probability:.0%}", predicted, told, _told(one.effects)]

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw what speaks for and against the first three actions into a picture file: the extra `report`."""
        shown = self.actions[:3]
        drawn = figure(8, 1.0 + 2.2 * len(shown))
        for one, axes in zip(shown, np.atleast_1d(drawn.subplots(len(shown), 1, sharex=True)), strict=True):
            effects = [each for each in one.effects[:DRAWN] if each.effect][::-1]
            good = [(each.effect < 0) == (self.what == "loss") for each in effects]
            colours = ["#2a7f62" if for_it else "#b5533c" for for_it in good]
            axes.barh(range(len(effects)), [each.effect for each in effects], color=colours)
            names = [_short(each.entry) for each in effects]
            axes.set_yticks(range(len(effects)), names, parse_math=False)
            axes.axvline(0.0, color="#444", linewidth=0.8)
            told = "" if math.isnan(one.width) else f" ± {one.width:.2g}"
            title = f"{_short(str(one.action))}: {self.what} {one.predicted:.3g}{told}, played {one.probability:.0%}"
            axes.set_title(title, loc="left", fontsize=10, parse_math=False)
        axes.set_xlabel(f"change of the predicted {self.what}; green speaks for the action")
        drawn.savefig(path)


def _told(effects: list[Effect]) -> str:
    least = 0.01 * max((abs(one.effect) for one in effects), default=0.0)
    return ", ".join(f"{one.effect:+.3g} {_short(one.entry)}" for one in effects[:SHOWN] if abs(one.effect) > least)


def _short(text: str) -> str:
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return line if len(line) <= 40 else line[:39] + "…"


def without(context: Mapping[str, Any], table: Table, prefix: str = "") -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Every entry of a context, as the table reads it; the context without it; and it alone, if it is all of a name."""
    for name, value in context.items():
        path = prefix + name
        if isinstance(value, Mapping):
            for label, less, own in without(value, table, path + "."):
                yield label, {**context, name: less}, None if own is None else {name: own}
        elif isinstance(value, str) and _is_text(path, value, table):
            words = value.split()
            for word in dict.fromkeys(words):  # one that is there twice is left out twice; what is left is still text
                yield f"{path}: {word}", {**context, name: " ".join(one for one in words if one != word) + " "}, None
        elif isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            for item in dict.fromkeys(value):
                yield f"{path}: {item}", {**context, name: [one for one in value if one != item]}, None
        else:
            rest = {other: kept for other, kept in context.items() if other != name}
            yield _said(path, value), rest, {name: value}


def left(context: Mapping[str, Any], table: Table, out: AbstractSet[str], prefix: str = "") -> dict[str, Any]:
    """A context without several of its entries, by the names that `without` has for them.

    >>> left({"age": 3, "user": {"tags": ["new", "sale"]}}, Table(), {"age=3", "user.tags: new"})
    {'user': {'tags': ['sale']}}
    """
    found: dict[str, Any] = {}
    for name, value in context.items():
        path = prefix + name
        if isinstance(value, Mapping):
            found[name] = left(value, table, out, path + ".")
        elif isinstance(value, str) and _is_text(path, value, table):
            words = value.split()
            kept = [one for one in words if f"{path}: {one}" not in out]
            found[name] = value if len(kept) == len(words) else " ".join(kept) + " "
        elif isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            found[name] = [one for one in value if f"{path}: {one}" not in out]
        elif _said(path, value) not in out:
            found[name] = value
    return found


def _said(path: str, value: Any) -> str:
    return f"{path}={'missing' if value is None else f'{value:.4g}' if isinstance(value, float) else value}"


def _is_text(path: str, value: str, table: Table) -> bool:
    return path in (table.text or ()) or (" " in value and path not in (table.categorical or ()))
