"""Rounds in compiled code: one machine code plays a round for Python, many at once, and whole runs.

A learner says how one row of features is played and learnt, in two kernels on plain arrays,

    law_one(columns, values, starts, mask, state, law)                 False where its numbers are no longer finite
    learn_one(columns, values, action, loss, probability, mask, noise, state)

of which `columns` are those that a sparse row fills, and empty if it is dense; `noise` are draws of the learner's own
generator, as many as it says (`noisy`), from [0, 1) or by a third kernel, `draw(source, noise, state)`.
`compiled_rounds` makes them into a kernel that scales contexts, plays, draws and learns, each if it is asked to. The
same source, put into another function, may sum in another order. Here it is one function whatever is asked, so that a
whole run is, bit for bit, what its rounds are one by one.

A round is one call, which nothing can interrupt: it is learnt whole or not at all, and needs no journal. This is for
vectors, sparse rows and mappings with features "raw" or "fourier", or for who needs none; everything else goes the
longer way (`loop`).
"""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import entry, kernel
from marginbandits.contexts import (
    LARGEST,
    Batch,
    Rows,
    Shape,
    Sparse,
    as_sparse,
    dense,
    refuse_bad,
    stacked,
)
from marginbandits.features import FeatureMap
from marginbandits.features.scaling import learn_filled, learn_moments, scale_filled, standardise
from marginbandits.features.usual import beside
from marginbandits.held import Held, chance, taken, uniform
from marginbandits.laws import certain, drawn
from marginbandits.learners.inputs import FAINTEST, RAREST
from marginbandits.pointed import Pointed, called
from marginbandits.settled import rules
from marginbandits.sparse_rows import INT32, is_sound_row
from marginbandits.types import Array

__all__ = ["Swift", "compiled_rounds", "swift_rounds"]

PLAY, CHOOSE, LEARN, LOOK = 1, 2, 4, 8
CHUNK = 4096
"""Rounds of a run between two looks at what else there is to do."""
WIDEST = 2**22
"""Numbers of dense contexts that are copied at once, or one context."""
_NOWHERE = np.empty(0, np.int64)
NOT_FINITE = "the model's numbers are no longer finite"
Kernels: TypeAlias = tuple[Any, ...]
Places: TypeAlias = npt.NDArray[np.int64]
Narrow: TypeAlias = npt.NDArray[np.int32]


@kernel
def _shares(source, out, state):  # type: ignore[no-untyped-def]  # of what a generator draws from, and a tuple
    """Draws from [0, 1)."""
    for i in range(out.shape[0]):
        out[i] = uniform(source)


@kernel
def _featured_dense(contexts, t, mode, learning, features):  # type: ignore[no-untyped-def]  # of arrays, and a tuple of them
    """No columns, and the features of context t, after they have learnt it or before; or that it has a bad value."""
    moments, limit, clip, columns, omega, phase, named, nowhere, rows = features
    d = moments.shape[1]
    one = contexts[t * d : t * d + d].reshape((1, d))
    strange = 0.0
    for j in range(one.shape[1]):
        strange += 0.0 if abs(one[0, j]) <= LARGEST else 1.0
    if strange > 0.0:
        return False, nowhere, rows[0]
    if learning:
        learn_moments(one, moments, limit, clip, named)
    standardise(one, moments, clip, LARGEST, named, rows)
    beside(columns, omega, phase, rows)
    return True, nowhere, rows[0]


@kernel
def _featured_sparse(contexts, t, mode, learning, features):  # type: ignore[no-untyped-def]  # of two tuples
    """Columns and features of context t; or that it is not in order, where nobody has looked before."""
    values, columns, starts = contexts
    moments, limit, clip, bias = features
    if mode & LOOK and not is_sound_row(values, columns, starts, t, moments.shape[1]):
        return False, columns, values
    first, last = starts[t], starts[t + 1]
    n = last - first + (bias >= 0)
    filled, out, ends = np.empty(n, np.int64), np.empty(n), np.empty(2, np.int64)
    if learning:
        learn_filled(values[first:last], columns[first:last], moments, limit, clip)
    scale_filled(values, columns, starts[t : t + 2], moments, clip, bias, out, filled, ends)
    return True, filled, out


