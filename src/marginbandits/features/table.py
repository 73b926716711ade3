"""A schema: what a context of names and values becomes.

`entries` says what is read: (code, value) pairs. Here every code gets a column of its own, in the order of being
learnt, as long as there is room: it is looked for at its hash and the 15 places after it, and takes the first that is
free. What has never been learnt has no column, and says nothing.

Where rows are kept sparse, there are 2^18 columns, and numbers are standardised here, for what is sparse is never
centred elsewhere. A category that finds all its places taken shares the first of them, with a sign drawn by its hash.
Where rows are dense, there are 2^8, of which the values of one name take at most a quarter, so that ids leave room for
others. Who finds no column there is left out. Numbers count from the first that was learnt, and what follows
standardises all columns. A number that is absent counts as the mean of those before it.

>>> table = Table(text=["title"])._start(sparse=True)
>>> rows = table._observe(table._codes([{"age": 31, "title": "red shoes"}, {"age": 47, "title": "blue shoes"}]))
>>> rows.shape, rows.starts, sorted(rows.values.tolist())
((2, 262144), array([0, 3, 6]), [-1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
>>> table.n_names, table.n_collisions
(4, 0)
"""

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import CODES, LARGEST, Rows, Sparse
from marginbandits.features.entries import Entries, Offer
from marginbandits.features.maps import FeatureMap
from marginbandits.saving import Part
from marginbandits.state import COUNT, SQUARES, Field, Journal, Record, zeros
from marginbandits.types import Array
from marginbandits.validation import Choice, Instance, Integer, ListOf, OneOf, validated

__all__ = ["Table"]

Names = Annotated[list[str] | None, OneOf(ListOf(Instance(str)), Instance(type(None)))]
Pairs = Annotated[list[list[str]] | None, OneOf(ListOf(ListOf(Instance(str))), Instance(type(None)))]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BITS = {True: 18, False: 8}
"""Of sparse rows, and of dense ones: 2^BITS columns."""
_CLIP = 5.0
_COUNT, _MEAN, _SQUARE, _FIRST = range(4)
_LEAST = 1e-200
"""A smaller sum of squares counts as no variation."""
_PROBES = 16
"""Places that a code may have."""


