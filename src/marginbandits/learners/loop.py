"""The loop of every learner, below what users call: begin, play, learn rounds whole or not at all.

A learner fills three holes.

    _begin(shape, n_features)                allocate what will be learnt; returns it by name, as one record
    _law(one)                                the law to play for a batch of one; or `_laws(batch)` for many at once
    _update(one, action, loss, probability)  learn from one interaction

The rows of a batch are features. A vector context has one row, and every action weights of its own; a K x d context has
a row for each action, and one weight vector serves all: `shape.shared` says which. Layout and width are fixed by the
first context learnt from; until then every action is as likely as any other.

What a round changes is put into the journal first: by the loop for small learners, which keeps everything; by the
learner itself where `journals` is True. Whatever happens, the learner is then as before, or has learnt the round whole.
"""

import copy
import threading
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from marginbandits import laws
from marginbandits.contexts import CODES, Batch, Rows, Shape, Sparse, as_sparse, usual_rows, usual_vectors
from marginbandits.features import FeatureMap, Given, feature_map
from marginbandits.held import chance
from marginbandits.learners.early import Early, Round
from marginbandits.learners.forgetting import Forgetting
from marginbandits.learners.offers import Names
from marginbandits.learners.reading import Reader
from marginbandits.learners.stored import Stored
from marginbandits.learners.swift import Swift, swift_rounds
from marginbandits.learners.swift_offers import swift_offers
from marginbandits.settled import unsettled
from marginbandits.state import Field, Journal, Record, State, TooLargeError, room, zeros
from marginbandits.types import Action, Array
from marginbandits.validation import remembered

__all__ = ["Loop", "Parts"]

Parts = Mapping[str, Record | Field]