@kernel
def _featured_plain(contexts, t, mode, learning, features):  # type: ignore[no-untyped-def]  # of arrays, and a tuple of them
    """No columns, and context t as it is; or that it has a bad value."""
    d, nowhere = features
    row = contexts[t * d : t * d + d]
    strange = 0.0
    for j in range(d):
        strange += 0.0 if abs(row[j]) <= LARGEST else 1.0
    return strange == 0.0, nowhere, row


@kernel
def _widened(columns: Narrow, starts: Narrow) -> tuple[bool, Places, Places]:
    """Columns of a sparse row, and where it begins and ends, in 64 bits; or that it ends where no columns are."""
    n = starts[1] if starts.shape[0] > 1 else -1
    good = 0 <= n <= columns.shape[0]
    places, ends = np.empty(n if good else 0, np.int64), np.zeros(2, np.int64)
    for k in range(places.shape[0]):
        places[k] = columns[k]
    if good:
        ends[0], ends[1] = starts[0], n
    return good, places, ends


@functools.cache
def _narrow() -> Any:
    """A kernel for a row whose places are of 32 bits: the same machine code, of the same row in 64."""

    @kernel
    def narrow(mode, n, contexts, held, outer):  # type: ignore[no-untyped-def]  # of arrays, and tuples of them
        values, columns, starts = contexts
        (rounds,) = taken(outer)
        good, places, ends = _widened(columns, starts)
        return called(rounds, (mode, n, (values, places, ends), held)) if good else 0

    return narrow


def compiled_rounds(
    dense: Kernels | None = None, sparse: Kernels | None = None, plain: Kernels | None = None
) -> tuple[Any, Any, Any]:
    """A learner's compiled rounds, of two or three kernels each: for dense rows, sparse ones, contexts as they are."""
    return (
        _rounds(_featured_dense, *dense) if dense else None,
        _rounds(_featured_sparse, *sparse) if sparse else None,
        _rounds(_featured_plain, *plain) if plain else None,
    )


def _rounds(featured: Any, law_one: Any, learn_one: Any, draw: Any = _shares) -> Any:
    """A kernel that returns how many of n rounds it did: fewer only where a context has a bad value, or a law is none.

    Contexts that are dense are one after another; so are `laws`, or there is room for one, which all use. `mask` has
    one row for all rounds, or one for each; `losses` one column, of the actions played, or one for each action. What
    is left to chance is drawn where it comes up; `count` is of the rounds learnt.
    """

    @kernel
    def rounds(mode, n, contexts, held):  # type: ignore[no-untyped-def]  # of arrays, and tuples of them
        losses, mask, count, actions, probabilities, laws, draws, own, noise, starts, features, state = taken(held)
        K = mask.shape[1]
        for half in range(2 * n):  # what is played, then what is learnt, with features of each moment
            t, learning = half // 2, half % 2 == 1
            if not mode & (LEARN if learning else PLAY):
                continue
            good, columns, values = featured(contexts, t, mode, learning, features)
            if not good:
                return t
            allowed = mask[t if mask.shape[0] > 1 else 0]
            if learning:
                action = actions[t]
                loss = losses[t, action if losses.shape[1] > 1 else 0]
                draw(own, noise, state)
                learn_one(columns, values, action, loss, max(probabilities[t], RAREST), allowed, noise, state)
                count[0] += 1
                continue
            law = laws[t * K : t * K + K] if laws.shape[0] > K else laws
            if not law_one(columns, values, starts, allowed, state, law):
                return t
            if mode & CHOOSE:
                action = certain(law)
                if action < 0:
                    action = drawn(law, uniform(draws))
                actions[t], probabilities[t] = action, law[max(action, 0)]
        return n

    return rounds


