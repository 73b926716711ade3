"""What travels: n contexts as one batch, with their layout said and never guessed.

    per action   one row a context; every action has weights of its own        vectors
    shared       a row for each action, as many as the round has; one weight vector for all       matrices

Row i of a per-action batch is context i, for all of its actions. In a shared batch context i has the rows from
`starts[i]` to `starts[i + 1]`, one for each action. Laws are laid out like `mask`: what concerns action a of context i
stands at `starts[i] + a`, in either layout. Rows are a dense array, or `Sparse`. One context is a batch of one.

>>> import numpy as np
>>> batch = per_action(np.array([[0.5, 2.0]]), n_actions=3)
>>> len(batch), batch.shared, batch.mask
(1, False, array([ True,  True,  True]))
>>> two = shared([np.eye(2), np.eye(3)[:, :2]])
>>> len(two), two.starts, two.rows.shape
(2, array([0, 2, 5]), (5, 2))
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from marginbandits.arrays import Numbers
from marginbandits.compiled import kernel
from marginbandits.sparse_rows import CODES, FLOAT64, LARGEST, Places, Sparse, from_scipy, usual_rows
from marginbandits.types import Array, Mask
from marginbandits.validation import quoted

__all__ = [
    "CODES",
    "FLOAT64",
    "LARGEST",
    "Batch",
    "Rows",
    "Shape",
    "Sparse",
    "as_sparse",
    "dense",
    "filled",
    "per_action",
    "read_many",
    "read_numbers",
    "read_one",
    "refuse_bad",
    "refuse_width",
    "several",
    "shared",
    "stacked",
    "usual_rows",
    "usual_vectors",
]

_ARRAY = np.ndarray
_NUMBERS = Numbers(finite=False, empty=True, booleans=True)


Rows: TypeAlias = Array | Sparse


@dataclass(frozen=True, slots=True)
class Shape:
    """What stays the same from the first context learnt on: layout, width, and whether rows are kept sparse.

    Where contexts have names and values, each of these is given a column when it comes.
    """

    shared: bool
    width: int
    sparse: bool = False
    named: bool = False

    def __str__(self) -> str:
        if self.width == CODES:
            return "mappings, one for each action" if self.shared else "a mapping"
        return f"{'rows' if self.shared else 'a vector'} of {self.width} features"


@dataclass(slots=True, eq=False)
class Batch:
    """n contexts: rows, their layout, where the actions of each begin, and which of them may be played."""

    rows: Rows
    shared: bool
    starts: Places
    mask: Mask

    def __len__(self) -> int:
        return len(self.starts) - 1

    def one(self, i: int) -> "Batch":
        """Context i as a batch of its own."""
        start, end = int(self.starts[i]), int(self.starts[i + 1])
        return Batch(self.rows_of(i), self.shared, np.array([0, end - start]), self.mask[start:end])

    def rows_of(self, i: int) -> Rows:
        """The rows of context i alone."""
        first, last = (int(self.starts[i]), int(self.starts[i + 1])) if self.shared else (i, i + 1)
        return self.rows[first:last] if isinstance(self.rows, np.ndarray) else self.rows.take(np.arange(first, last))

    def row(self, action: int) -> int:
        """The row of an action, in a batch of one."""
        return action if self.shared else 0

    def block(self, action: int) -> int:
        """The block of weights of an action."""
        return 0 if self.shared else action


def dense(rows: Rows) -> Array:
    """Rows with every column."""
    return rows if isinstance(rows, np.ndarray) else rows.dense()


def filled(rows: Rows) -> tuple[slice | Places, Array]:
    """The columns that any row fills, ascending, and the rows in these alone; of dense rows all of them.

    >>> filled(as_sparse(np.array([[0.0, 7.0, 0.0, 0.0], [0.0, 8.0, 0.0, 9.0]])))
    (array([1, 3]), array([[7., 0.],
           [8., 9.]]))
    """
    if isinstance(rows, np.ndarray):
        return slice(None), rows
    if len(rows) == 1:
        return rows.columns, rows.values[None]
    columns, places = np.unique(rows.columns, return_inverse=True)
    return columns, Sparse(rows.values, places, rows.starts, len(columns)).dense()


def per_action(rows: Rows, n_actions: int, mask: Mask | None = None) -> Batch:
    """N rows as n contexts of K actions each; `mask` has n x K entries."""
    n = len(rows)
    everything = np.ones(n * n_actions, bool) if mask is None else mask.ravel()
    return Batch(rows, False, np.arange(n + 1) * n_actions, everything)


def shared(contexts: Sequence[Rows]) -> Batch:
    """Contexts with a row for each action; each may have its own number of them."""
    if len(contexts) == 1:
        n = len(contexts[0])
        return Batch(contexts[0], True, np.array([0, n]), np.ones(n, bool))
    starts = np.concatenate([[0], np.cumsum([len(one) for one in contexts])])
    return Batch(stacked(contexts), True, starts, np.ones(int(starts[-1]), bool))


# What users hand in.


def refuse_bad(name: str, rows: Array) -> None:
    """Raise a ValueError that shows the first value which is not finite, within ±1e100."""
    where = _first_bad(rows.reshape(-1, rows.shape[-1]), LARGEST) if rows.size else -1
    if where >= 0:
        row, column = divmod(where, rows.shape[-1])
        place = f"row {row}, column {column}" if rows.size > rows.shape[-1] else f"position {column}"
        raise ValueError(f"{name} has {rows.ravel()[where]} at {place}; it must be finite, within ±1e100")


def read_one(context: Any, shape: Shape | None) -> tuple[Rows, bool]:
    """A vector, a matrix of one row per action, or a SciPy sparse one of either, as checked rows and their layout.

    One row of a SciPy matrix is a vector, unless the contexts before it (`shape`) had a row for each action.
    """
    if type(context) is np.ndarray and context.dtype is FLOAT64:
        x: Array = context
    elif scipy.sparse.issparse(context):
        rows_of_actions = context.ndim == 2 and (context.shape[0] > 1 or (shape is not None and shape.shared))
        together = bool(rows_of_actions)
        return refuse_width(from_scipy(context), together, shape), together
    else:
        x = read_numbers("context", context)
    if x.ndim not in (1, 2) or x.size == 0:
        hint = ": give an image as a vector, image.ravel(), or say Networks(image=shape)" * (x.ndim > 2)
        raise ValueError(f"context must be a vector or a matrix of one row per action, got shape {x.shape}{hint}")
    together = x.ndim == 2
    if not x.flags.c_contiguous:
        x = x.copy()
    rows = x if together else x[None]
    refuse_bad("context", rows)
    return refuse_width(rows, together, shape), together


def read_many(contexts: Any, shape: Shape | None) -> tuple[list[Rows], Rows | None, bool]:
    """N x d or n x K x d numbers, n sparse rows, or any sequence of contexts, each as `read_one` takes it.

    Returns the contexts one by one, or (where each is one row) all rows at once; and the layout.
    """
    if scipy.sparse.issparse(contexts):
        if contexts.ndim != 2:
            raise ValueError(f"contexts must be n sparse rows, got shape {contexts.shape}")
        return [], refuse_width(from_scipy(contexts), False, shape), False
    # An array, or a frame, whose columns are no contexts; or else a sequence of contexts.
    contexts = (read_numbers if hasattr(contexts, "__array__") else several)("contexts", contexts)
    uniform = isinstance(contexts, np.ndarray) or len({_outline(one) for one in contexts}) == 1
    if uniform and not (isinstance(contexts, list) and any(map(scipy.sparse.issparse, contexts))):
        batch = np.ascontiguousarray(read_numbers("contexts", contexts))
        if batch.ndim not in (2, 3) or (batch.size == 0 and len(batch) > 0):
            raise ValueError(f"contexts must be n x d, or n x K x d, got shape {batch.shape}")
        refuse_bad("contexts", batch.reshape(-1, max(batch.shape[-1], 1)))
        together = batch.ndim == 3
        if len(batch):
            refuse_width(batch.reshape(-1, batch.shape[-1]), together, shape)
        return (list(batch), None, True) if together else ([], batch, False)
    read = [read_one(one, shape) for one in contexts]
    layouts = {together for _, together in read}
    widths = {rows.shape[1] for rows, _ in read}
    if len(layouts) > 1 or len(widths) > 1:
        raise ValueError(f"contexts must all be vectors, or all matrices, of one width, got widths {sorted(widths)}")
    together = layouts.pop() if layouts else False
    if together:
        return [rows for rows, _ in read], None, True
    if not read:
        return [], np.empty((0, 1 if shape is None else shape.width)), False
    return [], stacked([rows for rows, _ in read]), False


def refuse_width(rows: Rows, together: bool, shape: Shape | None) -> Rows:
    """The rows, if they are laid out, named and as wide as those before them."""
    if shape is not None and (shape.shared != together or shape.width != rows.shape[1]):
        hint = ": give actions= as before" * (shape.shared and shape.width == CODES == rows.shape[1])
        raise ValueError(f"context must be {shape} as before, got {Shape(together, rows.shape[1])}{hint}")
    if isinstance(rows, Sparse) and (rows.width == 0 or len(rows) == 0):
        raise ValueError(f"context must be a vector or a matrix of one row per action, got shape {rows.shape}")
    return rows


def _outline(context: Any, depth: int = 3) -> tuple[int, ...]:
    """The lengths of nested sequences, as far as needed to tell ragged contexts from even ones."""
    if hasattr(context, "shape"):
        return tuple(context.shape)
    if not isinstance(context, list | tuple) or depth == 0:
        return ()
    return (len(context), *(_outline(context[0], depth - 1) if context else ()))


def several(name: str, values: Any, n: int | None = None) -> list[Any]:
    """What a sequence holds; where n are expected, an iterator's first n, and one more that shows it is not n."""
    unordered = isinstance(values, str | bytes | dict | set | frozenset) or scipy.sparse.issparse(values)
    if unordered or (n is None and not hasattr(values, "__len__")):
        raise ValueError(f"{name} must be a sequence, got {quoted(values)}")
    try:
        return list(values if n is None else itertools.islice(values, n + 1))
    except Exception as error:  # whatever a stranger's sequence raises
        raise ValueError(f"{name} must be a sequence, got {quoted(values)}") from error


