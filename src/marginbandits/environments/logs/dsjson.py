"""Vowpal Wabbit's decision-service JSON (dsjson): an event on a line.

    {"_label_cost": -1, "_label_probability": 0.5, "_label_Action": 2, "_labelIndex": 1, "EventId": "e1",
     "Timestamp": "2024-05-01T12:00:00Z", "a": [2, 1], "p": [0.5, 0.5],
     "c": {"user": {"age": 31}, "_multi": [{"_tag": "a17", "item": {"price": 20}}, {"_tag": "b3", "item": {…}}]}}

`a` are the actions by number from 1, the one taken first, and `p` the law in that order; `c` is the context, and what
each action has of its own in `_multi`. An action is called by its `_tag` or, if not all have one, by its place from 0.
As there, names that begin with _ are no features, a list of objects is one namespace, and events that are not to be
learnt from (`_skipLearn`) are left out, and counted. A cost is usually a reward with its sign turned: rewards from 0 to
1 are `reward_range=(0, 1)` or, the same, `loss_range=(-1, 0)`.

An event may say what rewards lie within (`reward_low`, `reward_high`), whom it was for (`unit`) and whether it was held
back (`held`), as those of a decision service of this library do: costs are then rewards with their signs turned.

Events that were kept only with probability 1 - `pdrop` must all have the same one, or means would be those of the kept.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from marginbandits.environments.logs.bad import Bad
from marginbandits.environments.logs.cells import json_object
from marginbandits.environments.logs.checks import Unchecked, Wrong
from marginbandits.environments.logs.contexts import refuse_entries, refuse_offer
from marginbandits.environments.logs.lines import lines
from marginbandits.environments.logs.names import Places
from marginbandits.environments.logs.table import BESIDE, HIGH, LOW, NEEDED, other_range
from marginbandits.features.entries import Entries
from marginbandits.rounds import SURE
from marginbandits.rounds import Places as Where
from marginbandits.types import Action
from marginbandits.validation import quoted

__all__ = ["DecisionService"]

_NOT_TO_LEARN = "not to be learnt from (_skipLearn)"


class _Event(NamedTuple):
    number: int
    event: Mapping[str, Any]  # names in lower case
    place: int
    law: list[float] | None
    probability: float
    context: dict[str, Any]
    offer: dict[Action, dict[str, Any]]


class _NoEventError(Exception):
    """A reason and what is said of it."""


class DecisionService:
    """A file in this format."""

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset({_NOT_TO_LEARN})
    """Reasons for which rows are left out, and counted, though nothing is wrong with them."""

    def __init__(self, path: Path, *, needs_probability: bool = True) -> None:
        self.path, self.name, self._needs = path, str(path), needs_probability
        self.within = _declared(path)

    def paths(self) -> list[str]:
        """The one file."""
        return [self.name]

    def labels(self) -> None:
        """Each event offers its own actions."""

    def chunks(self, labels: tuple[Action, ...] | None, n_rows: int) -> Iterator[Unchecked]:
        """All events, so many at a time."""
        entries = Entries(text=(), categorical=(), drop=(), interactions=(), seed=0)
        filled = (line for line in lines(self.path) if line.wrong is not None or line.text.strip())
        drop: float | None = None
        while some := list(itertools.islice(filled, n_rows)):
            events, lost = [], []
            for line in some:
                found, wrong = json_object(line)
                try:
                    if wrong is not None:
                        raise _NoEventError(*wrong)
                    event = self._event(line.number, found)
                    own = _number(event.event.get("pdrop", 0.0))
                    drop = own if drop is None else drop
                    if own != drop or not own < 1:
                        detail = f"pdrop must be below 1 and that of the first event, {drop}, got {own}"
                        raise _NoEventError("kept with another probability (pdrop)", detail)
                    events.append(event)
                except _NoEventError as error:
                    lost.append(Bad(f"{self.path}, line {line.number}", *error.args))
            yield self._unchecked(events, lost, labels, entries)

    def _event(self, number: int, given: Mapping[str, Any]) -> _Event:
        event = {name.lower(): value for name, value in given.items()}
        if event.get("_skiplearn") is True:
            raise _NoEventError(_NOT_TO_LEARN, "an event not to be learnt from (_skipLearn)")
        if "_outcomes" in event:
            raise _NoEventError("several slots", "an event with several slots (_outcomes) is no round of a bandit")
        context, offer = _split(event.get("c"))
        place = _chosen(event, len(offer))
        law = _law(event, len(offer))
        probability = event.get("_label_probability")
        if probability is None and law is not None:
            probability = law[place]
        if probability is None and self._needs:
            raise _NoEventError("no probability", f"neither _label_probability nor p: {NEEDED}")
        value = _number(probability)
        kept = 1.0 - _number(event.get("pdrop", 0.0))
        if law is not None and kept < 1.0 and abs(value - law[place] * kept) <= SURE * value:
            value = law[place]  # it was written with the probability of being kept in it
        return _Event(number, event, place, law, value, context, offer)

    def _unchecked(
        self, events: list[_Event], lost: list[Bad], labels: tuple[Action, ...] | None, entries: Entries
    ) -> Unchecked:
        wrong: Wrong = {}
        contexts = [one.context for one in events]
        refuse_entries(contexts, entries, wrong)
        for row, one in enumerate(events):
            refuse_offer(one.offer, entries, row, wrong)
        beside = None
        if self.within is not None:
            low, high = (np.array([_number(one.event.get(name)) for one in events]) for name in (LOW, HIGH))
            other_range(low, high, self.within, wrong)
            beside = {name: [one.event.get(name) for one in events] for name in BESIDE}
        actions, mask = [one.place for one in events], None
        if labels is not None:
            own = Places(labels, text=True)
            actions = [own.of(list(one.offer)[one.place]) for one in events]
            mask = np.zeros((len(events), len(labels)), bool)
            for row, one in enumerate(events):
                mask[row, [place for place in map(own.of, one.offer) if place >= 0]] = True
        return Unchecked(
            places=Where(
                (self.name,), np.zeros(1, np.int64), np.array([one.number for one in events], np.int64), "line"
            ),
            contexts=contexts,
            actions=np.array(actions, np.int64),
            values=np.array([_number(one.event.get("_label_cost")) for one in events]),
            probabilities=np.array([one.probability for one in events]) if self._needs else None,
            available=None if mask is None or mask.all() else mask,
            laws=self._laws(events, labels),
            offers=[one.offer for one in events] if labels is None else None,
            keys=_each(events, "eventid"),
            times=_each(events, "timestamp"),
            versions=_each(events, "modelversion"),
            beside=beside,
            wrong=wrong,
            lost=lost,
            cell=lambda role, row: {
                "action": list(events[row].offer)[events[row].place],
                "value": events[row].event.get("_label_cost"),
                "probability": events[row].probability,
            }[role],
        )

    @staticmethod
    def _laws(events: Sequence[_Event], labels: tuple[Action, ...] | None) -> Any:
        if not events or any(one.law is None for one in events):
            return None
        k = max(len(one.offer) for one in events) if labels is None else len(labels)
        laws = np.zeros((len(events), k))
        own = None if labels is None else Places(labels, text=True)
        for row, one in enumerate(events):
            for place, (name, share) in enumerate(zip(one.offer, one.law or (), strict=True)):
                at = place if own is None else own.of(name)
                if at >= 0:
                    laws[row, at] = share
        return laws


def _declared(path: Path) -> tuple[float, float] | None:
    """What the first event says that rewards lie within."""
    for line in lines(path):
        found, wrong = json_object(line) if line.wrong is None else ({}, line.wrong)
        told = {} if wrong is not None else found
        low, high = _number(told.get(LOW)), _number(told.get(HIGH))
        return (low, high) if low < high else None
    return None


def _split(c: Any) -> tuple[dict[str, Any], dict[Action, dict[str, Any]]]:
    """The context, and what each action has of its own."""
    multi = c.get("_multi") if isinstance(c, Mapping) else None
    if not isinstance(multi, list) or not multi or not all(isinstance(one, Mapping) for one in multi):
        raise _NoEventError("no actions", f"c must have a list of actions in _multi, got {quoted(c)}")
    tags = [one.get("_tag") for one in multi]
    tagged = all(isinstance(tag, str) and tag for tag in tags) and len(set(tags)) == len(tags)
    names: list[Any] = tags if tagged else list(range(len(multi)))
    return _plain(c), dict(zip(names, map(_plain, multi), strict=True))


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Features as names and values."""
    found: dict[str, Any] = {}
    for name, one in value.items():
        if name == "_text" and isinstance(one, str):
            found["text"] = one.split()
        elif name.startswith("_"):
            continue
        elif isinstance(one, Mapping):
            found[name] = _plain(one)
        elif isinstance(one, list) and one and all(isinstance(item, Mapping) for item in one):
            found[name] = {inner: given for item in one for inner, given in _plain(item).items()}
        else:
            found[name] = one
    return found