def swift_rounds(learner: Any, shape: Shape | None, features: FeatureMap | None) -> "Swift | None":
    """What plays and learns rounds of this shape in compiled code, where the learner has it and they allow."""
    made = None if features is None else features.compiled()
    kind = next((one for one in type(learner).__mro__ if "_compiled" in vars(one)), None)
    if shape is None or features is None or made is None or kind is None or shape.shared or learner.window is not None:
        return None
    rounds = vars(kind)["_compiled"][features.sparse if made else 2]
    if rounds is None or _changed(type(learner), kind) or not learner._may_hasten():
        return None
    if not made:
        made = features.n_inputs, _NOWHERE
    elif not features.sparse:
        made = *made, features.named, _NOWHERE, np.empty((1, features.n_outputs))
    return Swift(learner, rounds, features.sparse, features.n_inputs, made)


def _changed(learner: type, kind: type) -> bool:
    """Whether a class that builds on this kind of learner does anything in its own way, but how it is made.

    A parameter that it reads in its own way, as a property, is no attribute of the kind.
    """
    own = {name for one in learner.__mro__[: learner.__mro__.index(kind)] for name in vars(one)}
    known = rules(kind)
    return any((hasattr(kind, name) or name in known) and not name.startswith(("__", "_abc_")) for name in own)