class Table(Part, Record):
    """Contexts that are mappings, read by name; then `features`, as of any other context.

    Strings are categories, or `text` where they are declared so or have a space in them and are not declared
    `categorical`; numbers that are declared so are categories too. Names to `drop` are not read. `interactions` are
    pairs of names, or namespaces, of the context itself, whose entries are multiplied. There are 2^`hash_bits` columns.
    """

    sparse: bool
    n_outputs: int
    _most: int
    _owners: Places
    _moments: Array
    _collisions: Places
    _last: tuple[int, Places, Places, Array, int]
    """The stamp of the last rows, their columns, and what these had before; and collisions before."""

    @validated
    def __init__(
        self,
        *,
        text: Names = None,
        categorical: Names = None,
        drop: Names = None,
        interactions: Pairs = None,
        hash_bits: Annotated[int | None, OneOf(Integer(1, 26), Instance(type(None)))] = None,
        features: Annotated[str | FeatureMap, OneOf(Choice("raw", "fourier"), Instance(FeatureMap))] = "raw",
        seed: Annotated[int, Integer(0, 2**32 - 1)] = 0,
    ) -> None:
        for position, pair in enumerate(interactions or ()):
            if len(pair) != 2:
                raise ValueError(f"interactions[{position}] must be a pair of names, got {pair}")
        self.text, self.categorical, self.drop, self.interactions = text, categorical, drop, interactions
        self.hash_bits, self.features, self.seed = hash_bits, features, seed
        self._entries = Entries(
            text=text or (),
            categorical=categorical or (),
            drop=drop or (),
            interactions=[(one, other) for one, other in interactions or ()],
            seed=seed,
        )

    @property
    def n_columns(self) -> int:
        """How many columns are asked for: those of sparse rows where there is text."""
        return int(2 ** (BITS[bool(self.text)] if self.hash_bits is None else self.hash_bits))

    @property
    def n_names(self) -> int:
        """How many entries have columns."""
        return int(np.count_nonzero(self._owners))

    @property
    def n_collisions(self) -> int:
        """How often an entry that was learnt had none of its own."""
        return int(self._collisions[0])

    def _codes(
        self, contexts: Sequence[Mapping[str, Any]], instead: Mapping[int, int] | None = None, at: int = 0
    ) -> Sparse:
        """What is written in each context, one row each: columns are codes, and in the context's order.

        In row `at`, some may be others `instead`.
        """
        codes, values, starts = self._entries.rows(contexts, instead, at)
        return Sparse(values, codes, starts, CODES)

    def _offered(self, offers: Sequence[Offer]) -> Sparse:
        """The same of what is offered: a row for each action of each."""
        codes, values, starts = self._entries.offered(offers)
        return Sparse(values, codes, starts, CODES)

    def _others(self, code: int) -> tuple[Places, Array]:
        """All categories of its name that have columns, and how often each was learnt."""
        owners = self._owners - 1
        own = np.flatnonzero((owners >= 0) & (owners >> 33 == code >> 33) & (owners & 1 == 0))
        return owners[own], self._moments[_COUNT, own]

    def _start(self, *, sparse: bool) -> Self:
        """A fresh copy, whose rows are sparse or dense."""
        started = copy.deepcopy(self)
        started.sparse = sparse
        started.n_outputs = 2 ** (BITS[sparse] if self.hash_bits is None else self.hash_bits)
        started._most = started.n_outputs if sparse else max(started.n_outputs // 4, 1)
        started._owners = zeros((started.n_outputs,), np.int64)  # 1 + the code that has the column; 0 where none has
        started._moments = zeros((4, started.n_outputs))  # of numbers; of categories how many
        started._collisions = np.zeros(1, np.int64)
        nothing = np.empty(0, np.int64)
        started._last = -1, nothing, nothing, np.empty((4, 0)), 0
        started.attach(Journal())
        return started

    def _transform(self, rows: Rows) -> Rows:
        """Rows of codes as rows of columns."""
        assert isinstance(rows, Sparse)
        if not self.sparse:
            room = np.empty((2, len(rows.columns)), np.int64)
            columns, signs = room
            _place(rows.columns, self._owners, False, self._most, columns, signs, np.empty(len(columns), np.bool_))
            return self._rows(rows, columns, signs)
        n = len(rows.columns)
        values, filled, starts = np.empty(n), np.empty(n, np.int64), np.empty(len(rows.starts), np.int64)
        given = rows.columns, rows.values, rows.starts, self._owners, self._most, self._moments
        n = known(*given, values, filled, starts)
        return Sparse(values[:n], filled[:n], starts, self.n_outputs)

    def _observe(self, rows: Rows) -> Rows:
        """The same, after learning what there is and how large numbers are."""
        assert isinstance(rows, Sparse)
        n, before = len(rows.columns), int(self._collisions[0])
        room, kept = np.empty((3, n), np.int64), np.empty((4, n))
        columns, signs, owners = room
        self._last = self.journal.stamp, columns, owners, kept, before
        given = rows.columns, rows.values, self._owners, self._most, self._moments
        without = claim(*given, columns, signs, owners, kept)
        if without:
            self._collisions[0] = min(before + without, COUNT)
            if before < 10 * self.n_outputs <= self._collisions[0] and not self.sparse:
                warnings.warn(
                    f"names and values have found no column {self.n_collisions:,} times: all {self.n_outputs} that "
                    "this learner has are taken. SquareCB, RegCB, LogisticTS and HingeLMC have 2^18; or give "
                    "Table(hash_bits=…), or drop names that say little",
                    stacklevel=2,
                )
        return self._rows(rows, columns, signs)

    def compiled(self) -> tuple[Any, ...]:
        """What compiled rounds find columns by: owners, how many one name may have, moments, collisions."""
        return self._owners, self._most, self._moments, self._collisions

    def undo(self, stamp: int) -> None:
        """Put back what the last rows changed."""
        last, columns, owners, kept, collisions = self._last
        if last == stamp:
            self._owners[columns], self._moments[:, columns], self._collisions[0] = owners, kept, collisions

    def _rows(self, rows: Sparse, columns: Places, signs: Places) -> Rows:
        if not self.sparse:
            out = np.empty((len(rows), self.n_outputs))
            _fill(rows.columns, rows.values, rows.starts, columns, signs, self._moments, out)
            return out
        values, filled, starts = np.empty(len(columns)), np.empty(len(columns), np.int64), np.empty_like(rows.starts)
        n = sort(rows.columns, rows.values, rows.starts, columns, signs, self._moments, values, filled, starts)
        return Sparse(values[:n], filled[:n], starts, self.n_outputs)

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "owners": Field(self._owners, 0, CODES),
            "moments": Field(self._moments, -LARGEST, SQUARES),
            "collisions": Field(self._collisions, 0, COUNT),
        }

    def check(self) -> None:
        """Every code has one column, where it is looked for; counts and squares are not negative, nor means too far."""
        columns = np.flatnonzero(self._owners)
        owners = self._owners[columns]
        away = (columns - ((owners - 1) >> 1)) % self.n_outputs
        if len(np.unique(owners)) < len(owners) or (away >= _PROBES).any():
            raise ValueError("owners must have each code once, where it is looked for")
        moments = self._moments
        if (moments[[_COUNT, _SQUARE]] < 0.0).any() or (moments[_COUNT] > COUNT).any():
            raise ValueError("moments must have counts and squares of at least 0")
        if (moments[[_MEAN, _FIRST]] > LARGEST).any():
            raise ValueError("moments must be those of numbers within ±1e100")


