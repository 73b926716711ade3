"""Logs in tables: frames, Parquet, CSV and JSON lines, in which each column has a role.

Roles that are not named are those of columns called so: available, law, offers, time, key, version; what has no role,
and is not named in `context`, is context. Contexts that are all numbers are read as an array, and others by name.

A table that has the columns reward_low and reward_high says itself what rewards lie within, one range for all; there,
unit and held (whom a decision was for, and whether it was held back) are no context either, but stand beside it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from marginbandits import frames
from marginbandits.environments.examples import number
from marginbandits.environments.logs.cells import Cells, csv_header, csv_rows, json_rows
from marginbandits.environments.logs.checks import Unchecked, Wrong
from marginbandits.environments.logs.contexts import Contexts, Reading
from marginbandits.environments.logs.names import MOST, Places, as_label, found_labels
from marginbandits.rounds import Places as Where
from marginbandits.types import Action, Array
from marginbandits.validation import quoted, suggestion

__all__ = [
    "BESIDE",
    "HIGH",
    "LOW",
    "NEEDED",
    "Part",
    "Roles",
    "Table",
    "declared",
    "other_range",
    "parts_of",
    "roles_of",
]

OPTIONAL = ("available", "law", "offers", "time", "key", "version")
LOW, HIGH, BESIDE = "reward_low", "reward_high", ("unit", "held")
"""Columns of a log that says the range of its rewards."""
NEEDED = (
    "without the probability with which each action was drawn, nothing can be said of other policies from this log: "
    "chance is what makes its rounds comparable. Name the column by probability=; if actions were drawn with one known "
    "probability, add it as a column; if it is lost, say probability=None, and only what needs none will work"
)


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column is what; None where there is none. `context` is one column that holds it whole, or several."""

    action: str
    value: str
    probability: str | None
    context: str | tuple[str, ...] | None
    available: str | None = None
    law: str | None = None
    offers: str | None = None
    time: str | None = None
    key: str | None = None
    version: str | None = None
    beside: tuple[str, ...] = ()
    ranged: bool = False

    def columns(self) -> list[str]:
        """All that are read."""
        context = (self.context,) if isinstance(self.context, str) else self.context or ()
        own = [getattr(self, name) for name in ("action", "value", "probability", *OPTIONAL)]
        own += [LOW, HIGH] * self.ranged
        return list(dict.fromkeys([*(one for one in own if one is not None), *self.beside, *context]))


@dataclass(frozen=True, slots=True)
class Part:
    """One table of a log: its name, its columns (None where rows have their own), and its rows, some at a time."""

    name: str
    kinds: Mapping[str, str] | None
    blocks: Callable[[Sequence[str], int], Iterator[Any]]
    text: bool = False

    def names(self) -> list[str]:
        """Of columns; of a file of objects the entries of the first thousand, as the first need not have them all."""
        if self.kinds is not None:
            return list(self.kinds)
        for block in self.blocks((), 1000):
            return [name for name in block.columns if name]
        raise ValueError(f"{self.name} is empty")


def parts_of(source: Any, kind: str) -> list[Part]:
    """The tables of a frame, a file, or a folder of Parquet files in the order of their names."""
    if kind == "frame":
        return [Part("the frame", frames.columns_of(source), partial(frames.slices, source))]
    if kind == "csv":
        header = dict.fromkeys(csv_header(source), "cell")
        return [Part(str(source), header, lambda columns, n: csv_rows(source, n), text=True)]
    if kind == "jsonl":
        return [Part(str(source), None, lambda columns, n: json_rows(source, n))]
    files = sorted(source.rglob("*.parquet")) if source.is_dir() else [source]
    if not files:
        raise ValueError(f"{source} is a folder without a .parquet file")
    return [Part(str(one), frames.columns_of(one), partial(frames.slices, one)) for one in files]


