"""Rows as a log has them, and the rounds among them: what every format is checked for, in one place.

A reader fills an `Unchecked` and says what it could not make sense of; `examined` turns it into `Rounds` and a list of
bad rows, each with its place, its reason, and the value that is wrong. All of it is done on whole columns; only rows
that are wrong are looked at one by one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from marginbandits.contexts import LARGEST
from marginbandits.environments.logs.bad import Bad
from marginbandits.environments.logs.seen import Seen
from marginbandits.ranges import as_losses
from marginbandits.rounds import LEAST, SURE, Offers, Places, Rounds, is_finite
from marginbandits.types import Action, Array, Mask
from marginbandits.validation import quoted

__all__ = ["Scale", "Unchecked", "examined"]

Wrong = dict[int, tuple[str, str]]
"""Rows by number, each with a reason and what is said of it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What the numbers of a log are: `rewards` or losses, `within` a range or (0, 1), under which name.

    `turned` says that rewards stand there as costs, with their signs turned.
    """

    name: str = "loss"
    rewards: bool = False
    within: tuple[float, float] | None = None
    turned: bool = False

    def __str__(self) -> str:
        low, high = self.within or (0.0, 1.0)
        if self.turned:
            low, high = 0.0 - high, 0.0 - low
        return f"a number in [{low:.15g}, {high:.15g}]"

    @property
    def way_out(self) -> str:
        """What to say where numbers lie outside."""
        if self.within is not None:
            return ""
        if self.name == "cost":
            turned = "where costs are rewards with their signs turned, as a decision service writes them"
            return f", or say reward_range=(low, high) {turned}, loss_range=(low, high) where they are losses"
        return f", or say {'reward' if self.rewards else 'loss'}_range=(low, high)"


_BY_ROW = (
    "contexts",
    "actions",
    "values",
    "probabilities",
    "available",
    "laws",
    "offers",
    "keys",
    "times",
    "versions",
    "beside",
)


@dataclass(slots=True)
class Unchecked:
    """Some rows: as `Rounds`, but for what may be wrong. An action of -1 is none of the labels, or not offered."""

    places: Places
    contexts: Any
    actions: npt.NDArray[np.int64]
    values: Array
    probabilities: Array | None = None
    available: Mask | None = None
    laws: Array | None = None
    offers: Offers | None = None
    keys: list[Any] | None = None
    times: list[Any] | None = None
    versions: list[Any] | None = None
    beside: dict[str, list[Any]] | None = None
    columns: tuple[str, ...] | None = None
    wrong: Wrong = field(default_factory=dict)
    lost: list[Bad] = field(default_factory=list)
    """Rows that could not be read at all, and are none of these."""
    cell: Callable[[str, int], object] = lambda role, row: None
    """What stands in a row: its action, value or probability as written."""

    def take(self, rows: npt.NDArray[np.int64]) -> "Unchecked":
        """Some of the rows, in ascending order; what was lost stays so."""
        order, cell = rows.tolist(), self.cell
        arrays = {name: _some(getattr(self, name), rows) for name in _BY_ROW}
        wrong = {place: self.wrong[row] for place, row in enumerate(order) if row in self.wrong}
        return replace(
            self, places=self.places.take(rows), wrong=wrong, cell=lambda role, row: cell(role, order[row]), **arrays
        )


def examined(
    raw: Unchecked, labels: tuple[Action, ...] | None, scale: Scale, seen: Seen | None
) -> tuple[Rounds, list[Bad]]:
    """The rounds among these rows, and the rows that are none, in the file's order."""
    outcomes = 0.0 - raw.values if scale.turned else raw.values
    losses = as_losses(outcomes, scale.within, rewards=scale.rewards)
    wrong = dict(raw.wrong)
    for rows, reason, detail in _faults(raw, losses, labels, scale):
        for row in np.flatnonzero(rows).tolist():
            if row not in wrong:
                wrong[row] = (reason, detail(row))
    if seen is not None and raw.keys is not None:
        _repeated(raw, losses, seen, scale, wrong)
    bad = [Bad(raw.places[row], *wrong[row]) for row in sorted(wrong)]
    good = np.setdiff1d(np.arange(len(losses)), list(wrong)) if wrong else None
    kept = raw if good is None else raw.take(good)
    fields = {name: getattr(kept, name) for name in _BY_ROW if name != "values"}
    own = labels if raw.offers is None else None
    rounds = Rounds(
        **fields,
        losses=_some(losses, good),
        outcomes=_some(outcomes, good) if scale.rewards else None,
        places=kept.places,
        labels=own,
        columns=raw.columns,
        within=scale.within,
        rewards=scale.rewards,
    )
    return rounds, sorted(raw.lost + bad, key=_number) if raw.lost else bad