def _chosen(event: Mapping[str, Any], n: int) -> int:
    """The place of the action that was taken: wherever it is said, it must be the same."""
    ranked = event.get("a")
    first = ranked[0] if isinstance(ranked, list) and ranked else None
    said = {
        "_labelIndex": event.get("_labelindex"),
        "_label_Action": _less_one(event.get("_label_action")),
        "a[0]": _less_one(first),
    }
    told = {name: place for name, place in said.items() if place is not None}
    if not told:
        raise _NoEventError("no label", "neither _labelIndex, _label_Action nor a says which action was taken")
    if len(set(map(repr, told.values()))) > 1:
        detail = "; ".join(f"{name} says place {place}" for name, place in told.items())
        raise _NoEventError("two actions for one decision", f"two actions for one decision: {detail}")
    place = next(iter(told.values()))
    if type(place) is not int or not 0 <= place < n:
        raise _NoEventError("unknown action", f"action must be one of the {n} offered, got place {quoted(place)}")
    return place


def _less_one(number: Any) -> Any:
    return number - 1 if type(number) is int else number


def _law(event: Mapping[str, Any], n: int) -> list[float] | None:
    """The law in the order of the actions; None where the event has none."""
    shares, ranked = event.get("p"), event.get("a")
    if shares is None:
        return None
    ranked = list(range(1, n + 1)) if ranked is None else ranked
    sound = isinstance(shares, list) and isinstance(ranked, list) and len(shares) == len(ranked) == n
    if not sound or sorted(one for one in ranked if type(one) is int) != list(range(1, n + 1)):
        raise _NoEventError("law is none", f"a and p must be {n} actions from 1 and as many probabilities")
    law = [0.0] * n
    for action, share in zip(ranked, shares, strict=True):
        law[action - 1] = _number(share)
    return law


def _number(value: Any) -> float:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if real else np.nan
    except OverflowError:
        return np.nan


def _each(events: Sequence[_Event], name: str) -> list[Any] | None:
    found = [one.event.get(name) for one in events]
    return found if any(one is not None for one in found) else None