def roles_of(part: Part, given: Mapping[str, Any]) -> Roles:
    """The role of each column of a table, as asked for or by its name; what is asked for must be there."""
    names = part.names()
    context = given["context"]
    listed = [context] if isinstance(context, str) else list(context or ())
    for role in ("action", "loss", "reward", "probability", *OPTIONAL):
        name = given.get(role)
        if name is not None and name not in names and not (role == "probability" and name == "probability"):
            raise ValueError(f"{role}: {part.name} has no column {quoted(name)}{suggestion(name[:80], names)}")
    for name in listed:
        if name not in names and part.kinds is not None:
            raise ValueError(f"context: {part.name} has no column {quoted(name)}{suggestion(name[:80], names)}")
    beside = tuple(given.get("beside") or ())
    for name in beside:
        if name not in names:
            raise ValueError(f"{part.name} has no column {quoted(name)} to keep beside{suggestion(name[:80], names)}")
    ranged = {LOW, HIGH} <= set(names) and not {LOW, HIGH} & set(listed)
    if ranged:
        beside += tuple(name for name in BESIDE if name in names and name not in (*listed, *beside))
    value = given["loss"] or given["reward"]
    probability = given["probability"]
    if probability is not None and probability not in names:
        raise ValueError(
            f"{part.name} has no column {quoted(probability)}: {NEEDED}; there are {', '.join(names[:50])}"
        )
    own = {role: given.get(role) for role in OPTIONAL}
    for role in OPTIONAL:
        if own[role] is None and role in names and role not in listed:
            own[role] = role
    taken = {given["action"], value, probability, *own.values(), *beside, *([LOW, HIGH] if ranged else ())}
    if context is None and part.kinds is None and "context" in names:
        context = "context"
    elif context is None and part.kinds is not None:
        context = tuple(name for name in names if name not in taken)
        if context == ("context",) and part.kinds["context"] not in ("number", "boolean"):
            context = "context"
    twice = [name for name in listed if name in {given["action"], value, probability}]
    if twice:
        raise ValueError(f"context must not have {twice[0]!r}, which is the action, its outcome or its probability")
    return Roles(
        action=given["action"],
        value=value,
        probability=probability,
        context=context if isinstance(context, str) else None if context is None else tuple(context),
        beside=beside,
        ranged=ranged,
        **own,
    )


def declared(part: Part) -> tuple[float, float] | None:
    """What a table that has the columns for it says that its rewards lie within; None if its first row does not."""
    for block in part.blocks([LOW, HIGH], 1):
        low, high = (float(_numbers(block, name)[0]) if len(block) else np.nan for name in (LOW, HIGH))
        return (low, high) if low < high else None
    return None


def other_range(lows: Array, highs: Array, first: tuple[float, float], wrong: Wrong) -> None:
    """Rows that say another range than the first one."""
    for row in np.flatnonzero((lows != first[0]) | (highs != first[1])).tolist():
        told = f"{LOW} and {HIGH} must be those of the first row, {first[0]:.15g} and {first[1]:.15g}"
        wrong.setdefault(row, ("another range", f"{told}, got {lows[row]:.15g} and {highs[row]:.15g}"))