@kernel
def _place(codes: Places, owners: Places, claim: bool, most: int, columns: Places, signs: Places, fresh: Flags) -> None:
    """The column of each code and its sign there: 1 in its own, 0 where it says nothing.

    Who may `claim` takes a free one, which is `fresh`, unless `most` belong to its name already, and owns it at once:
    so a round takes as long as it has entries. Categories that find none share where `most` is no limit.
    """
    last = owners.shape[0] - 1
    for k in range(codes.shape[0]):
        owner, number = codes[k] + 1, codes[k] & 1
        home = (codes[k] >> 1) & last
        columns[k], signs[k], fresh[k] = home, 0, False
        if number == 0 and most > last:
            signs[k] = 1 if (codes[k] >> 32) & 1 else -1
        for probe in range(_PROBES):
            at = (home + probe) & last
            if owners[at] == owner:
                columns[k], signs[k] = at, 1
                break
            if owners[at] == 0:
                signs[k], taken = 0, 0
                if claim and number == 0 and most <= last:
                    for j in range(last + 1):
                        if owners[j] > 0 and (owners[j] - 1) >> 33 == codes[k] >> 33:
                            taken += 1
                if claim and taken < most:
                    columns[k], signs[k], fresh[k], owners[at] = at, 1, True, owner
                break


@kernel
def claim(
    codes: Places,
    values: Array,
    owners: Places,
    most: int,
    moments: Array,
    columns: Places,
    signs: Places,
    kept_owners: Places,
    kept: Array,
) -> int:
    """Columns and signs; who finds a free column owns it from now on, and is counted. How many have none of their own.

    What is changed is kept as it was, by the place of the code.
    """
    fresh = np.empty(codes.shape[0], np.bool_)
    _place(codes, owners, True, most, columns, signs, fresh)
    for k in range(codes.shape[0]):
        if fresh[k]:
            owners[columns[k]] = 0  # as it was
    for k in range(codes.shape[0]):
        j = columns[k]
        kept_owners[k] = owners[j]
        for m in range(4):
            kept[m, k] = moments[m, j]
    without = 0
    for k in range(codes.shape[0]):
        if fresh[k]:
            owners[columns[k]] = codes[k] + 1
    for k in range(codes.shape[0]):
        if owners[columns[k]] != codes[k] + 1:
            without += 1
        elif codes[k] & 1 == 0:
            moments[_COUNT, columns[k]] = kept[_COUNT, k] + 1.0  # once, in however many rows it is
    _count(codes, columns, signs, values, moments)
    return without


