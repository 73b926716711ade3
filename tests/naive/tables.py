"""Twins of the kernels that give names their columns."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.features import products, table
from marginbandits.types import Array
from tests.naive.twin import Places, pick, twin

Flags = npt.NDArray[np.bool_]


def _codes(rng: np.random.Generator) -> tuple[Places, Places, Places]:
    """Some codes of few names, how they are parted into rows, and columns of which some have owners among them."""
    several = rng.integers(2, size=8) << 33 | rng.integers(2**33, size=8)
    codes = rng.choice(np.r_[several, 4, 5], pick(rng, 0, 1, 12))
    owners = np.zeros(pick(rng, 2, 8, 32), np.int64)
    columns, signs, fresh = _room(len(codes))
    place(codes, owners.copy(), True, len(owners), columns, signs, fresh)
    some = fresh & (rng.random(len(codes)) < 0.7)
    owners[columns[some]] = codes[some] + 1
    return codes, np.sort(np.r_[0, rng.integers(len(codes) + 1, size=pick(rng, 0, 2)), len(codes)]), owners


def _room(n: int) -> tuple[Places, Places, Flags]:
    return np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)


def _unplaced(rng: np.random.Generator) -> tuple[Places, Places, bool, int, Places, Places, Flags]:
    codes, _, owners = _codes(rng)
    return codes, owners, pick(rng, True, False), pick(rng, len(owners), 2), *_room(len(codes))


@twin(table._place, _unplaced)
def place(codes: Places, owners: Places, claim: bool, most: int, columns: Places, signs: Places, fresh: Flags) -> None:
    for k, code in enumerate(codes.tolist()):
        home = code // 2 % len(owners)
        shares = code % 2 == 0 and most == len(owners)
        columns[k], signs[k], fresh[k] = home, (1 if code >> 32 & 1 else -1) if shares else 0, False
        for at in [(home + probe) % len(owners) for probe in range(16)]:
            if owners[at] == code + 1:
                columns[k], signs[k] = at, 1
                break
            if owners[at] == 0:
                names = [owner - 1 >> 33 for owner in owners[owners > 0].tolist()]
                limited = code % 2 == 0 and most < len(owners) and names.count(code >> 33) >= most
                signs[k] = int(claim and not limited)
                if signs[k]:
                    columns[k], fresh[k], owners[at] = at, True, code + 1
                break


def _numbers(rng: np.random.Generator, d: int) -> Array:
    moments = np.abs(rng.standard_normal((4, d)))
    moments[0] = pick(rng, 0.0, 3.0, 30.0)
    moments[:, rng.random(d) < 0.3] = 0.0
    return moments


def _counted(rng: np.random.Generator) -> tuple[Places, Places, Places, Array, Array]:
    codes, d = rng.integers(10, size=pick(rng, 0, 1, 9)), pick(rng, 1, 4)
    columns, signs = rng.integers(d, size=len(codes)), rng.integers(2, size=len(codes))
    return codes, columns, signs, 10 * rng.standard_normal(len(codes)), _numbers(rng, d)


@twin(table._count, _counted)
def count(codes: Places, columns: Places, signs: Places, values: Array, moments: Array) -> None:
    for code, j, sign, x in zip(codes.tolist(), columns.tolist(), signs.tolist(), values.tolist(), strict=True):
        n, mean, square, first = moments[:, j]
        if code % 2 and sign:
            reach = 5 * math.sqrt(square / n) if n >= 25 and square > 1e-200 else math.inf
            near = min(max(x, mean - reach), mean + reach)
            moments[:, j] = (
                n + 1,
                (n * mean + near) / (n + 1),
                square + (near - mean) ** 2 * n / (n + 1),
                first if n else x,
            )


def _claimed(rng: np.random.Generator) -> tuple[Any, ...]:
    codes, _, owners = _codes(rng)
    moments, n = _numbers(rng, len(owners)), len(codes)
    room = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((4, n))
    return codes, 10 * rng.standard_normal(n), owners, pick(rng, len(owners), 2), moments, *room


@twin(table.claim, _claimed)
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
    fresh, before = np.zeros(len(codes), np.bool_), owners.copy()
    place(codes, owners, True, most, columns, signs, fresh)
    owners[:] = before
    kept_owners[:], kept[:] = owners[columns], moments[:, columns]
    owners[columns[fresh]] = codes[fresh] + 1
    own = owners[columns] == codes + 1
    for j in set(columns[own & (codes % 2 == 0)].tolist()):
        moments[0, j] += 1.0
    count(codes, columns, signs, values, moments)
    return int((~own).sum())


Filled = tuple[Places, Array, Places, Places, Places, Array, Array]


def _placed(rng: np.random.Generator) -> tuple[Places, Array, Places, Places, Places, Array]:
    codes, starts, owners = _codes(rng)
    columns, signs, fresh = _room(len(codes))
    place(codes, owners.copy(), True, pick(rng, len(owners), 2), columns, signs, fresh)
    signs[fresh & (rng.random(len(codes)) < 0.5)] = 0
    return codes, rng.standard_normal(len(codes)), starts, columns, signs, _numbers(rng, len(owners))


def _to_fill(rng: np.random.Generator) -> Filled:
    given = _placed(rng)
    return *given, np.empty((len(given[2]) - 1, given[5].shape[1]))


@twin(table._fill, _to_fill)
def fill(
    codes: Places, values: Array, starts: Places, columns: Places, signs: Places, moments: Array, out: Array
) -> None:
    for i, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
        for j in range(out.shape[1]):
            own = [k for k in range(start, end) if columns[k] == j and signs[k]]
            numbers = [values[k] - moments[3, j] for k in own if codes[k] % 2]
            out[i, j] = sum(numbers) if numbers else moments[1, j] - moments[3, j]
            out[i, j] += sum(signs[k] * values[k] for k in own if codes[k] % 2 == 0)


def _to_sort(rng: np.random.Generator) -> tuple[Places, Array, Places, Places, Places, Array, Array, Places, Places]:
    codes, values, starts, columns, signs, moments = _placed(rng)
    room = np.zeros(len(codes)), np.zeros(len(codes), np.int64), np.zeros(len(starts), np.int64)
    return codes, values, starts, columns, signs, moments, *room


@twin(table.sort, _to_sort)
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
    n = 0
    for i, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
        row: dict[int, float] = {}
        for k in range(start, end):
            times, mean, square, _ = moments[:, columns[k]]
            x = values[k]
            if codes[k] % 2:
                x = np.clip((x - mean) / math.sqrt(square / times), -5, 5) if square > 0 else 0.0
            if signs[k]:
                row[int(columns[k])] = row.get(int(columns[k]), 0.0) + signs[k] * x
        for j in sorted(row):
            out[n], filled[n] = row[j], j
            n += 1
        ends[i + 1] = n
    return n


def _to_know(rng: np.random.Generator) -> tuple[Any, ...]:
    codes, starts, owners = _codes(rng)
    given = codes, rng.standard_normal(len(codes)), starts, owners, pick(rng, len(owners), 2)
    room = np.zeros(len(codes)), np.zeros(len(codes), np.int64), np.zeros(len(starts), np.int64)
    return *given, _numbers(rng, len(owners)), *room


@twin(table.known, _to_know)
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
    columns, signs, fresh = _room(len(codes))
    place(codes, owners, False, most, columns, signs, fresh)
    n: int = sort(codes, values, starts, columns, signs, moments, out, filled, ends)
    return n


def _entries(rng: np.random.Generator, n: int) -> tuple[Places, Array]:
    return rng.integers(0, 2**49, size=n), np.round(rng.normal(size=n), 1) * pick(rng, 1.0, 1e80)


def _two(rng: np.random.Generator) -> tuple[Any, ...]:
    return *_entries(rng, 4), *rng.choice(3, 2).tolist(), 3


@twin(products._product, _two)
def product(codes: Places, values: Array, one: int, other: int, n: int) -> None:
    codes[n], values[n] = _mixed((int(codes[one]), float(values[one])), (int(codes[other]), float(values[other])))


def _mixed(one: tuple[int, float], other: tuple[int, float]) -> tuple[int, float]:
    """In whole numbers of any size."""
    (a, x), (b, y), word = one, other, 2**64 - 1
    mixed = (a * 0x9E3779B97F4A7C15 + b * 0xD1B54A32D192ED03) & word
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & word
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & word
    name = ((a >> 33) * 31 + (b >> 33)) % 2**16
    return name * 2**33 + (mixed >> 32) * 2 + max(a % 2, b % 2), float(np.clip(x * y, -1e100, 1e100))


def _spans(rng: np.random.Generator) -> tuple[Any, ...]:
    sizes = rng.integers(2, 6, size=3)
    codes, values = _entries(rng, int(sizes.sum()))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    spans = np.array([[0, 1, 1, size] for size in sizes] + [[0, sizes[2], 0, 1]])
    n = len(codes) + int(((spans[:, 1] - spans[:, 0]) * (spans[:, 3] - spans[:, 2])).sum())
    ends = np.array([0, 1, 2, 4])
    return codes, values, starts, spans.ravel(), ends, np.empty(n, np.int64), np.empty(n), np.empty(4, np.int64)


@twin(products._multiply, _spans)
def multiply(
    codes: Places,
    values: Array,
    starts: Places,
    spans: Places,
    ends: Places,
    out: Places,
    out_values: Array,
    out_starts: Places,
) -> None:
    found: list[tuple[int, float]] = []
    out_starts[0] = 0
    for i, (first, last) in enumerate(itertools.pairwise(starts.tolist())):
        row = list(zip(codes[first:last].tolist(), values[first:last].tolist(), strict=True))
        found += row
        for a0, a1, b0, b1 in spans.reshape(-1, 4)[ends[i] : ends[i + 1]].tolist():
            found += [_mixed(one, other) for one, other in itertools.product(row[a0:a1], row[b0:b1])]
        out_starts[i + 1] = len(found)
    out[:], out_values[:] = [code for code, _ in found], [value for _, value in found]


def _parts(rng: np.random.Generator) -> tuple[Any, ...]:
    """Two users with two rows each: what is said of the user, of the action, and its name."""
    marks: list[int] = []
    pairs, sizes, at, n = [(0, 1), (0, 2), (2, 1), (0, 0)][: pick(rng, 0, 2, 4)], rng.integers(0, 4, size=(2, 5)), 0, 0
    for user, *own in sizes.tolist():
        second = at + user
        for action, name in (own[:2], own[2:]):
            marks += at, at + user, second, second + action, second + action + name
            second += action + name
            some = user, action, name
            n += sum(some) + sum(some[one] * some[other] for one, other in pairs)
        at = second
    given = np.array(marks), np.array(pairs, np.int64).reshape(-1)
    return *_entries(rng, at), *given, np.empty(n, np.int64), np.empty(n), np.empty(5, np.int64)


@twin(products._cross, _parts)
def cross(
    codes: Places, values: Array, marks: Places, pairs: Places, out: Places, out_values: Array, out_starts: Places
) -> None:
    found: list[tuple[int, float]] = []
    entries = list(zip(codes.tolist(), values.tolist(), strict=True))
    out_starts[0] = 0
    for i, (first, end, second, third, last) in enumerate(marks.reshape(-1, 5).tolist()):
        parts = entries[first:end], entries[second:third], entries[third:last]
        found += [one for part in parts for one in part]
        for one, other in pairs.reshape(-1, 2).tolist():
            found += [_mixed(*both) for both in itertools.product(parts[one], parts[other])]
        out_starts[i + 1] = len(found)
    out[:], out_values[:] = [code for code, _ in found], [value for _, value in found]
