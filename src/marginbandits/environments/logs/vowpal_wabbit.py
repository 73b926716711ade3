"""Vowpal Wabbit's text format for contextual bandits: a round on a line, or an action on a line.

    2:0.5:0.25 'key |user age:31 country=DE |words red shoes     action:cost:probability, and the context

    shared |user age:31                                          what all actions of the round have in common
    |item price:20                                               an action
    0:0.5:0.25 |item price:80                                    the action that was taken
                                                                 an empty line ends the round

Actions are numbered from 1; where each has its own line it is called by its tag or, if not all have one, by its place
from 0. A namespace becomes a mapping of its features, and those of the nameless one stand beside it:

    age:31          a number                    {"age": 31.0}
    red             something that is there     {"red": True}
    country=DE      a category                  {"country": "DE"}; tag=a tag=b is {"tag": ["a", "b"]}

What is there twice counts twice, as it does there, and a namespace's weight is that of its features. Costs may be any
numbers: their range is declared as `loss_range`.

>>> features("|user age:31 country=DE |words red shoes")
{'user': {'age': 31.0, 'country': 'DE'}, 'words': {'red': True, 'shoes': True}}
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marginbandits.environments.examples import number
from marginbandits.environments.logs.bad import Bad
from marginbandits.environments.logs.checks import Unchecked, Wrong
from marginbandits.environments.logs.contexts import refuse_entries, refuse_offer
from marginbandits.environments.logs.lines import Line, lines
from marginbandits.environments.logs.names import MOST, Places
from marginbandits.environments.logs.table import NEEDED
from marginbandits.features.entries import Entries
from marginbandits.rounds import Places as Where
from marginbandits.types import Action
from marginbandits.validation import quoted

__all__ = ["VowpalWabbit", "features"]

_LABEL = re.compile(r"^\s*(\d+):")
MOST_LINES = 10_000
"""Lines of one round."""


class Label(NamedTuple):
    """What stands before the first bar."""

    action: str
    cost: str
    probability: str | None


class _Round(NamedTuple):
    number: int
    label: Label
    place: int | None
    key: str | None
    context: dict[str, Any]
    offer: dict[Action, dict[str, Any]] | None


class VowpalWabbit:
    """A file in this format."""

    def __init__(self, path: Path, *, needs_probability: bool = True) -> None:
        self.path, self.name, self._needs = path, str(path), needs_probability
        self._by_action = _has_a_line_for_each_action(path)

    def paths(self) -> list[str]:
        """The one file."""
        return [self.name]

    def labels(self) -> tuple[Action, ...] | None:
        """1 to the largest number of an action; None where each has a line of its own."""
        if self._by_action:
            return None
        found = (_LABEL.match(line.text) for line in lines(self.path))
        most = max((int(one[1][:9]) for one in found if one), default=1)
        if most > MOST:
            raise ValueError(f"{self.path} has an action of number {most:,}; if there are so many, say actions=[...]")
        return tuple(range(1, most + 1))

    def chunks(self, labels: tuple[Action, ...] | None, n_rows: int) -> Iterator[Unchecked]:
        """All rounds, so many at a time."""
        entries = Entries(text=(), categorical=(), drop=(), interactions=(), seed=0)
        blocks = _blocks(self.path, self._by_action)
        while some := list(itertools.islice(blocks, n_rows)):
            rounds, lost = [], []
            for block in some:
                try:
                    rounds.append(self._round(block))
                except _NoRoundError as error:
                    lost.append(Bad(f"{self.path}, line {block[0].number}", *error.args))
            yield self._unchecked(rounds, lost, labels, entries)

    def _round(self, block: Sequence[Line]) -> _Round:
        for line in block:
            if line.wrong is not None:
                raise _NoRoundError(*line.wrong)
        if len(block) >= MOST_LINES:
            raise _NoRoundError("too many lines", f"a round of {len(block):,} lines or more: where is the empty line?")
        if not self._by_action:
            head, bar, rest = block[0].text.partition("|")
            label, key = _head(head)
            if label is None or not bar:
                raise _NoRoundError("no label", f"no action:cost:probability | features: {quoted(block[0].text)}")
            return _Round(block[0].number, label, None, key, features(bar + rest), None)
        return _of_lines(block)

    def _unchecked(
        self, rounds: list[_Round], lost: list[Bad], labels: tuple[Action, ...] | None, entries: Entries
    ) -> Unchecked:
        wrong: Wrong = {}
        contexts = [one.context for one in rounds]
        refuse_entries(contexts, entries, wrong)
        for row, one in enumerate(rounds):
            if one.offer is not None:
                refuse_offer(one.offer, entries, row, wrong)
            if self._needs and one.label.probability is None:
                wrong.setdefault(row, ("no probability", f"no probability after {one.label.cost!r}: {NEEDED}"))
        own = Places(labels or (), text=True)
        actions = [own.of(one.label.action) if one.place is None else _placed(one, labels, own) for one in rounds]
        mask = None
        if self._by_action and labels is not None:
            mask = np.array([[str(name) in set(map(str, one.offer or ())) for name in labels] for one in rounds], bool)
            mask = mask.reshape(len(rounds), len(labels))
        keys = [one.key for one in rounds]
        return Unchecked(
            places=Where(
                (self.name,), np.zeros(1, np.int64), np.array([one.number for one in rounds], np.int64), "line"
            ),
            contexts=contexts,
            actions=np.array(actions, np.int64),
            values=np.array([_float(one.label.cost) for one in rounds]),
            probabilities=np.array([_float(one.label.probability) for one in rounds]) if self._needs else None,
            available=mask,
            offers=[one.offer or {} for one in rounds] if self._by_action and labels is None else None,
            keys=keys if keys and all(one is not None for one in keys) else None,
            wrong=wrong,
            lost=lost,
            cell=lambda role, row: getattr(rounds[row].label, {"value": "cost"}.get(role, role)),
        )


def _placed(one: _Round, labels: tuple[Action, ...] | None, own: Places) -> int:
    """The place of an action with a line of its own, among those of its round or among the labels."""
    if labels is None or one.place is None:
        return -1 if one.place is None else one.place
    return own.of(list(one.offer or {})[one.place])


def _of_lines(block: Sequence[Line]) -> _Round:
    """A round with a line for each action, and perhaps one that they share."""
    context: dict[str, Any] = {}
    labelled: list[tuple[int, Label]] = []
    heads: list[str | None] = []
    found: list[dict[str, Any]] = []
    key = None
    for line in block:
        head, bar, rest = line.text.partition("|")
        if head.split()[:1] == ["shared"]:
            if found or not bar:
                raise _NoRoundError("not a round", "the shared line must be the first of a round, and have features")
            context = features(bar + rest)
            _, key = _head(head.replace("shared", "", 1))
            continue
        label, tag = _head(head)
        if label is not None:
            labelled.append((len(found), label))
        heads.append(tag)
        found.append(features(bar + rest))
    if len(labelled) != 1:
        what = "no action has a cost" if not labelled else "two losses for one decision: two actions have a cost"
        reason = "no label" if not labelled else "two losses for one decision"
        raise _NoRoundError(reason, f"{what}; a round has one action:cost:probability")
    tagged = all(heads) and len(set(heads)) == len(heads)
    names: list[Any] = list(heads) if tagged else list(range(len(found)))
    place, label = labelled[0]
    return _Round(block[0].number, label, place, key, context, dict(zip(names, found, strict=True)))


class _NoRoundError(Exception):
    """A reason and what is said of it."""


def _head(text: str) -> tuple[Label | None, str | None]:
    """Label and tag of a line."""
    words = text.split()
    tag = None
    if words and (words[-1].startswith("'") or (not text.endswith((" ", "\t")) and ":" not in words[-1])):
        tag = words.pop().removeprefix("'") or None
    labels = [word for word in words if ":" in word]
    if len(labels) > 1:
        detail = f"two losses for one decision: {' '.join(labels)}; of a decision one cost is known"
        raise _NoRoundError("two losses for one decision", detail)
    if not labels:
        return None, tag
    action, cost, *rest = labels[0].split(":")
    return Label(action, cost, rest[0] if rest else None), tag


def features(text: str) -> dict[str, Any]:
    """Namespaces and features, from the first bar on, as names and values."""
    found: dict[str, Any] = {}
    for part in text.split("|")[1:]:
        name, weight, words = "", 1.0, part.split()
        if words and not part[0].isspace():
            name, _, own = words.pop(0).partition(":")
            weight = _weight(own) if own else 1.0
        inner = found if not name else found.setdefault(name, {})
        if not isinstance(inner, dict):
            raise _NoRoundError("a name twice", f"{name!r} is both a namespace and a feature")
        _fill(inner, words, weight)
    return found


def _fill(inner: dict[str, Any], words: Sequence[str], weight: float) -> None:
    categories = []
    for word in words:
        name, colon, value = word.rpartition(":")
        if not colon and weight == 1.0 and "=" in word[1:]:
            categories.append(word)
            continue
        name, amount = (name, weight * _weight(value)) if colon else (word, weight)
        before = inner.get(name)
        if isinstance(before, Mapping | str | list):
            raise _NoRoundError("a name twice", f"{name!r} is both a number and something else")
        if before is None:
            inner[name] = True if not colon and weight == 1.0 else amount
        else:
            inner[name] = float(before) + amount
    for word in categories:
        name, _, value = word.partition("=")
        before = inner.get(name)
        if isinstance(before, str | list):
            inner[name] = [*before, value] if isinstance(before, list) else [before, value]
        elif before is None and value:
            inner[name] = value
        else:  # there is a number of that name, or no value
            inner[word] = True


def _weight(text: str) -> float:
    found = number(text)
    if found is None:
        raise _NoRoundError(
            "a weight that is no number", f"the weight of a feature must be a number, got {quoted(text)}"
        )
    return found


def _float(text: str | None) -> float:
    found = None if text is None else number(text)
    return np.nan if found is None else found


def _blocks(path: Path, by_action: bool) -> Iterator[list[Line]]:
    """Rounds as lines: one each, or up to an empty one; however long that is, no more than so many."""
    block: list[Line] = []
    for line in lines(path):
        if line.wrong is None and not line.text.strip():
            if block:
                yield block
            block = []
        elif not by_action:
            yield [line]
        elif len(block) < MOST_LINES:
            block.append(line)
    if block:
        yield block


def _has_a_line_for_each_action(path: Path) -> bool:
    """Whether a round has several lines: the first has a shared one, or several of which one has a cost."""
    first = list(itertools.islice(next(_blocks(path, True), []), 1000))
    texts = [line.text.partition("|")[0] for line in first]
    if any(text.split()[:1] == ["shared"] for text in texts):
        return True
    return len(texts) > 1 and sum(_LABEL.match(text) is not None for text in texts) == 1