class Swift:
    """Compiled `rounds` on the live arrays of a learner."""

    reads_names = False
    """Whether it is given names and values as they are read, and not columns."""

    def __init__(self, learner: Any, rounds: Any, sparse: bool, width: int, features: tuple[Any, ...]) -> None:
        K, self._width = learner.n_actions, width
        self._sparse, self._everything, self._mask = sparse, np.ones((1, K), bool), np.ones((1, K), bool)
        self._told, self._action, self.count = np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._loss = self._told[:, None]
        self._probability, self._law = np.zeros(1), np.zeros(K)
        self._arrays = np.array([0, K]), features, learner._arrays()
        self._generators = learner._draws, learner._rng  # which are held
        self._always = Held((*map(chance, self._generators), np.empty(learner.noisy), *self._arrays))
        play = self._action, self._probability, self._law
        self._one, self._plain = (self._holding(self._loss, mask, *play) for mask in (self._mask, self._everything))
        self._usual = self._plain.given  # of a round without a mask
        nothing: Any = Sparse(np.empty(0), _NOWHERE, np.zeros(2, np.int64), width) if sparse else np.zeros((1, width))
        self._rounds = entry(rounds, (PLAY, *self._given(nothing), self._plain))
        if sparse:
            small = nothing.values, nothing.columns.astype(INT32), nothing.starts.astype(INT32)
            self._outer = Held((Pointed(rounds, (PLAY, *self._given(nothing), self._plain)),))
            self._small = entry(_narrow(), (PLAY, 1, small, self._plain, self._outer))
        self.choose, self.learn = self._one_by_one()

    def _one_by_one(self) -> tuple[Callable[[Any], Any], Callable[[Any, int, float, float], bool]]:
        """What `act` and `learn` call; they have what they work on, as looking for it takes a tenth of a round."""
        rounds, usual, play, told, width = self._rounds, self._usual, self._action, self._told, self._width
        action, probability, law, probabilities = play.item, self._probability.item, self._law.copy, self._probability
        choosing, learning, sparse = PLAY | CHOOSE | LOOK, LEARN | LOOK, self._sparse
        small: Any = self._small if sparse else None
        outer = self._outer.given if sparse else 0

        def choose(context: Any) -> tuple[int, float, Array] | None:
            """An action drawn from its law, or -1 if it is none; its probability; and the law.

            Of the context nothing is known but its shape and that it is plain, or the parts of a sparse row. None if
            these are not as they mostly are.
            """
            if sparse and context[1].dtype is INT32:
                done = small(choosing, 1, context, usual, outer)
            else:
                done = rounds(choosing, 1, context, usual)
            if not done:
                _refuse_one(context, sparse, width)
                return None
            return action(), probability(), law()

        def learn(context: Any, action: int, loss: float, probability: float) -> bool:
            """One round, of a context like that of `choose`; or False where that is None."""
            play[0], probabilities[0], told[0] = action, probability, loss
            if sparse and context[1].dtype is INT32:
                done = small(learning, 1, context, usual, outer)
            else:
                done = rounds(learning, 1, context, usual)
            if not done:
                _refuse_one(context, sparse, width)
                return False
            return True

        return choose, learn

    def _holding(self, losses: Array, mask: Any, actions: Any, probabilities: Array, laws: Array) -> Held:
        return self._always.beside(losses, mask, self.count, actions, probabilities, laws)

    def _given(self, rows: Rows) -> tuple[int, Any]:
        """How many rows, and what they are to compiled code of one type: plain numbers that may be written to."""
        if isinstance(rows, np.ndarray):
            return len(rows), _plain(rows).reshape(-1)
        return len(rows), (_plain(rows.values), _plain(rows.columns), _plain(rows.starts))

    def laws(self, batch: Batch) -> Array:
        """Of all contexts, laid out like the mask."""
        if len(batch) == 1:
            self._mask[0] = batch.mask
            laws, held = self._law, self._one
        else:
            laws, mask = np.empty(len(batch.mask)), batch.mask.reshape(len(batch), -1)
            held = self._holding(self._loss, mask, self._action, self._probability, laws)
        _refuse(batch.rows, self._rounds(PLAY, *self._given(batch.rows), held.given))
        return laws.copy() if len(batch) == 1 else laws

    def learn_all(self, rounds: list[tuple[Batch, int, float, float]]) -> None:
        """All of these rounds, whose contexts have been checked."""
        if len(rounds) == 1:
            batch, self._action[0], self._told[0], self._probability[0] = rounds[0]
            self._mask[0] = batch.mask
            self._do(LEARN, batch.rows, self._one)
        elif rounds:
            rows = stacked([one[0].rows for one in rounds])
            actions, losses, probabilities = np.array([one[1:] for one in rounds]).T.copy()
            masks = np.array([one[0].mask for one in rounds])
            held = self._holding(losses[:, None], masks, actions.astype(np.int64), probabilities, self._law)
            self._do(LEARN, rows, held)

    def _do(self, mode: int, rows: Rows, held: Held) -> None:
        n, contexts = self._given(rows)
        self.count[0] = 0
        self._rounds(mode, n, contexts, held.given)
        _refuse(rows, int(self.count[0]))

    def run(
        self,
        contexts: Rows,
        losses: Array,
        actions: npt.NDArray[np.int64],
        probabilities: Array,
        laws: Array,
        progress: Callable[[], object] | None,
    ) -> None:
        """Play and learn all rounds, every loss being known; one row of `laws` is for all that need not be kept."""
        step = CHUNK if self._sparse else max(1, min(CHUNK, WIDEST // contexts.shape[1]))
        for first in range(0, len(contexts), step):
            some = slice(first, first + step)
            told = np.where(losses[some] < FAINTEST, 0.0, losses[some])
            rows = contexts[some] if isinstance(contexts, np.ndarray) else contexts.between(some)
            rows = as_sparse(rows) if self._sparse else dense(rows)
            kept = (laws[some] if len(laws) > 1 else laws).reshape(-1)
            held = self._holding(told, self._everything, actions[some], probabilities[some], kept)
            self._do(PLAY | CHOOSE | LEARN, rows, held)
            if progress is not None:
                for _ in told:
                    progress()


def _refuse_one(context: Any, sparse: bool, width: int) -> None:
    """Return if there is another way to read this context; else say what is wrong."""
    if not sparse:
        refuse_bad("context", context[None])
    elif not is_sound_row(context[0], context[1].astype(np.int64), context[2].astype(np.int64), 0, width):
        return
    raise FloatingPointError(NOT_FINITE)


def _plain(array: Any) -> Any:
    return array if array.flags.c_contiguous and array.flags.aligned else array.copy()


def _refuse(rows: Rows, done: int) -> None:
    if done < len(rows):
        if isinstance(rows, np.ndarray):
            refuse_bad("context", rows[done : done + 1])
        raise FloatingPointError(NOT_FINITE)