def _faults(
    raw: Unchecked, losses: Array, labels: tuple[Action, ...] | None, scale: Scale
) -> Iterator[tuple[npt.NDArray[np.bool_], str, Callable[[int], str]]]:
    """Which rows have each fault, its name, and what is said of one of them."""

    def says(rule: str, role: str) -> Callable[[int], str]:
        return lambda row: f"{rule}, got {quoted(raw.cell(role, row))}"

    known = "one of those offered" if labels is None else f"one of {quoted(list(labels))}"
    yield raw.actions < 0, "unknown action", says(f"action must be {known}", "action")
    yield np.isnan(losses), f"no {scale.name}", says(f"{scale.name} must be {scale}", "value")
    outside = ~((losses >= 0) & (losses <= 1))
    rule = f"{scale.name} must be {scale}{scale.way_out}"
    yield outside, f"{scale.name} outside its range", says(rule, "value")
    p = raw.probabilities
    if p is not None:
        rule = "probability must be a number above 0 and at most 1"
        yield np.isnan(p), "no probability", says(rule, "probability")
        never = ": an action that is never drawn cannot have been"
        yield p == 0, "probability is 0", lambda row: says(rule, "probability")(row) + never
        yield (p > 0) & (p < LEAST), "probability of nothing", says(f"{rule}, and at least {LEAST:g}", "probability")
        yield ~((p > 0) & (p <= 1)), "probability outside (0, 1]", says(rule, "probability")
    n = np.arange(len(losses))
    places = np.maximum(raw.actions, 0)
    if raw.available is not None and raw.available.shape[1]:
        yield ~raw.available[n, places], "action not available", says("action must be among those available", "action")
    if raw.laws is not None and raw.laws.shape[1]:
        yield from _laws(raw.laws, raw.laws[n, np.minimum(places, raw.laws.shape[1] - 1)], p)
    yield from _contexts(raw)


def _laws(
    laws: Array, own: Array, p: Array | None
) -> Iterator[tuple[npt.NDArray[np.bool_], str, Callable[[int], str]]]:
    total = laws.sum(1)
    unsound = ~((np.abs(total - 1.0) <= SURE) & (laws.min(1) >= 0))
    yield unsound, "law is none", lambda row: f"law must be probabilities that sum to 1, got {quoted(laws[row])}"
    if p is not None:
        differ = ~(np.abs(own - p) <= SURE * np.maximum(own, p))
        yield (
            differ,
            "two probabilities for one decision",
            lambda row: f"probability {p[row]:.6g}, but the law has {own[row]:.6g} for the action",
        )


def _contexts(raw: Unchecked) -> Iterator[tuple[npt.NDArray[np.bool_], str, Callable[[int], str]]]:
    contexts = raw.contexts
    if not isinstance(contexts, np.ndarray) or is_finite(contexts):
        return
    bad: Mask = ~(np.abs(contexts) <= LARGEST)
    names = raw.columns or tuple(map(str, range(contexts.shape[1])))

    def detail(row: int) -> str:
        column = int(np.argmax(bad[row]))
        mend = "fill it, or read contexts by name (named=True), where a gap is a value of its own"
        advice = f"empty; {mend}" if np.isnan(contexts[row, column]) else "it must be within ±1e100"
        return f"context column {names[column]!r} has {contexts[row, column]}: {advice}"

    yield np.asarray(bad.any(1)), "context not finite", detail


def _repeated(raw: Unchecked, losses: Array, seen: Seen, scale: Scale, wrong: Wrong) -> None:
    keys: list[Any] = raw.keys or []
    for row in [row for row, key in enumerate(keys) if key is None and row not in wrong]:
        wrong[row] = ("no key", "key must be there, got None")
    rows = np.array([row for row in range(len(losses)) if row not in wrong], np.int64)
    before = seen.add([keys[row] for row in rows], losses[rows])
    for row, first in zip(rows.tolist(), before.tolist(), strict=True):
        if np.isnan(first):
            continue
        key = f"key {quoted(keys[row])}"
        if first == losses[row]:
            wrong[row] = ("the same decision twice", f"{key} was there before, with the same {scale.name}")
        else:
            was, now = (1.0 - first, 1.0 - losses[row]) if scale.rewards else (first, losses[row])
            told = f"{was:.6g} before, {now:.6g} now" + " (within [0, 1])" * (scale.within is not None)
            wrong[row] = ("two losses for one decision", f"two losses for one decision: {key} had {scale.name} {told}")


def _some(values: Any, rows: Any) -> Any:
    if values is None or rows is None:
        return values
    if isinstance(values, dict):
        return {name: [cells[row] for row in rows] for name, cells in values.items()}
    if isinstance(values, list):
        return [values[row] for row in rows]
    return values[rows] if not scipy.sparse.issparse(values) else values.tocsr()[rows]


def _number(bad: Bad) -> int:
    return int(bad.place.rpartition(" ")[2])
