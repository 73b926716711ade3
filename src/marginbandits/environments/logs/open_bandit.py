"""The Open Bandit Dataset: clicks on a fashion site, logged by a random policy and by Thompson sampling.

A campaign is a CSV file with the columns timestamp, item_id, position, click, propensity_score, user_feature_0 to 3 and
user-item_affinity_0 to K - 1. The probability is that of an item at its position, so the position is part of the
context here; or keep one position alone.

Saito, Aihara, Matsutani & Narita (2020), "Open Bandit Dataset and Pipeline: towards realistic and reproducible
off-policy evaluation", arXiv:2008.07146.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np

from marginbandits.environments.logs.cells import csv_header
from marginbandits.environments.logs.checks import Scale, Unchecked
from marginbandits.environments.logs.log import Log, Source
from marginbandits.environments.logs.table import Table, parts_of, roles_of
from marginbandits.types import Action
from marginbandits.validation import Choice, Instance, Integer, OneOf, validated

__all__ = ["read_open_bandit"]

NEEDED = ("timestamp", "item_id", "position", "click", "propensity_score")


@validated
def read_open_bandit(
    path: Annotated[str | os.PathLike[str], Instance(str, os.PathLike)],
    *,
    position: Annotated[int | None, OneOf(Integer(1, 3), Instance(type(None)))] = None,
    affinities: Annotated[bool, Instance(bool)] = False,
    bad: Annotated[str, Choice("strict", "skip")] = "strict",
) -> Log:
    """The log of one campaign and policy: `men.csv`, say, as the data set has it, or compressed.

    Contexts are the user's four features, all of them categories, and the position; or only rounds at one `position`.
    `affinities` adds the user's past clicks on each item. Items are called by their numbers, and are as many as there
    are affinities.
    """
    file = Path(path)
    names = csv_header(file)
    for name in NEEDED:
        if name not in names:
            raise ValueError(f"{file} is no campaign of the Open Bandit Dataset: it has no column {name!r}")
    likes = [name for name in names if name.startswith("user-item_affinity_")]
    words = [*(name for name in names if name.startswith("user_feature_")), "position"]
    parts = parts_of(file, "csv")
    given = dict.fromkeys(("loss", "available", "law", "offers", "key", "version"))
    roles = roles_of(
        parts[0],
        given
        | {
            "action": "item_id",
            "reward": "click",
            "probability": "propensity_score",
            "time": "timestamp",
            "context": words + likes * affinities,
        },
    )
    table: Source = Table(parts, roles, True, frozenset(words))
    if position is not None:
        table = _Position(table, position)
    labels: tuple[Action, ...] | None = tuple(range(len(likes))) if likes else None
    return Log(table, labels=labels, scale=Scale("click", rewards=True), bad=bad)


class _Position:
    """The rounds at one position, which is then no part of their contexts."""

    def __init__(self, table: Source, position: int) -> None:
        self.name, self._table, self._position = table.name, table, str(position)

    def paths(self) -> list[str]:
        """The one file."""
        return self._table.paths()

    def labels(self) -> tuple[Action, ...] | None:
        """Items that were shown, at any position."""
        return self._table.labels()

    def chunks(self, labels: tuple[Action, ...] | None, n_rows: int) -> Iterator[Unchecked]:
        """Rows at this position."""
        for raw in self._table.chunks(labels, n_rows):
            at = [one.pop("position") for one in raw.contexts]
            yield raw.take(np.array([row for row, place in enumerate(at) if place == self._position], np.int64))