class Table:
    """A log in one table or several of the same columns."""

    def __init__(
        self, parts: Sequence[Part], roles: Roles, named: bool | None, words: frozenset[str] = frozenset()
    ) -> None:
        self.parts, self.roles, self.named, self.words = parts, roles, named, words
        self.within = declared(parts[0]) if roles.ranged else None
        self.name = parts[0].name if len(parts) == 1 else str(Path(parts[0].name).parent)
        self.unit = "line" if parts[0].text or parts[0].kinds is None else "row"
        for part in parts[1:]:
            for name in roles.columns():
                if part.kinds is not None and name not in part.kinds:
                    raise ValueError(f"{part.name} has no column {quoted(name)}, which {parts[0].name} has")

    def paths(self) -> list[str]:
        """The files that are read; none of a frame."""
        return [] if self.parts[0].name == "the frame" else [part.name for part in self.parts]

    def files(self) -> list["Table"]:
        """Each table alone."""
        return [Table([part], self.roles, self.named, self.words) for part in self.parts]

    def labels(self) -> tuple[Action, ...] | None:
        """What actions are called, by one look at that column; None where each round offers its own."""
        if self.roles.offers is not None:
            return None
        found: set[Any] = set()
        for part in self.parts:
            for block in part.blocks([self.roles.action], 2**16 if part.kinds else 2**12):
                found.update(block.codes(self.roles.action)[1])
                if len(found) > 2 * MOST:
                    break
        return found_labels(found, f"{self.name}, column {self.roles.action!r}", text=self.parts[0].text)

    def chunks(self, labels: tuple[Action, ...] | None, n_rows: int) -> Iterator[Unchecked]:
        """All rows, so many at a time."""
        contexts = Contexts(Reading(self.roles.context, self.named, self._others(), self.words))
        for part in self.parts:
            first = 1
            for block in part.blocks(self.roles.columns(), n_rows):
                lines = isinstance(block, Cells)
                rows = np.array(block.line_numbers, np.int64) if lines else np.arange(first, first + len(block))
                where = Where((part.name,), np.zeros(1, np.int64), rows, self.unit)
                yield self._unchecked(part, block, where, labels, contexts)
                first += len(block)

    def _others(self) -> frozenset[str]:
        """What is no context in objects that have it beside the rest."""
        return frozenset(set(self.roles.columns()) - set(self.roles.context or ()))

    def _unchecked(
        self, part: Part, block: Any, where: Where, labels: tuple[Action, ...] | None, contexts: Contexts
    ) -> Unchecked:
        roles, wrong = self.roles, Wrong()

        def column(name: str | None) -> list[Any] | None:
            return None if name is None else block.values(name)

        offers = None
        if roles.offers is not None:
            offers, actions = _offered(block.values(roles.offers), block.values(roles.action), wrong)
            places, sizes = None, [len(one) for one in offers]
        else:
            places, sizes = Places(labels or (), text=part.text), None
            actions = places.of_codes(*block.codes(roles.action))
        available = _stacked(block, roles.available, places and places.mask, bool, len(labels or ()), wrong)
        laws = _stacked(block, roles.law, places and places.law, float, len(labels or ()), wrong)
        if sizes is not None and roles.law is not None:
            laws = _padded(block.values(roles.law), sizes, wrong)
        found, columns = contexts.read(block, part.kinds, wrong)
        if roles.ranged and self.within is not None:
            other_range(_numbers(block, LOW), _numbers(block, HIGH), self.within, wrong)
        return Unchecked(
            places=where,
            contexts=found,
            actions=actions,
            values=_numbers(block, roles.value),
            probabilities=None if roles.probability is None else _numbers(block, roles.probability),
            available=available,
            laws=laws,
            offers=offers,
            keys=column(roles.key),
            times=column(roles.time),
            versions=column(roles.version),
            beside={name: block.values(name) for name in roles.beside} or None,
            columns=columns,
            wrong=wrong,
            lost=block.lost if isinstance(block, Cells) else [],
            cell=lambda role, row: block.values(getattr(roles, role))[row],
        )


def _numbers(block: Any, name: str) -> Array:
    found = block.numbers(name)
    if found is None:  # text in a table
        cells = [number(cell) for cell in block.values(name)]
        found = np.array([np.nan if one is None else one for one in cells])
    return np.asarray(found, float)


def _stacked(block: Any, name: str | None, read: Any, kind: type, k: int, wrong: Wrong) -> Any:
    """A column of lists as an array of n x k."""
    if name is None or read is None:
        return None
    out: Any = np.zeros((len(block), k), kind)
    for row, cell in enumerate(block.values(name)):
        found = read(cell)
        if isinstance(found, str):
            wrong.setdefault(row, (f"{found.partition(' ')[0]} is none", found))
        else:
            out[row] = found
    return out


def _offered(cells: Sequence[Any], taken: Sequence[Any], wrong: Wrong) -> tuple[list[Any], Any]:
    """What each round offers, and the place of its action in it."""
    offers, actions = [], np.full(len(cells), -1, np.int64)
    for row, (cell, action) in enumerate(zip(cells, taken, strict=True)):
        offer = cell
        if isinstance(cell, str):
            try:
                offer = json.loads(cell)
            except (ValueError, RecursionError):
                offer = None
        sound = isinstance(offer, Mapping) and all(one is None or isinstance(one, Mapping) for one in offer.values())
        if not sound or not offer:
            detail = f"offers must be a mapping of actions to features, got {quoted(cell)}"
            wrong.setdefault(row, ("offers are none", detail))
        offers.append({name: features or {} for name, features in offer.items()} if sound else {})
        names = [str(name) for name in offers[-1]]
        label = as_label(action)
        actions[row] = names.index(str(label)) if label is not None and str(label) in names else -1
    return offers, actions


def _padded(cells: Sequence[Any], sizes: Sequence[int], wrong: Wrong) -> Array:
    out = np.zeros((len(cells), max(sizes, default=0)))
    for row, (cell, size) in enumerate(zip(cells, sizes, strict=True)):
        found = Places(range(size), text=False).law(cell)
        if isinstance(found, str):
            wrong.setdefault(row, ("law is none", found))
        else:
            out[row, :size] = found
    return out
