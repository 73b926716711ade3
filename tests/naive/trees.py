"""Twins of extremely randomised trees."""

import numpy as np
import numpy.typing as npt

from marginbandits.oracles import extra_trees
from marginbandits.types import Array
from tests.naive.twin import Places, layout, pick, places, twin

Nodes = npt.NDArray[np.int32]
Small = npt.NDArray[np.float32]
GOLDEN, WORD = 0x9E3779B97F4A7C15, 2**64


@twin(extra_trees._next, lambda rng: (np.uint64(rng.integers(2**64, dtype=np.uint64)),), tolerance=0.0)
def after(state: int) -> int:
    z = int(state)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def _table(rng: np.random.Generator) -> tuple[Small, Small, int, int, Nodes, Small, Nodes, Small, Places]:
    """Columns that vary, that tie and that do not vary; targets whose sums are exact in single precision."""
    d, n, trees = pick(rng, 1, 3, 5), pick(rng, 1, 2, 9, 30), pick(rng, 1, 3)
    values = np.round(4 * rng.standard_normal((d, n)), pick(rng, 0, 4)).astype(np.float32)
    values[rng.integers(d)] *= pick(rng, 0.0, 1.0)
    targets = (rng.integers(0, 5, n) / 4).astype(np.float32)
    size = trees * (2 * n - 1)
    columns, children = np.zeros(size, np.int32), np.zeros(size, np.int32)
    thresholds, means = np.zeros(size, np.float32), np.zeros(size, np.float32)
    seed, roots = int(rng.integers(2**32)), np.zeros(trees, np.int64)
    return values, targets, pick(rng, 1, 2, 9), seed, columns, thresholds, children, means, roots


@twin(extra_trees._grow, _table, tolerance=1e-6)
def grow(
    values: Small,
    targets: Small,
    n_columns: int,
    seed: int,
    columns: Nodes,
    thresholds: Small,
    children: Nodes,
    means: Small,
    roots: Places,
) -> int:
    """Nodes are split as they come off the stack, the right child first; draws are those of the kernel, in order."""
    d, n = values.shape
    which, state, used = list(range(d)), int(after(seed + GOLDEN)), 0

    def draw() -> int:
        nonlocal state
        state = (state + GOLDEN) % WORD
        return int(after(state))

    for tree in range(len(roots)):
        roots[tree] = used
        stack = [(list(range(n)), used)]
        used += 1
        while stack:
            here, node = stack.pop()
            y = targets[here]
            columns[node], thresholds[node], children[node], means[node] = -1, 0.0, 0, y.mean()
            best, tried = (-1.0, -1, np.float32(0.0)), 0
            for k in range(d) if len(set(y)) > 1 else []:
                if tried == n_columns:
                    break
                other = k + draw() % (d - k)
                which[k], which[other] = which[other], which[k]
                x = values[which[k], here]
                if x.min() == x.max():
                    continue
                tried += 1
                least, most = float(x.min()), float(x.max())
                cut = np.float32(least + (draw() >> 11) / 2**53 * (most - least))
                cut = x.min() if cut >= x.max() else cut
                below = x <= cut
                sums = float(y[below].sum()), float(y[~below].sum())
                gain = sums[0] ** 2 / int(below.sum()) + sums[1] ** 2 / int((~below).sum())
                if gain > best[0]:
                    best = gain, which[k], cut
            if best[1] < 0:
                continue
            columns[node], thresholds[node], children[node] = best[1], best[2], used
            # As the kernel parts them: what is below comes first, in order; what it meets there changes places with it.
            middle = 0
            for i in range(len(here)):
                if values[best[1], here[i]] <= best[2]:
                    here[i], here[middle] = here[middle], here[i]
                    middle += 1
            stack += [(here[:middle], used), (here[middle:], used + 1)]
            used += 2
    return used


Walked = tuple[Small, bool, Places, Nodes, Small, Nodes, Small, Places, Array]


def _walks(rng: np.random.Generator) -> Walked:
    shared, d = pick(rng, True, False), pick(rng, 1, 3)
    starts, mask = layout(rng, shared)
    forests: list[extra_trees.Forest | None] = []
    for _ in range(1 if shared else 4):
        rows, targets = rng.standard_normal((9, d)).astype(np.float32), rng.random(9).astype(np.float32)
        grown = extra_trees.grow(rows, targets, n_trees=3, n_columns=2, seed=int(rng.integers(1000)))
        forests.append(grown if rng.random() < 0.7 else None)
    rows = rng.standard_normal((len(mask) if shared else len(starts) - 1, d)).astype(np.float32)
    return rows, shared, starts, *extra_trees.joined(forests), np.empty(len(mask))


@twin(extra_trees.walk, _walks, tolerance=1e-6)
def walk(
    rows: Small,
    shared: bool,
    starts: Places,
    columns: Nodes,
    thresholds: Small,
    children: Nodes,
    means: Small,
    roots: Places,
    out: Array,
) -> None:
    for i, place, block in places(starts, shared):
        found, row = [], rows[place if shared else i]
        for node in roots[block]:
            while node >= 0 and columns[node] >= 0:
                node = children[node] + int(row[columns[node]] > thresholds[node])
            found.append(0.5 if node < 0 else means[node])
        out[place] = np.mean(found)