class Loop(Stored):
    """Context → law → action → loss → update. Subclasses choose what fills the boxes."""

    journals: ClassVar[bool] = False
    """Whether `_update` puts what it changes into `self._journal` itself."""

    takes_names: ClassVar[bool] = True
    """Whether contexts may be mappings of names and values."""

    EARLY: ClassVar[int] = 0
    """How many first rounds are learnt anew (see `early`): then it fills `_anew`, and names EARLY among `constants`."""

    needs_every_row: ClassVar[bool] = False
    """Whether a K x d context must have K rows; then those of unavailable actions are the mean of the others."""

    _smaller: str = (
        "Learners that keep O(Kd) numbers need less: SquareCB, RegCB, LogisticTS, Banditron, and of sparse rows "
        "LinUCB, HingeLMC and SmoothFTL; so do fewer columns"
    )
    """What takes less memory, where this takes too much."""

    noisy: int = 0
    """How many draws of its own generator a compiled round (`swift`) learns with."""

    live: ClassVar[frozenset[str]] = frozenset()
    """Parameters that may be set between rounds, as each asks for them anew; all others are `settled`."""

    actions: tuple[Action, ...] | None
    n_actions: int
    window: int | str | None

    def __init__(self, features: Given, seed: int | np.random.Generator | None) -> None:
        self.features = copy.deepcopy(features)  # of which others may hold a list
        self._reader = Reader(self.features, "" if self.takes_names else type(self).__name__)
        self.seed: int | np.random.Generator | None = remembered(seed)
        entropy = np.random.default_rng(self.seed).integers(2**63, size=4).tolist()
        own = np.random.SeedSequence(entropy).spawn(2)
        self._draws, self._rng = (np.random.Generator(np.random.PCG64(one)) for one in own)
        self._lock = threading.RLock()
        self._journal = Journal()
        self._shape: Shape | None = None
        self._vector: tuple[int] | None = None  # the shape of vectors that features alone check, where there are any
        self._filling = 0  # the width of sparse rows that compiled rounds take as they are, where there are any
        self._names = None
        self._map: FeatureMap | None = None
        self._state: State | None = None
        self._early: Early | None = None
        self._forgetting: Forgetting | None = None
        self._swift: Swift | None = None  # rounds in compiled code, where there are any
        self._drawing: Any = None  # where the learner's own generator draws from, for compiled code
        self._taken = 0  # bytes, by what has been started

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "_law" in vars(cls) and "_laws" not in vars(cls) and cls._laws is not Loop._laws:
            filled = next(one.__name__ for one in cls.__mro__ if "_laws" in vars(one))
            raise TypeError(f"{cls.__name__} fills `_law`, which nobody asks: {filled} fills `_laws`, so fill that")

    def __setattr__(self, name: str, value: object) -> None:
        if name[0] == "_":
            super().__setattr__(name, value)
            return
        own = vars(self)
        with own.get("_lock") or nullcontext():  # a copy that another learner keeps has none
            told, forgetting = unsettled(self, name, value), own.get("_forgetting")
            super().__setattr__(name, told)
            for one in () if forgetting is None else forgetting.copies:
                setattr(one, name, told)
            if own.get("_swift") is not None:  # compiled rounds have the value that was
                self._hasten()

    def _call(self, n_actions: int, actions: Sequence[Action] | None) -> None:
        """There are so many actions, and they are called so."""
        zeros((4, n_actions))  # refused now, where a law, and what it is made of, would be too large
        vars(self).update(n_actions=n_actions, actions=None if actions is None else tuple(actions))
        self._called = None if actions is None else Names(actions)
        self._everything = np.ones(n_actions, bool)
        self._everyone = np.array([0, n_actions])
        self._usual = Batch(np.empty((0, 0)), False, self._everyone, self._everything)  # what most rounds are

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

    def _predicted(self, batch: Batch) -> Array:
        """The loss that is predicted of every action, laid out like the batch's mask; it may be beyond [0, 1]."""
        raise ValueError(f"{type(self).__name__} predicts no losses")

    def _widths(self, batch: Batch) -> Array | None:
        """How far off each of these may be, by what is known so far; None where a learner does not say."""

    def _mean_context(self) -> Array:
        """A context like those so far: of each column its mean."""
        assert self._map is not None
        return self._map._typical()

    @property
    def _playing(self) -> Any:
        """Itself, or the copy that plays."""
        return self if self._forgetting is None else self._forgetting.player

    @property
    def _learners(self) -> tuple[Any, ...]:
        """Itself, or all its copies."""
        return (self,) if self._forgetting is None else self._forgetting.copies

    def _recipe(self, sparse: bool) -> FeatureMap:
        return feature_map(self.features, sparse=sparse)

    def _anew(self, rounds: Iterable[Round], *newest: Any) -> None:
        """Begin again, and learn all these rounds, of which `newest` is the last, in the scales of today."""
        raise NotImplementedError("a learner with EARLY rounds fills `_anew`")

    def _admitted(self, rows: Rows, together: bool) -> Rows:
        """Rows as this learner takes them; a learner on a ball, or in a space, fills this to refuse others."""
        if together and (self.needs_every_row or self._called is not None) and len(rows) != self.n_actions:
            raise ValueError(f"context must have a row for each of {self.n_actions} actions, got {len(rows)}")
        if isinstance(rows, Sparse):
            sparse = self._keeps_sparse(rows.width) if self._shape is None else self._shape.sparse
            return rows if sparse or rows.width == CODES else rows.dense()
        if self._shape is not None and self._shape.sparse:
            return as_sparse(rows)
        return rows

    def _keeps_sparse(self, width: int) -> bool:
        """Whether sparse rows of so many columns stay so; or names, which have as many as their table asks for."""
        columns = self._reader.table.n_columns if width == CODES else width
        return self.takes_sparse and (columns >= self.sparse_from or self.sparse_from == 1)

    def _arrays(self) -> tuple[Any, ...]:
        """What compiled rounds (`swift`, `_compiled`) call the state, where a learner has them: arrays, and numbers."""
        raise NotImplementedError("a learner with compiled rounds fills `_arrays`")

    def _settle(self) -> None:
        """Before the number of actions changes: from now on keep to what was chosen by it."""

    # The loop.

    def _laws_now(self, batch: Batch) -> Array:
        """The laws of what was read; features are made of it first."""
        if self._map is None:
            return laws.uniform(batch)
        if self._swift is None or not self._swift.reads_names:
            self._columned(batch)
        if self._swift is not None:
            return self._swift.laws(batch)
        batch.rows = self._map.transform(batch.rows)
        return np.asarray(self._playing._laws(batch))

    def _columned(self, batch: Batch) -> None:
        """Names and values, if rows are these, become columns."""
        if self._names is not None:
            batch.rows = self._names._transform(batch.rows)

    def _featured(self, batch: Batch) -> None:
        """Rows that were read become features."""
        assert self._map is not None
        self._columned(batch)
        batch.rows = self._map.transform(batch.rows)

    def _whole(self, rounds: list[Round], *, several: bool = False, lost: list[float] | None = None) -> None:
        """Learn all of these rounds or none; `several` says that one of them is more than one to its records.

        What is `lost` is what they say, unless it is told.
        """
        if self._swift is not None and (self._names is None or self._swift.reads_names) and rounds:
            self._swift.learn_all(rounds)
            return
        journal = self._journal
        journal.begin()
        if self._swift is not None:
            self._swift.count[0] = 0
        try:
            try:
                if (several or len(rounds) > 1) and self._state is not None:
                    journal.keep_all(self._state)  # records that keep themselves do so for one round only
                for one in rounds:
                    self._learn(*one)
                if self._forgetting is not None and rounds:
                    self._forgetting.look(self, lost or [loss for _, _, loss, _ in rounds])
            except BaseException:  # an oracle, memory, an interrupt: nothing may have happened
                self._undo(rounds)
                raise
        except BaseException:  # also where an interrupt came before that had begun; to undo twice is to undo
            self._undo(rounds)
            raise
        journal.begin()  # what was kept is kept no longer

    def _undo(self, rounds: list[Round]) -> None:
        """Take back what the journal has kept, unless the one round was learnt whole by compiled code."""
        if len(rounds) > 1 or self._swift is None or not self._swift.count[0]:
            self._journal.undo()

    def _learn(self, batch: Batch, action: int, loss: float, probability: float) -> None:
        if self._map is None:
            width, sparse = batch.rows.shape[1], isinstance(batch.rows, Sparse)
            self._start(Shape(batch.shared, width, sparse and self._keeps_sparse(width), width == CODES))
            assert self._map is not None
        elif not self.journals:
            assert self._state is not None
            for array in self._state.arrays().values():
                self._journal.keep(array)
        if self._names is not None and not (self._swift is not None and self._swift.reads_names):
            batch.rows = self._names._observe(batch.rows)
        if self._swift is not None:
            self._chance()
            self._swift.learn_all([(batch, action, loss, probability)])
            return
        early, due = self._early, False
        young = early is not None and not early.over
        if early is not None:
            due = early.due()
            if due and self._state is not None:
                self._journal.keep_all(self._state)
            due &= early.put(batch, action, loss, probability)
        batch.rows = self._map.observe(batch.rows)
        # At a doubling of the first rounds all of them are learnt anew.
        anew = early.again(self._map) if early is not None and due else None
        if self._forgetting is not None:
            self._forgetting.learn(self, anew, batch, action, loss, probability)
        elif anew is not None:
            self._anew(anew, batch, action, loss, probability)
        else:
            self._update(batch, action, loss, probability)
        if early is not None and young and early.over:
            if due:
                early.give_up()
            self._journal.keep_attribute(self, "_swift")
            self._hasten()

    def _start(self, shape: Shape, size: int | None = None) -> None:
        """Allocate everything, in at most so many bytes; the journal remembers that there was nothing."""
        attributes = "shape", "names", "map", "state", "vector", "filling", "early", "forgetting", "taken", "swift"
        for name in (f"_{one}" for one in attributes):
            self._journal.keep_attribute(self, name)
        self._journal.keep_attribute(self._journal, "records")
        self._chance()
        try:
            with room(size) as taken:
                if shape.named:
                    self._names = self._reader.table._start(sparse=self._keeps_sparse(CODES))
                seen = self._columns_of(shape)
                recipe = self._recipe(seen.sparse)
                started = recipe.start(seen.width, self._rng, sparse=seen.sparse, named=seen.named)
                parts = self._begun(seen, started)
                self._taken = taken()
        except TooLargeError as error:
            raise TooLargeError(
                f"{type(self).__name__} cannot be built for {self.n_actions} actions and {shape}: {error}, more than "
                f"the limit (marginbandits.state.LIMIT). {self._smaller}"
            ) from None
        self._state = State(parts, self._journal)
        self._journal.keep_no_more()  # to take this back is to have no state at all
        self._shape, self._map = shape, started
        if not (shape.shared or shape.named or type(self)._admitted is not Loop._admitted):
            self._filling = shape.width if shape.sparse else 0
            self._vector = None if shape.sparse or not started.checks_rows else (shape.width,)
        self._hasten()

    def _may_hasten(self) -> bool:
        """Whether rounds may be compiled by now: not as long as they are kept to be learnt anew."""
        return self._early is None or self._early.over

    def _hasten(self) -> None:
        offers = swift_offers(self, self._shape, self._names, self._map)
        self._swift = swift_rounds(self, self._shape, self._map) if offers is None else offers
        self._usual_one = usual_rows(self._filling) if self._filling else usual_vectors(self._vector)

    def _columns_of(self, shape: Shape) -> Shape:
        """What features are made of: contexts of this shape, or what names and values have become."""
        if self._names is None:
            return shape
        return Shape(shape.shared, self._names.n_outputs, self._keeps_sparse(CODES), named=True)

    def _begun(self, seen: Shape, started: FeatureMap) -> Parts:
        """All that is learnt from contexts of this shape, with these features: names, what a learner has, and more."""
        shape = replace(seen, sparse=started.gives_sparse)
        parts: dict[str, Record | Field] = {} if self._names is None else {"names": self._names}
        if self.window is None:
            parts |= self._begin(shape, started.n_outputs)
        else:
            self._forgetting = Forgetting(self.window, shape, started.n_outputs)
            parts |= self._forgetting.begin(self)
        if self.EARLY and not seen.sparse:
            self._early = parts["early"] = Early(self.EARLY, seen.shared, self.n_actions, seen.width)
        return {**parts, "features": started}

    def _rearrange(self, actions: Sequence[Action], places: list[int]) -> None:
        """The same with these actions: the i-th begins with what was learnt at `places[i]`, or with nothing if -1."""
        before, drawn, records = dict(vars(self)), self._rng.bit_generator.state, self._journal.records
        try:
            self._settle()
            self._call(len(actions), actions)
            if self._shape is not None and self._state is not None and self._map is not None:
                one_for_all = self._shape.shared
                self._move(self._shape, self._state, self._map, np.array([0] if one_for_all else places))
        except BaseException:  # memory, an interrupt: nothing may have happened
            vars(self).update(before)
            self._journal.records, self._rng.bit_generator.state = records, drawn
            raise

    def _move(self, shape: Shape, before: State, features: FeatureMap, places: Any) -> None:
        with room() as taken:
            parts = self._begun(self._columns_of(shape), features)
            kept = [one for one in (self._names, features) if one is not None]
            sizes = [field.array.nbytes for one in kept for field in one.fields().values()]
            self._taken = taken() + 2 * sum(sizes)
        self._journal.records = ()
        self._state = State(parts, self._journal)
        self._state._adopt(before, places)
        self._hasten()

    def _chance(self) -> np.random.Generator:
        """The learner's own generator, for `_update`: what is drawn can be taken back."""
        self._journal.keep_generator(self._rng)
        return self._rng

    def _source(self) -> Any:
        """The same, for compiled code."""
        generator = self._chance()
        if self._drawing is None:  # where it draws from takes as long to find as a thousand draws
            self._drawing = chance(generator)
        return self._drawing