def read_numbers(name: str, values: Any) -> Array:
    """Anything array-like as float64; what only looks like numbers (dates, text, objects, gaps) is refused."""
    try:
        return np.asarray(_NUMBERS.clean(values))
    except ValueError:
        raise ValueError(f"{name} must be numbers, got {quoted(values)}") from None


def usual_vectors(shape: tuple[int] | None) -> Callable[[Any], Array | None]:
    """What says whether a context is what most are: an array of this shape, of numbers that compiled code will look at.

    >>> usual_vectors((2,))(np.ones(2)), usual_vectors((2,))([1.0, 1.0])
    (array([1., 1.]), None)
    """

    def usual(context: Any) -> Array | None:
        if type(context) is _ARRAY and context.dtype is FLOAT64 and context.shape == shape and context.flags.carray:
            return context
        return None

    return usual


def as_sparse(rows: Rows) -> Sparse:
    """The same rows, with what is not zero named."""
    return rows if isinstance(rows, Sparse) else from_scipy(scipy.sparse.csr_array(rows))


def stacked(contexts: Sequence[Rows]) -> Rows:
    """All rows one below the other; sparse if any of them are."""
    every = [one for one in contexts if isinstance(one, np.ndarray)]
    if len(every) == len(contexts):
        return np.concatenate(every)
    parts = [as_sparse(one) for one in contexts]
    lengths = np.concatenate([np.diff(one.starts) for one in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    values, columns = (np.concatenate([getattr(one, name) for one in parts]) for name in ("values", "columns"))
    return Sparse(values, columns, starts, parts[0].width)


@kernel
def _first_bad(rows: Array, largest: float) -> int:
    """Flat position of the first value that is not within ±largest (NaN is not), or -1."""
    n, d = rows.shape
    for i in range(n):
        for j in range(d):
            if not abs(rows[i, j]) <= largest:
                return int(i * d + j)
    return -1