@kernel
def known(
    codes: Places,
    values: Array,
    starts: Places,
    owners: Places,
    most: int,
    moments: Array,
    out: Array,
    filled: Places,
    ends: Places,
) -> int:
    """Sparse rows by what is known: `_place`, where nobody may claim, and `sort`."""
    n = codes.shape[0]
    columns, signs, fresh = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_)
    _place(codes, owners, False, most, columns, signs, fresh)
    return sort(codes, values, starts, columns, signs, moments, out, filled, ends)


@kernel
def _count(codes: Places, columns: Places, signs: Places, values: Array, moments: Array) -> None:
    """Welford's update of every number; after 25 of them, one counts as far as five deviations."""
    for k in range(codes.shape[0]):
        if codes[k] & 1 and signs[k] != 0:
            j, x = columns[k], values[k]
            if moments[_COUNT, j] == 0.0:
                moments[_FIRST, j] = x
            if moments[_COUNT, j] >= _CLIP * _CLIP and moments[_SQUARE, j] > _LEAST:
                reach = _CLIP * math.sqrt(moments[_SQUARE, j] / moments[_COUNT, j])
                x = min(max(x, moments[_MEAN, j] - reach), moments[_MEAN, j] + reach)
            moments[_COUNT, j] += 1.0
            before = x - moments[_MEAN, j]
            moments[_MEAN, j] += before / moments[_COUNT, j]
            moments[_SQUARE, j] += before * (x - moments[_MEAN, j])


@kernel
def _fill(
    codes: Places, values: Array, starts: Places, columns: Places, signs: Places, moments: Array, out: Array
) -> None:
    """Dense rows, numbers counted from the first of them; one that is absent is its mean."""
    for i in range(starts.shape[0] - 1):
        row = out[i]
        for j in range(row.shape[0]):
            row[j] = min(max(moments[_MEAN, j] - moments[_FIRST, j], -LARGEST), LARGEST)
        for k in range(starts[i], starts[i + 1]):
            if codes[k] & 1 and signs[k] != 0:
                row[columns[k]] = 0.0
        for k in range(starts[i], starts[i + 1]):
            if signs[k] != 0:
                j = columns[k]
                x = values[k] - moments[_FIRST, j] if codes[k] & 1 else signs[k] * values[k]
                row[j] = min(max(row[j] + x, -LARGEST), LARGEST)


@kernel
def sort(
    codes: Places,
    values: Array,
    starts: Places,
    columns: Places,
    signs: Places,
    moments: Array,
    out: Array,
    filled: Places,
    ends: Places,
) -> int:
    """Sparse rows: standardised numbers, columns in order and each once; what has no column is left out."""
    n = 0
    ends[0] = 0
    for i in range(starts.shape[0] - 1):
        first = n
        for k in np.argsort(columns[starts[i] : starts[i + 1]], kind="mergesort"):
            k += starts[i]
            j, x = columns[k], values[k]
            if signs[k] == 0:
                continue
            if codes[k] & 1:
                square = moments[_SQUARE, j]
                x = (x - moments[_MEAN, j]) / math.sqrt(square / moments[_COUNT, j]) if square > _LEAST else 0.0
                x = min(max(x, -_CLIP), _CLIP)
            if n > first and filled[n - 1] == j:
                out[n - 1] += signs[k] * x
            else:
                out[n], filled[n] = signs[k] * x, j
                n += 1
        ends[i + 1] = n
    return n
