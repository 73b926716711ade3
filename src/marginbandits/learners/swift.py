"""Rounds in compiled code: one machine code plays a round for Python, many at once, and whole runs.

A learner says how one row of features is played and learnt, in two kernels on plain arrays,

    law_one(columns, values, starts, mask, state, law)                 False where its numbers are no longer finite
    learn_one(columns, values, action, loss, probability, mask, noise, state)

of which `columns` are those that a sparse row fills, and empty if it is dense; `noise` is what the learner has drawn
for the round (`_noise`). `compiled_rounds` makes them into a kernel that scales contexts, plays, draws and learns, each
if it is asked to. The same source, put into another function, may sum in another order. Here it is one function
whatever is asked, so that a whole run is, bit for bit, what its rounds are one by one.

A round is one call, which nothing can interrupt: it is learnt whole or not at all, and needs no journal. This is for
vectors, sparse rows and mappings with features "raw" or "fourier"; everything else goes the longer way (`loop`).
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import entry, kernel
from marginbandits.contexts import LARGEST, Batch, Rows, Shape, Sparse, as_sparse, dense, refuse_bad, stacked
from marginbandits.features import FeatureMap
from marginbandits.features.scaling import learn_filled, learn_moments, scale_filled, standardise
from marginbandits.features.usual import beside
from marginbandits.laws import certain, drawn
from marginbandits.learners.inputs import FAINTEST, RAREST
from marginbandits.types import Array

__all__ = ["Swift", "compiled_rounds", "swift_rounds"]

PLAY, CHOOSE, LEARN = 1, 2, 4
CHUNK = 4096
"""Rounds of a run between two looks at what else there is to do."""
_NO_DRAWS, _NO_NOISE = np.empty(0), np.empty((1, 0))
_NOWHERE = np.empty(0, np.int64)
Kernels: TypeAlias = tuple[Any, Any]


@kernel
def _featured_dense(contexts, t, learning, features):  # type: ignore[no-untyped-def]  # of arrays, and a tuple of them
    """No columns, and the features of context t, after they have learnt it or before; or that it has a bad value."""
    moments, limit, clip, columns, omega, phase, named, nowhere, rows = features
    one = contexts[t : t + 1]
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
def _featured_sparse(contexts, t, learning, features):  # type: ignore[no-untyped-def]  # of two tuples
    """Columns and features of context t, whose values have been looked at when they were read."""
    values, columns, starts = contexts
    moments, limit, clip, bias = features
    first, last = starts[t], starts[t + 1]
    n = last - first + (bias >= 0)
    filled, out, ends = np.empty(n, np.int64), np.empty(n), np.empty(2, np.int64)
    if learning:
        learn_filled(values[first:last], columns[first:last], moments, limit, clip)
    scale_filled(values, columns, starts[t : t + 2], moments, clip, bias, out, filled, ends)
    return True, filled, out


def compiled_rounds(dense: Kernels | None = None, sparse: Kernels | None = None) -> tuple[Any, Any]:
    """The compiled rounds of a learner, from its two kernels for dense rows, those for sparse ones, or both."""
    return _rounds(_featured_dense, *dense) if dense else None, _rounds(_featured_sparse, *sparse) if sparse else None


def _rounds(featured: Any, law_one: Any, learn_one: Any) -> Any:
    """A kernel that returns how many of n rounds it did: fewer only where a context has a bad value, or a law is none.

    `mask` and `laws` have one row for all rounds, or one for each; `losses` one column, of the actions played, or one
    for each action. What is left to chance is drawn by the next of `draws`; `count` is of these, and of rounds learnt.
    """

    @kernel
    def rounds(  # type: ignore[no-untyped-def]  # of arrays, and tuples of them
        mode, n, contexts, losses, mask, draws, count, actions, probabilities, laws, noise, starts, features, state
    ):
        for half in range(2 * n):  # what is played, then what is learnt, with features of each moment
            t, learning = half // 2, half % 2 == 1
            if not mode & (LEARN if learning else PLAY):
                continue
            good, columns, values = featured(contexts, t, learning, features)
            if not good:
                return t
            allowed = mask[t if mask.shape[0] > 1 else 0]
            if learning:
                action, by_chance = actions[t], noise[t if noise.shape[0] > 1 else 0]
                loss = losses[t, action if losses.shape[1] > 1 else 0]
                learn_one(columns, values, action, loss, max(probabilities[t], RAREST), allowed, by_chance, state)
                count[1] += 1
                continue
            law = laws[t if laws.shape[0] > 1 else 0]
            if not law_one(columns, values, starts, allowed, state, law):
                return t
            if mode & CHOOSE:
                action = certain(law)
                if action < 0:
                    action = drawn(law, draws[count[0]])
                    count[0] += 1
                actions[t], probabilities[t] = action, law[max(action, 0)]
        return n

    return rounds


def swift_rounds(learner: Any, shape: Shape | None, features: FeatureMap | None) -> "Swift | None":
    """What plays and learns rounds of this shape in compiled code, where the learner has it and they allow."""
    made = None if features is None else features.compiled()
    kind = next((one for one in type(learner).__mro__ if "_compiled" in vars(one)), None)
    if shape is None or features is None or made is None or kind is None or shape.shared or learner.window is not None:
        return None
    rounds = vars(kind)["_compiled"][features.sparse]
    if rounds is None or _changed(type(learner), kind):
        return None
    if not features.sparse:
        made = *made, features.named, _NOWHERE, np.empty((1, features.n_outputs))
    return Swift(learner, rounds, features.sparse, features.n_inputs, made)


def _changed(learner: type, kind: type) -> bool:
    """Whether a class that builds on this kind of learner does anything in its own way, but how it is made."""
    own = {name for one in learner.__mro__[: learner.__mro__.index(kind)] for name in vars(one)}
    return any(hasattr(kind, name) and not name.startswith(("__", "_abc_")) for name in own)


class Swift:
    """Compiled `rounds` on the live arrays of a learner."""

    def __init__(self, learner: Any, rounds: Any, sparse: bool, width: int, features: tuple[Any, ...]) -> None:
        self._rng, self._draws, self._noise, self._sparse = learner._rng, learner._draws, learner._noise, sparse
        self._everything = np.ones((1, learner.n_actions), bool)
        self._played = np.zeros(1, np.int64), np.zeros(1)  # action and probability
        self._loss, self._no_law = np.zeros((1, 1)), np.empty((1, learner.n_actions))
        self.count = np.zeros(2, np.int64)  # draws, and rounds learnt, of the latest call
        self._arrays = np.array([0, learner.n_actions]), features, learner._arrays()
        noise = self._noise(0)
        self._quiet, self._no_noise = noise is None, _NO_NOISE if noise is None else np.empty((1, 0), noise.dtype)
        nothing: Any = Sparse(np.empty(0), _NOWHERE, np.zeros(2, np.int64), width) if sparse else np.zeros((1, width))
        given = self._everything, _NO_DRAWS, self.count, *self._played, self._no_law, self._no_noise, *self._arrays
        self._rounds = entry(rounds, (PLAY, *self._given(nothing), self._loss, *given))
        self._before = self._loss, self._everything, _NO_DRAWS, self.count, *self._played  # of one usual round
        self._after = self._no_noise, *self._arrays

    def _given(self, rows: Rows) -> tuple[int, Any]:
        """How many rows, and what they are to compiled code of one type: plain numbers that may be written to."""
        if isinstance(rows, np.ndarray):
            return len(rows), _plain(rows)
        return len(rows), (_plain(rows.values), _plain(rows.columns), _plain(rows.starts))

    def law(self, context: Array) -> Array:
        """Of one vector, of which nothing is known but its shape and that it is plain."""
        contexts = context[None]
        law: Array = np.empty(self._no_law.shape[1])
        if not self._rounds(PLAY, 1, contexts, *self._before, law[None], *self._after):
            _refuse(contexts, 0)
        return law

    def laws(self, batch: Batch) -> Array:
        """Of all contexts, laid out like the mask."""
        mask = batch.mask.reshape(len(batch), -1)
        laws = np.empty(mask.shape)
        given = self._loss, mask, _NO_DRAWS, self.count, *self._played, laws, self._no_noise, *self._arrays
        _refuse(batch.rows, self._rounds(PLAY, *self._given(batch.rows), *given))
        return laws.ravel()

    def learn(self, context: Array, action: int, loss: float, probability: float) -> None:
        """One round; of the context nothing is known but its shape and that it is plain."""
        contexts = context[None]
        if not self._quiet:
            self._learn_one(contexts, action, loss, probability, self._everything)
            return
        actions, probabilities = self._played
        actions[0], probabilities[0], self._loss[0, 0] = action, probability, loss
        if not self._rounds(LEARN, 1, contexts, *self._before, self._no_law, *self._after):
            _refuse(contexts, 0)

    def learn_all(self, rounds: list[tuple[Batch, int, float, float]]) -> None:
        """All of these rounds, whose contexts have been checked."""
        if len(rounds) == 1:
            batch, action, loss, probability = rounds[0]
            self._learn_one(batch.rows, action, loss, probability, batch.mask[None])
        elif rounds:
            rows = stacked([one[0].rows for one in rounds])
            actions, losses, probabilities = np.array([one[1:] for one in rounds]).T.copy()
            masks = np.array([one[0].mask for one in rounds])
            played = actions.astype(np.int64), probabilities, self._no_law
            self._noisily(LEARN, rows, losses[:, None], masks, _NO_DRAWS, self.count, *played)

    def _learn_one(self, rows: Rows, action: int, loss: float, probability: float, mask: Any) -> None:
        actions, probabilities = self._played
        actions[0], probabilities[0], self._loss[0, 0] = action, probability, loss
        self._noisily(LEARN, rows, self._loss, mask, _NO_DRAWS, self.count, actions, probabilities, self._no_law)

    def _noisily(self, mode: int, rows: Rows, *given: Any) -> None:
        """Rounds with the noise that they need; where nothing was learnt, nothing was drawn."""
        n, contexts = self._given(rows)
        self.count[:] = 0
        if self._quiet:
            self._rounds(mode, n, contexts, *given, self._no_noise, *self._arrays)
        else:
            before = self._rng.bit_generator.state
            try:
                self._rounds(mode, n, contexts, *given, self._noise(n), *self._arrays)
            finally:
                if self.count[1] < n:
                    self._rng.bit_generator.state = before
                    self._noise(int(self.count[1]))
        if self.count[1] < n:
            _refuse(rows, int(self.count[1]))

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
        bits = self._draws.bit_generator
        for first in range(0, len(contexts), CHUNK):
            some = slice(first, first + CHUNK)
            told = np.where(losses[some] < FAINTEST, 0.0, losses[some])
            rows = contexts[some].copy() if isinstance(contexts, np.ndarray) else contexts.between(some)
            rows = as_sparse(rows) if self._sparse else dense(rows)
            before, self.count[0] = bits.state, 0
            try:
                given = self._everything, self._draws.random(len(told)), self.count, actions[some], probabilities[some]
                kept = laws[some] if len(laws) > 1 else laws
                self._noisily(PLAY | CHOOSE | LEARN, rows, told, *given, kept)
            finally:
                bits.state = before
                self._draws.random(int(self.count[0]))  # as many as were used
            if progress is not None:
                for _ in told:
                    progress()


def _plain(array: Any) -> Any:
    return array if array.flags.carray else array.copy()


def _refuse(rows: Rows, done: int) -> None:
    if done < len(rows):
        if isinstance(rows, np.ndarray):
            refuse_bad("context", rows[done : done + 1])
        raise FloatingPointError("the model's numbers are no longer finite")
