"""What every learner shares: checked input, laws, one draw, rounds that are learnt whole or not at all, saving.

A learner fills three holes.

    _begin(shape, n_features)                allocate what will be learnt; returns it by name, as one record
    _law(one)                                the law to play for a batch of one; or `_laws(batch)` for many at once
    _update(one, action, loss, probability)  learn from one interaction

The rows of a batch are features. A vector context has one row, and every action weights of its own; a K x d context has
a row for each action, and one weight vector serves all: `shape.shared` says which. Layout and width are fixed by the
first context learnt from; until then every action is as likely as any other. In the shared layout each round may have
its own number of rows, and rows of unavailable actions never reach a learner.

Input is checked before anything changes. What a round changes is put into the journal first: by the base for small
learners, which keeps everything; by the learner itself where `journals` is True. Whatever happens inside `learn`, the
learner is then as before, or has learnt the round whole. One lock makes it safe to share between threads.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, SupportsFloat

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.contexts import (
    CODES,
    FLOAT64,
    Batch,
    Rows,
    Shape,
    Sparse,
    as_sparse,
    dense,
    per_action,
    several,
    shared,
)
from marginbandits.features import FeatureMap, Given, Table, feature_map
from marginbandits.learners.early import Early, Round
from marginbandits.learners.inputs import each, is_one_mask, read_decision, read_loss, read_mask, read_masks
from marginbandits.learners.reading import Reader
from marginbandits.learners.stored import Stored
from marginbandits.state import Field, Journal, Record, State, TooLargeError, room, zeros
from marginbandits.types import Array, Context, Decision, Mask
from marginbandits.validation import remembered

__all__ = ["Learner"]

Parts = Mapping[str, Record | Field]


class Learner(Stored, ABC):
    """The loop context → law → action → loss → update. Subclasses choose what fills the boxes."""

    exempt: ClassVar[Mapping[str, str]] = {}
    """Contract checks that do not apply, each with the reason."""

    competes: ClassVar[bool] = True
    """Whether a bake-off of all learners includes it: not one that must be told a horizon or a class of regressors."""

    journals: ClassVar[bool] = False
    """Whether `_update` puts what it changes into `self._journal` itself."""

    takes_names: ClassVar[bool] = True
    """Whether contexts may be mappings of names and values."""

    needs_every_row: ClassVar[bool] = False
    """Whether a K x d context must have K rows; then those of unavailable actions are the mean of the others."""

    EARLY: ClassVar[int] = 0
    """How many first rounds are learnt anew (see `early`): then it fills `_anew`, and names EARLY among `constants`."""

    def __init__(self, n_actions: int, *, features: Given, seed: int | np.random.Generator | None) -> None:
        self.n_actions = n_actions
        self.features = features
        self._reader = Reader(features, "" if self.takes_names else type(self).__name__)
        self.seed: int | np.random.Generator | None = remembered(seed)
        entropy = np.random.default_rng(self.seed).integers(2**63, size=4).tolist()
        own = np.random.SeedSequence(entropy).spawn(2)
        self._draws, self._rng = (np.random.Generator(np.random.PCG64(one)) for one in own)
        zeros((4, n_actions))  # refused now, where a law, and what it is made of, would be too large
        self._everything = np.ones(n_actions, bool)
        self._everyone = np.array([0, n_actions])
        self._usual = Batch(np.empty((0, 0)), False, self._everyone, self._everything)  # what most rounds are
        self._lock = threading.RLock()
        self._journal = Journal()
        self._shape: Shape | None = None
        self._vector: tuple[int] | None = None  # the shape of vectors that features alone check, where there are any
        self._names: Table | None = None
        self._map: FeatureMap | None = None
        self._state: State | None = None
        self._early: Early | None = None
        self._taken = 0  # bytes, by what has been started

    # The holes.

    @abstractmethod
    def _begin(self, shape: Shape, n_features: int) -> Parts: ...

    def _law(self, one: Batch) -> Array:
        """The law of a batch of one, laid out like its mask."""
        raise NotImplementedError("a learner fills `_law` or `_laws`")

    def _laws(self, batch: Batch) -> Array:
        """The laws of a batch of features, laid out like its mask."""
        if len(batch) == 1:
            return self._law(batch)
        return np.concatenate([self._law(batch.one(i)) for i in range(len(batch))])

    @abstractmethod
    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None: ...

    def _recipe(self, sparse: bool) -> FeatureMap:
        return feature_map(self.features, sparse=sparse)

    def _observed(self, rows: Rows) -> Rows:
        """The features of rows to learn from, which may change the scales of all features."""
        assert self._map is not None
        return self._map.observe(rows)

    def _anew(self, rounds: Iterable[Round], *newest: Any) -> None:
        """Begin again, and learn all these rounds, of which `newest` is the last, in the scales of today."""
        raise NotImplementedError("a learner with EARLY rounds fills `_anew`")

    # What users call.

    def law(self, context: Context, *, available: npt.ArrayLike | None = None) -> Array:
        """The distribution `act` would draw from, one probability for each action; nothing is drawn or changed."""
        with self._lock:
            return self._law_of(*self._read(context, available))

    def laws(self, contexts: Any, *, available: Any = None) -> Array | list[Array]:
        """`law` for each context: n x K, or a list where contexts have different numbers of rows."""
        with self._lock:
            flat, starts = self._laws_of(contexts, available)
        sizes = np.diff(starts)
        if len(sizes) == 0 or (sizes == sizes[0]).all():
            return flat.reshape(len(sizes), sizes[0] if len(sizes) else self.n_actions)
        return np.split(flat, starts[1:-1])

    def act(self, context: Context, *, available: npt.ArrayLike | None = None) -> Decision:
        """Draw an action from the law of this context; nothing that has been learnt changes.

        `available` is a mask of the actions: the others are not played. The decision carries the exact probability.
        """
        with self._lock:
            law = self._law_of(*self._read(context, available))
            action = laws.certain(law)
            if action < 0:  # a certain action needs no draw
                action = laws.drawn(law, self._draws.random())
            if action < 0:
                raise FloatingPointError("the model's numbers are no longer finite")
        return self._decided(action, law.item(action), law)

    def act_many(self, contexts: Any, *, available: Any = None) -> list[Decision]:
        """`act` for each context in turn; `available` is one mask for all, or one for each context."""
        with self._lock:
            flat, starts = self._laws_of(contexts, available)
            actions = np.empty(len(starts) - 1, np.int64)
            laws.drawn_each(flat, starts, self._draws.random(laws.uncertain(flat, starts)), actions)
            if (actions < 0).any():
                raise FloatingPointError("the model's numbers are no longer finite")
        played = flat[starts[:-1] + actions].tolist()
        sizes = np.diff(starts)
        even = len(sizes) > 0 and (sizes == sizes[0]).all()
        apart = list(flat.reshape(len(sizes), -1)) if even else np.split(flat, starts[1:-1])
        return list(map(self._decided, actions.tolist(), played, apart))

    def learn(
        self,
        context: Context,
        decision: Decision,
        loss: SupportsFloat | None = None,
        *,
        reward: SupportsFloat | None = None,
        available: npt.ArrayLike | None = None,
    ) -> None:
        """Learn the loss (or reward = 1 - loss) of a decision: at once, later, out of order, or from a log.

        `available` is the mask that `act` was given. Whatever goes wrong, the learner is as it was.
        """
        with self._lock:
            batch, mask = self._read(context, available)
            cost = read_loss(loss, reward)
            action, probability = self._read_decision(decision, batch, mask)
            self._ready(1)
            self._whole([(batch, action, cost, probability)])

    def learn_many(
        self,
        contexts: Any,
        decisions: Iterable[Decision],
        losses: Iterable[SupportsFloat] | None = None,
        *,
        rewards: Iterable[SupportsFloat] | None = None,
        available: Any = None,
    ) -> None:
        """`learn` for each interaction in turn; if any is refused or fails, none is learnt."""
        with self._lock:
            read = self._read_each(contexts, available)
            given = several("decisions", decisions, len(read))
            if losses is not None and rewards is not None:
                raise ValueError("give either losses or rewards, not both")
            if losses is not None:
                costs = each("losses", several("losses", losses, len(read)), lambda loss: read_loss(loss, None))
            elif rewards is not None:
                costs = each("rewards", several("rewards", rewards, len(read)), lambda one: read_loss(None, one))
            else:
                raise ValueError("give either losses or rewards, one for each context")
            if not len(read) == len(given) == len(costs):
                raise ValueError(f"{len(read)} contexts, {len(given)} decisions and {len(costs)} losses do not match")
            played = each("decisions", zip(given, read, strict=True), lambda one: self._read_decision(one[0], *one[1]))
            self._ready(len(read))
            together = zip(read, played, costs, strict=True)
            self._whole([(batch, action, cost, probability) for (batch, _), (action, probability), cost in together])

    # Input.

    def _read(self, context: Any, available: Any) -> tuple[Batch, Mask | None]:
        """One context as a batch of one; the mask that its law is to be spread over, where rows were left out."""
        if (  # most rounds of most runs
            available is None
            and type(context) is np.ndarray
            and context.shape == self._vector
            and context.dtype is FLOAT64
            and context.flags.c_contiguous
        ):
            self._usual.rows = context[None]
            return self._usual, None
        rows, together = self._reader.one(context, self._shape)
        return self._one(rows, together, available)

    def _one(self, rows: Rows, together: bool, available: Any) -> tuple[Batch, Mask | None]:
        rows = self._admitted(rows, together)
        if not together:
            whole = self._everything if available is None else read_mask(available, self.n_actions)
            return Batch(rows, False, self._everyone, whole), None
        mask = None if available is None else read_mask(available, len(rows))
        if mask is None or mask.all():
            return shared([rows]), None
        if self.needs_every_row:
            filled = dense(rows).copy()
            filled[~mask] = filled[mask].mean(0)
            return Batch(filled, True, np.array([0, len(mask)]), mask), None
        kept = rows[mask] if isinstance(rows, np.ndarray) else rows.take(np.flatnonzero(mask))
        return shared([kept]), mask

    def _read_each(self, contexts: Any, available: Any) -> list[tuple[Batch, Mask | None]]:
        found, rows, together = self._reader.many(contexts, self._shape)
        if rows is not None:
            found = list(map(per_action(rows, 1).rows_of, range(len(rows))))
        masks = read_masks(available, len(found))
        return each("contexts", zip(found, masks, strict=True), lambda one: self._one(one[0], together, one[1]))

    def _admitted(self, rows: Rows, together: bool) -> Rows:
        """Rows as this learner takes them; a learner on a ball, or in a space, fills this to refuse others."""
        if together and self.needs_every_row and len(rows) != self.n_actions:
            raise ValueError(f"context must have a row for each of {self.n_actions} actions, got {len(rows)}")
        if isinstance(rows, Sparse):
            sparse = self.takes_sparse and (self._shape is None or self._shape.sparse)
            return rows if sparse or rows.width == CODES else rows.dense()
        if self._shape is not None and self._shape.sparse:
            return as_sparse(rows)
        return rows

    def _read_decision(self, decision: Decision, batch: Batch, mask: Mask | None) -> tuple[int, float]:
        allowed = batch.mask if mask is None else mask
        action, probability = read_decision(decision, len(allowed))
        if allowed is self._everything:
            return action, probability
        if not allowed[action]:
            raise ValueError(f"action must be available, got {action}")
        return (action if mask is None else int(mask[:action].sum())), probability

    def _ready(self, n: int) -> None:
        """Refuse to learn `n` more interactions, before anything changes; a learner with a horizon fills this."""

    # The loop.

    def _law_of(self, batch: Batch, mask: Mask | None) -> Array:
        if self._map is None:
            law = laws.uniform(batch)
        else:
            if self._names is not None:
                batch.rows = self._names._transform(batch.rows)
            batch.rows = self._map.transform(batch.rows)
            law = self._laws(batch)
        if mask is None:
            return law
        spread = np.zeros(len(mask))
        spread[mask] = law
        return spread

    def _laws_of(self, contexts: Any, available: Any) -> tuple[Array, npt.NDArray[np.int64]]:
        """All laws in one array, and where each begins; in one go where no rows are to be left out."""
        several_rows, rows, together = self._reader.many(contexts, self._shape)
        plain = available is None or (rows is not None and is_one_mask(available))
        if plain and (several_rows if rows is None else len(rows)):
            if rows is not None:
                mask = None if available is None else np.tile(read_mask(available, self.n_actions), len(rows))
                batch = per_action(self._admitted(rows, False), self.n_actions, mask)
            else:
                batch = shared([self._admitted(one, together) for one in several_rows])
            return self._law_of(batch, None), batch.starts
        found = [self._law_of(batch, mask) for batch, mask in self._read_each(contexts, available)]
        starts = np.concatenate([[0], np.cumsum([len(law) for law in found])]).astype(np.int64)
        return np.concatenate([np.empty(0), *found]), starts

    def _decided(self, action: int, probability: float, law: Array) -> Decision:
        return Decision(action, probability, law)

    def _whole(self, rounds: list[tuple[Batch, int, float, float]], *, several: bool = False) -> None:
        """Learn all of these rounds or none; `several` says that one of them is more than one to its records."""
        journal = self._journal
        journal.begin()
        try:
            try:
                if (several or len(rounds) > 1) and self._state is not None:
                    journal.keep_all(self._state)  # records that keep themselves do so for one round only
                for batch, action, loss, probability in rounds:
                    self._learn(batch, action, loss, probability)
            except BaseException:  # an oracle, memory, an interrupt: nothing may have happened
                journal.undo()
                raise
        except BaseException:  # also where an interrupt came before that had begun; to undo twice is to undo
            journal.undo()
            raise
        journal.begin()  # what was kept is kept no longer

    def _learn(self, batch: Batch, action: int, loss: float, probability: float) -> None:
        if self._map is None:
            width, sparse = batch.rows.shape[1], isinstance(batch.rows, Sparse)
            self._start(Shape(batch.shared, width, sparse and self.takes_sparse, width == CODES))
            assert self._map is not None
        elif not self.journals:
            assert self._state is not None
            for array in self._state.arrays().values():
                self._journal.keep(array)
        if self._names is not None:
            batch.rows = self._names._observe(batch.rows)
        if self._early is None:
            batch.rows = self._observed(batch.rows)
            self._update(batch, action, loss, probability)
        else:
            self._learn_early(self._early, self._map, batch, action, loss, probability)

    def _learn_early(self, early: Early, features: FeatureMap, batch: Batch, *rest: Any) -> None:
        """As any round; but at a doubling of the first ones all of them are learnt anew."""
        again = early.due()
        if again and self._state is not None:
            self._journal.keep_all(self._state)
        kept = early.put(batch, *rest)
        batch.rows = self._observed(batch.rows)
        if not (again and kept):
            self._update(batch, *rest)
            return
        self._anew(early.again(features), batch, *rest)
        if early.rounds[0] == len(early.actions):
            early.give_up()

    def _start(self, shape: Shape, size: int | None = None) -> None:
        """Allocate everything, in at most so many bytes; the journal remembers that there was nothing."""
        for name in ("_shape", "_names", "_map", "_state", "_vector", "_early", "_taken"):
            self._journal.keep_attribute(self, name)
        self._journal.keep_attribute(self._journal, "records")
        self._chance()
        try:
            with room(size) as taken:
                seen, parts = shape, dict[str, Record | Field]()
                if shape.named:
                    self._names = parts["names"] = self._reader.table._start(sparse=self.takes_sparse)
                    seen = Shape(shape.shared, self._names.n_outputs, self.takes_sparse, named=True)
                recipe = self._recipe(seen.sparse)
                started = recipe.start(seen.width, self._rng, sparse=seen.sparse, named=seen.named)
                parts |= self._begin(replace(seen, sparse=started.gives_sparse), started.n_outputs)
                if self.EARLY and not seen.sparse:
                    self._early = parts["early"] = Early(self.EARLY, seen.shared, self.n_actions, seen.width)
                self._taken = taken()
        except TooLargeError as error:
            raise TooLargeError(
                f"{type(self).__name__} cannot be built for {self.n_actions} actions and {shape}: {error}, more than "
                f"the limit (marginbandits.state.LIMIT). Learners that keep O(Kd) numbers need less: SquareCB, RegCB, "
                f"LogisticTS, Banditron; so do features='raw' in place of 'fourier', and fewer columns"
            ) from None
        self._state = State({**parts, "features": started}, self._journal)
        self._journal.keep_no_more()  # to take this back is to have no state at all
        self._shape, self._map = shape, started
        plain = type(self)._admitted is Learner._admitted and started.checks_rows
        if plain and not (shape.shared or shape.sparse or shape.named):
            self._vector = (shape.width,)

    def _chance(self) -> np.random.Generator:
        """The learner's own generator, for `_update`: what is drawn can be taken back."""
        self._journal.keep_generator(self._rng)
        return self._rng
