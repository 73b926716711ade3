"""Rounds in compiled code: one machine code plays a round for Python, many at once, and whole runs.

A learner says how one row of features is played and learnt, in two kernels on plain arrays,

    law_one(rows, starts, mask, state, law)                            False where its numbers are no longer finite
    learn_one(rows, action, loss, probability, mask, noise, state)

`rows` being the one row and `noise` what the learner has drawn for the round (`_noise`). `compiled_rounds` makes them
into a kernel that scales contexts, plays, draws and learns, each if it is asked to. The same source, put into another
function, may sum in another order. Here it is one function whatever is asked, so that a whole run is, bit for bit, what
its rounds are one by one.

A round is one call, which nothing can interrupt: it is learnt whole or not at all, and needs no journal. This is for
dense vectors with features "raw" or "fourier"; everything else goes the longer way (`loop`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import entry, kernel
from marginbandits.contexts import LARGEST, Batch, Shape, refuse_bad
from marginbandits.features import FeatureMap
from marginbandits.features.scaling import learn_moments, standardise
from marginbandits.features.usual import beside
from marginbandits.laws import certain, drawn
from marginbandits.learners.inputs import FAINTEST, RAREST
from marginbandits.types import Array

__all__ = ["Swift", "compiled_rounds", "swift_rounds"]

PLAY, CHOOSE, LEARN = 1, 2, 4
CHUNK = 4096
"""Rounds of a run between two looks at what else there is to do."""
_HOLES = "_law", "_laws", "_update", "_learn", "_admitted", "_recipe", "_ready"
_NO_DRAWS, _NO_COUNT, _NO_NOISE = np.empty(0), np.zeros(1, np.int64), np.empty((1, 0))


def compiled_rounds(law_one: Any, learn_one: Any) -> Any:
    """The compiled rounds of a learner, from its two kernels.

    They return how many rounds they did: fewer than there are contexts only if one has a value that is not within
    ±1e100, or its law is none. `mask` and `laws` have one row for all rounds, or one for each; `losses` one column, of
    the actions played, or one for each action. What is left to chance is drawn by the next of `draws`, which `used`
    counts.
    """

    @kernel
    def rounds(  # type: ignore[no-untyped-def]  # of arrays, and two tuples of them
        mode, contexts, losses, mask, draws, used, actions, probabilities, laws, noise, features, state
    ):
        moments, limit, clip, columns, omega, phase, starts, rows = features
        for half in range(2 * contexts.shape[0]):  # what is played, then what is learnt, with features of each moment
            t, learning = half // 2, half % 2 == 1
            if not mode & (LEARN if learning else PLAY):
                continue
            one, allowed = contexts[t : t + 1], mask[t if mask.shape[0] > 1 else 0]
            for j in range(one.shape[1]):
                if not abs(one[0, j]) <= LARGEST:
                    return t
            if learning:
                learn_moments(one, moments, limit, clip, False)
            standardise(one, moments, clip, LARGEST, False, rows)
            beside(columns, omega, phase, rows)
            if learning:
                action, by_chance = actions[t], noise[t if noise.shape[0] > 1 else 0]
                loss = losses[t, action if losses.shape[1] > 1 else 0]
                learn_one(rows, action, loss, max(probabilities[t], RAREST), allowed, by_chance, state)
                continue
            law = laws[t if laws.shape[0] > 1 else 0]
            if not law_one(rows, starts, allowed, state, law):
                return t
            if mode & CHOOSE:
                action = certain(law)
                if action < 0:
                    action = drawn(law, draws[used[0]])
                    used[0] += 1
                actions[t], probabilities[t] = action, law[max(action, 0)]
        return contexts.shape[0]

    return rounds


def swift_rounds(learner: Any, shape: Shape | None, features: FeatureMap | None) -> "Swift | None":
    """What plays and learns rounds of this shape in compiled code, where the learner has it and they allow."""
    made = None if features is None else features.compiled()
    if shape is None or features is None or made is None:
        return None
    kind = next((one for one in type(learner).__mro__ if "_compiled" in vars(one)), None)
    if kind is None or learner.window is not None:
        return None
    changed = type(learner).__mro__[: type(learner).__mro__.index(kind)]  # by who builds on it
    if shape.shared or shape.sparse or shape.named or any(hole in vars(one) for one in changed for hole in _HOLES):
        return None
    starts, rows = np.array([0, learner.n_actions]), np.empty((1, features.n_outputs))
    return Swift(learner, kind, (*made, starts, rows))


class Swift:
    """The compiled rounds of a `kind` of learner, on its live arrays."""

    def __init__(self, learner: Any, kind: Any, features: tuple[Any, ...]) -> None:
        self._rng, self._draws, self._noise = learner._rng, learner._draws, learner._noise
        self._everything = np.ones((1, learner.n_actions), bool)
        self._played = np.zeros(1, np.int64), np.zeros(1)  # action and probability
        self._loss, self._no_law = np.zeros((1, 1)), np.empty((1, learner.n_actions))
        self._arrays = features, learner._arrays()
        noise = self._noise(0)
        self._quiet, self._no_noise = noise is None, _NO_NOISE if noise is None else np.empty((1, 0), noise.dtype)
        contexts = np.zeros((1, features[0].shape[1]))
        given = self._everything, _NO_DRAWS, _NO_COUNT, *self._played, self._no_law, self._no_noise, *self._arrays
        self._rounds = entry(kind._compiled, (PLAY, contexts, self._loss, *given))

    def law(self, context: Array) -> Array:
        """Of one vector, of which nothing is known but its shape and that it is plain."""
        contexts = context[None]
        law: Array = np.empty(self._no_law.shape[1])
        given = self._loss, self._everything, _NO_DRAWS, _NO_COUNT, *self._played, law[None], self._no_noise
        if not self._rounds(PLAY, contexts, *given, *self._arrays):
            _refuse(contexts, 0)
        return law

    def laws(self, batch: Batch) -> Array:
        """Of all contexts, laid out like the mask."""
        contexts = _plain(batch.rows)
        mask = batch.mask.reshape(len(contexts), -1)
        laws = np.empty(mask.shape)
        given = self._loss, mask, _NO_DRAWS, _NO_COUNT, *self._played, laws, self._no_noise, *self._arrays
        _refuse(contexts, self._rounds(PLAY, contexts, *given))
        return laws.ravel()

    def learn(self, context: Array, action: int, loss: float, probability: float) -> None:
        """One round; of the context nothing is known but its shape and that it is plain."""
        actions, probabilities = self._played
        actions[0], probabilities[0], self._loss[0, 0] = action, probability, loss
        contexts, given = context[None], (self._everything, _NO_DRAWS, _NO_COUNT, actions, probabilities, self._no_law)
        if self._quiet:
            if not self._rounds(LEARN, contexts, self._loss, *given, self._no_noise, *self._arrays):
                _refuse(contexts, 0)
        else:
            self._noisily(LEARN, contexts, self._loss, *given)

    def learn_all(self, rounds: list[tuple[Batch, int, float, float]]) -> None:
        """All of these rounds, whose contexts have been checked."""
        if not rounds:
            return
        contexts = _plain(np.concatenate([one[0].rows for one in rounds]))
        actions, losses, probabilities = np.array([one[1:] for one in rounds]).T.copy()
        masks = np.array([one[0].mask for one in rounds])
        played = actions.astype(np.int64), probabilities, self._no_law
        self._noisily(LEARN, contexts, losses[:, None], masks, _NO_DRAWS, _NO_COUNT, *played)

    def _noisily(self, mode: int, contexts: Array, *given: Any) -> None:
        """Rounds with the noise that they need; where nothing was learnt, nothing was drawn."""
        if self._quiet:
            _refuse(contexts, self._rounds(mode, contexts, *given, self._no_noise, *self._arrays))
            return
        before, done = self._rng.bit_generator.state, 0
        try:
            done = self._rounds(mode, contexts, *given, self._noise(len(contexts)), *self._arrays)
        finally:
            if done < len(contexts):
                self._rng.bit_generator.state = before
                self._noise(done)
        _refuse(contexts, done)

    def run(
        self,
        contexts: Array,
        losses: Array,
        actions: npt.NDArray[np.int64],
        probabilities: Array,
        laws: Array,
        progress: Callable[[], object] | None,
    ) -> None:
        """Play and learn all rounds, every loss being known; one row of `laws` is for all that need not be kept."""
        used, bits = np.zeros(1, np.int64), self._draws.bit_generator
        for first in range(0, len(contexts), CHUNK):
            some = slice(first, first + CHUNK)
            rows, told = contexts[some].copy(), np.where(losses[some] < FAINTEST, 0.0, losses[some])
            before, used[0] = bits.state, 0
            try:
                given = self._everything, self._draws.random(len(rows)), used, actions[some], probabilities[some]
                kept = laws[some] if len(laws) > 1 else laws
                self._noisily(PLAY | CHOOSE | LEARN, rows, told, *given, kept)
            finally:
                bits.state = before
                self._draws.random(int(used[0]))  # as many as were used
            if progress is not None:
                for _ in rows:
                    progress()


def _plain(rows: Any) -> Array:
    """Rows that compiled code of one type takes: nothing but numbers that may be written to, one after another."""
    plain: Array = rows if rows.flags.carray else rows.copy()
    return plain


def _refuse(contexts: Array, done: int) -> None:
    if done < len(contexts):
        refuse_bad("context", contexts[done : done + 1])
        raise FloatingPointError("the model's numbers are no longer finite")
