"""What users call: law, act, learn, one round at a time or many; and which actions there are.

Input is checked before anything changes; `loop` says what happens then. In the shared layout each round may have its
own number of rows, and rows of unavailable actions never reach a learner. One lock makes it safe to share a learner
between threads.

Actions are numbers, or have the names that a learner is built with (`actions`), or names and features that each round
brings along (`offers`). Where they have names, decisions carry these.
"""

from abc import ABC
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, SupportsFloat, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.contexts import Batch, Rows, dense, per_action, several, shared
from marginbandits.features import Features
from marginbandits.learners import offers
from marginbandits.learners.explaining import explained, predicted
from marginbandits.learners.explanation import Explanation
from marginbandits.learners.inputs import Scale, each, is_one_mask, read_decision, read_loss, read_mask, read_masks
from marginbandits.learners.loop import Loop, Parts
from marginbandits.learners.offers import Names, is_name, plain
from marginbandits.learners.options import MaybeActionCount, Options, how_many
from marginbandits.ranges import one_range
from marginbandits.types import Action, Array, Context, Decision, Mask
from marginbandits.validation import quoted, validated

__all__ = ["Learner", "Parts"]


class Learner(Loop, ABC):
    """What all learners can do. A subclass fills the holes of `loop`."""

    exempt: ClassVar[Mapping[str, str]] = {}
    """Contract checks that do not apply, each with the reason."""

    competes: ClassVar[bool] = True
    """Whether a bake-off of all learners includes it: not one that must be told a horizon or a class of regressors."""

    changes_actions: ClassVar[bool] = False
    """Whether actions may come and go: then every field of its state that has a part for each says so."""

    @validated
    def __init__(self, n_actions: MaybeActionCount, *, features: Features, **options: Unpack[Options]) -> None:
        super().__init__(features, options.get("seed"))
        self.reward_range, self.loss_range = options.get("reward_range"), options.get("loss_range")
        self.window = options.get("window")
        names = options.get("actions")
        self._call(how_many(n_actions, names), names)
        given = one_range(self.reward_range, self.loss_range)
        self._scale = None if given is None else Scale(self.reward_range is not None, *given)

    def law(self, context: Context, *, available: npt.ArrayLike | None = None, actions: Any = None) -> Array:
        """The distribution `act` would draw from, one probability for each action; nothing is drawn or changed."""
        with self._lock:
            if actions is not None and self._called is None and available is None:
                return self._law_of(*self._read(offers.Offered(context, actions), None))  # names are of no concern
            return self._law_of(*self._read(*self._offered(context, available, actions)[:2]))

    def laws(self, contexts: Any, *, available: Any = None, actions: Any = None) -> Array | list[Array]:
        """`law` for each context: n x K, or a list where contexts have different numbers of rows."""
        with self._lock:
            flat, starts = self._laws_of(*self._offered_each(contexts, available, actions)[:2])
        sizes = np.diff(starts)
        if len(sizes) == 0 or (sizes == sizes[0]).all():
            return flat.reshape(len(sizes), sizes[0] if len(sizes) else self.n_actions)
        return np.split(flat, starts[1:-1])

    def act(self, context: Context, *, available: npt.ArrayLike | None = None, actions: Any = None) -> Decision:
        """Draw an action from the law of this context; nothing that has been learnt changes.

        `available` is a mask of the actions: the others are not played. `actions` says so by name, or brings actions
        with features of their own: {"a17": {"price": 20}, …}. The decision carries the exact probability.
        """
        with self._lock:
            names, swift = self._called, self._swift
            usual = None if swift is None or available is not None or actions is not None else self._usual_one(context)
            played = None if swift is None or usual is None else swift.choose(usual)
            if played is not None:
                action, probability, law = played
                if names is None and action >= 0:
                    return Decision(action, probability, law)
            else:
                if actions is not None:
                    context, available, names = self._offered(context, available, actions)
                law = self._law_of(*self._read(context, available))
                action = laws.certain(law)
                if action < 0:  # a certain action needs no draw
                    action = laws.drawn(law, self._draws.random())
                probability = law.item(action)
            if action < 0:
                raise FloatingPointError("the model's numbers are no longer finite")
        return self._decided(action, probability, law, names)

    def act_many(self, contexts: Any, *, available: Any = None, actions: Any = None) -> list[Decision]:
        """`act` for each context in turn; `available` or `actions` are the same for all, or one for each context."""
        with self._lock:
            contexts, available, names = self._offered_each(contexts, available, actions)
            flat, starts = self._laws_of(contexts, available)
            chosen = np.empty(len(starts) - 1, np.int64)
            laws.drawn_each(flat, starts, self._draws.random(laws.uncertain(flat, starts)), chosen)
            if (chosen < 0).any():
                raise FloatingPointError("the model's numbers are no longer finite")
        played = flat[starts[:-1] + chosen].tolist()
        sizes = np.diff(starts)
        even = len(sizes) > 0 and (sizes == sizes[0]).all()
        apart = list(flat.reshape(len(sizes), -1)) if even else np.split(flat, starts[1:-1])
        return list(map(self._decided, chosen.tolist(), played, apart, names or [self._called] * len(chosen)))

    def learn(
        self,
        context: Context,
        decision: Decision,
        loss: SupportsFloat | None = None,
        *,
        reward: SupportsFloat | None = None,
        available: npt.ArrayLike | None = None,
        actions: Any = None,
    ) -> None:
        """Learn the loss (or reward = 1 - loss) of a decision: at once, later, out of order, or from a log.

        `available` and `actions` are what `act` was given. Whatever goes wrong, the learner is as it was.
        """
        with self._lock:
            names, swift = self._called, self._swift
            cost = read_loss(loss, reward, self._scale)
            if swift is not None and available is None and actions is None:
                usual = self._usual_one(context)
                if usual is not None:
                    action, probability = read_decision(decision, self.n_actions, names)
                    if swift.learn(usual, action, cost, probability):
                        return
            if actions is not None:
                context, available, names = self._offered(context, available, actions)
            batch, mask = self._read(context, available)
            action, probability = self._read_decision(decision, batch, mask, names)
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
        actions: Any = None,
    ) -> None:
        """`learn` for each interaction in turn; if any is refused or fails, none is learnt."""
        with self._lock:
            contexts, available, names = self._offered_each(contexts, available, actions)
            swift: Any = self._swift
            batch = self._read_offers(contexts) if swift is not None and swift.reads_names else None
            read = self._read_each(contexts, available) if batch is None else [(batch, None)] * len(batch)
            given = several("decisions", decisions, len(read))
            costs = self._read_losses(losses, rewards, len(read))
            if not len(read) == len(given) == len(costs):
                raise ValueError(f"{len(read)} contexts, {len(given)} decisions and {len(costs)} losses do not match")
            called = names or [self._called] * len(read)
            if batch is not None:
                sizes = zip(given, np.diff(batch.starts).tolist(), called, strict=True)
                placed = each("decisions", sizes, lambda one: read_decision(*one))
                self._ready(len(read))
                swift.learn_offers(batch, placed, costs)
                return
            together = zip(given, read, called, strict=True)
            played = each("decisions", together, lambda one: self._read_decision(one[0], *one[1], one[2]))
            self._ready(len(read))
            rounds = zip(read, played, costs, strict=True)
            self._whole([(batch, action, cost, probability) for (batch, _), (action, probability), cost in rounds])

    def _run(
        self,
        first: int,
        contexts: Any,
        losses: Array,
        actions: npt.NDArray[np.int64],
        probabilities: Array,
        laws: Array,
        progress: Callable[[], object] | None,
    ) -> bool:
        """Play and learn all rounds from the first on in compiled code, as `act` and `learn` would, if there is any."""
        with self._lock:
            if self._swift is None or self._names is not None or self._scale or self._called:
                return False
            rest = slice(first, None)
            usual = isinstance(contexts, np.ndarray) and contexts.shape[1:] == self._vector
            rows = contexts[rest] if usual else self._reader.many(contexts[rest], self._shape)[1]
            assert rows is not None  # rows of its shape
            kept = laws[rest] if len(laws) > 1 else laws
            self._swift.run(rows, losses[rest], actions[rest], probabilities[rest], kept, progress)
            return True

    def predict(self, context: Context, *, actions: Any = None) -> Array:
        """The loss that is predicted of each action, or the reward where there is a `reward_range`.

        In the learner's own numbers, as its model has it: it may lie beyond what can happen. Refused by learners that
        predict none.
        """
        with self._lock:
            context, _, _ = self._offered(context, None, actions)
            losses = predicted(self, self._read(context, None)[0])
            return losses if self._scale is None else np.asarray(self._scale.given(losses))

    def explain(self, context: Context, *, available: npt.ArrayLike | None = None, actions: Any = None) -> Explanation:
        """What is predicted of each action, and which entries of the context speak for it and against it.

        Costs a prediction for every entry. See `Explanation` for what it is not.
        """
        with self._lock:
            context, available, names = self._offered(context, available, actions)
            given = context.rows() if isinstance(context, offers.Offered) else context
            return explained(self, given, available, names)

    @property
    def began(self) -> int:
        """From which round on, counted from 0, what is played was learnt: 0, but for learners with a `window`."""
        forgetting = self._forgetting
        return 0 if forgetting is None else int(forgetting.watch.began[forgetting.watch.player])

    # Which actions there are.

    def add_action(self, action: Action) -> None:
        """One more action, of which nothing is known; what has been learnt of the others stays."""
        with self._lock:
            now = self._changing()
            if not is_name(action) or action in now:
                raise ValueError(f"action must be a new name beside {quoted(now)}, got {quoted(action)}")
            self._rearrange([*now, plain(action)], [*range(len(now)), -1])

    def retire_action(self, action: Action) -> None:
        """One action less: what was learnt of it is given up, and what was learnt of the others stays."""
        with self._lock:
            now = self._changing()
            place = Names(now).place(action)
            if len(now) < 3:
                raise ValueError(f"action must leave two others, got {quoted(action)} of {quoted(now)}")
            left = [at for at in range(len(now)) if at != place]
            self._rearrange([now[at] for at in left], left)

    def _changing(self) -> tuple[Action, ...]:
        if self.actions is None:
            raise ValueError("actions must have names before some of them come and go: give actions= to the learner")
        if not self.changes_actions:
            raise ValueError(
                f"the actions of {type(self).__name__} stay as they are: what it learns is of all together"
            )
        return self.actions

    # Input.

    def _offered(self, context: Any, available: Any, actions: Any) -> tuple[Any, Any, Names | None]:
        """The context and the mask that an offer of actions amounts to, and the names of what is offered."""
        if actions is None:
            return context, available, self._called
        if available is not None:
            raise ValueError(f"give available or actions, got {quoted(available)} and {quoted(actions)}")
        if self._called is not None:
            return context, self._called.mask(actions), self._called
        return offers.Offered(context, actions), None, Names(actions)

    def _offered_each(self, contexts: Any, available: Any, actions: Any) -> tuple[Any, Any, list[Names | None] | None]:
        """`_offered` for each of several contexts; no names are those of the learner."""
        if actions is None:
            return contexts, available, None
        if self._called is not None and offers.is_one_offer(actions):
            return contexts, self._offered(None, available, actions)[1], None
        given = None if contexts is None else self._reader.listed(contexts)
        one_for_all = isinstance(actions, Mapping) and given is not None
        offered = [actions] * len(given or ()) if one_for_all else several("actions", actions)
        given = [None] * len(offered) if given is None else given
        if len(given) != len(offered):
            raise ValueError(f"actions must be offers for each of {len(given)} contexts, got {len(offered)}")
        together = zip(given, offered, strict=True)
        found = each(
            "actions", together, lambda one: self._offered(one[0], available, [] if one[1] is None else one[1])
        )
        if self._called is not None:
            return contexts, [mask for _, mask, _ in found], None
        return [rows for rows, _, _ in found], None, [names for _, _, names in found]

    def _read(self, context: Any, available: Any) -> tuple[Batch, Mask | None]:
        """One context as a batch of one; the mask that its law is to be spread over, where rows were left out."""
        if available is None and self._vector is not None and self._usual_one(context) is not None:
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

    def _read_offers(self, contexts: Any) -> Batch | None:
        """Several offers at once; None where they are something else, or must be looked at one by one."""
        plain = type(self)._admitted is Loop._admitted and not self.needs_every_row
        if not (plain and isinstance(contexts, list) and contexts and isinstance(contexts[0], offers.Offered)):
            return None
        try:
            return self._reader.offers(contexts, self._shape)
        except ValueError:
            return None  # one by one, which is it?

    def _read_losses(self, losses: Any, rewards: Any, n: int) -> list[float]:
        if losses is not None and rewards is not None:
            raise ValueError("give either losses or rewards, not both")
        if losses is not None:
            return each("losses", several("losses", losses, n), lambda one: read_loss(one, None, self._scale))
        if rewards is not None:
            return each("rewards", several("rewards", rewards, n), lambda one: read_loss(None, one, self._scale))
        raise ValueError("give either losses or rewards, one for each context")

    def _read_decision(
        self, decision: Decision, batch: Batch, mask: Mask | None, names: Names | None
    ) -> tuple[int, float]:
        allowed = batch.mask if mask is None else mask
        action, probability = read_decision(decision, len(allowed), names)
        if allowed is self._everything:
            return action, probability
        if not allowed[action]:
            raise ValueError(f"action must be available, got {quoted(decision.action)}")
        return (action if mask is None else int(mask[:action].sum())), probability

    def _ready(self, n: int) -> None:
        """Refuse to learn `n` more interactions, before anything changes; a learner with a horizon fills this."""

    def _law_of(self, batch: Batch, mask: Mask | None) -> Array:
        law = self._laws_now(batch)
        if mask is None:
            return law
        spread = np.zeros(len(mask))
        spread[mask] = law
        return spread

    def _laws_of(self, contexts: Any, available: Any) -> tuple[Array, npt.NDArray[np.int64]]:
        """All laws in one array, and where each begins; in one go where no rows are to be left out."""
        offered = self._read_offers(contexts) if available is None else None
        if offered is not None:
            return self._law_of(offered, None), offered.starts
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

    def _decided(self, action: int, probability: float, law: Array, names: Names | None) -> Decision:
        if names is None:
            return Decision(action, probability, law)
        return Decision(names.names[action], probability, law, actions=names.names)
