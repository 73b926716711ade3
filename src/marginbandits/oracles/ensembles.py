"""Ensembles of networks that learn from rounds as they come: replay, and a step of AdamW or of Langevin.

A round is put by; every `every` rounds all networks take one step on a minibatch of those kept, the newest among them.
Each round costs V, one of `surrogates.two_sided_slope`, in the score of the action that was played. With N rounds and
the mean gradient g over the minibatch, of round s counted c_s times,

    bootstrap   c_s ~ Poisson(1), drawn once for each network;  AdamW on g
    langevin    c_s = 1;  θ <- θ - h G (g + λθ/N) + τ √(2hG/N) ξ,  h the rate, λ = 1, τ the temperature: draws of
                exp(-(Σ V + λ‖θ‖²/2)/τ²), but for the noise of minibatches, and what a step that is not small adds;
                G = 1, or, "preconditioned", 1/(√v + ε) of each weight, v a running mean of the squares of g + λθ/N

Noise is scaled by the root of G and the slope by G: whatever a fixed G is, draws are of the same law. G follows v
slowly (β = 0.999), so that it is as good as fixed; what it would add by depending on θ is left out, as usual. ε =
10h/N, so that no weight loses more than a tenth of itself to λ in a step.

Nothing is proved of either for networks: their potential is not convex. Rows are kept as they came, in the scales of
then; a learner puts the first ones into those that it knows later (`rescale`).

Chance is a function of a seed and of how many rounds were learnt: the same rounds give the same networks, bit for bit,
on one machine. Not so in the `background`: there a thread makes each step, one at a time, while rounds go on, and it
counts from the first round that is learnt after it is done. Where rounds come faster there are fewer steps. A copy, or
a file, is without the step that is being made.

A step whose numbers are no longer finite is refused, and the round with it.

Loshchilov & Hutter (2019), "Decoupled weight decay regularization"; Osband et al. (2016), "Deep exploration via
bootstrapped DQN"; Welling & Teh (2011), "Bayesian learning via stochastic gradient Langevin dynamics"; Li et al.
(2016), "Preconditioned stochastic gradient Langevin dynamics for deep neural networks".

>>> import numpy as np
>>> from marginbandits.scores import Networks
>>> told = Ensemble(Networks(n_networks=2, width=8, minibatch=16), n_features=1, n_outputs=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     told.learn(np.array([x]), 0, loss=float(x > 0))
...     told.learn(np.array([x]), 1, loss=float(x < 0))
>>> told.scores(np.array([[-1.0], [1.0]])).mean(0).round() + 0.0
array([[ 1., -1.],
       [-1.,  1.]], dtype=float32)
"""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from marginbandits.contexts import Rows, dense
from marginbandits.later import Later
from marginbandits.oracles.steps import adamw, adamw_of_arrays, langevin, paced
from marginbandits.scores.devices import Held
from marginbandits.scores.networks import Networks, Room
from marginbandits.state import COUNT, Field, Journal, Record, refuse_large, zeros
from marginbandits.surrogates import two_sided_slope
from marginbandits.types import Array

__all__ = ["Ensemble"]

Small = npt.NDArray[np.float32]

FIRST = 16
"""Rounds before the first step."""
NEWEST = 8
"""Rounds of a minibatch that are the last ones."""
FARTHEST = 1e3
"""No column that networks see is larger."""
_ROOM = 2**27
"""Numbers that rows may take; where `memory` would be more, it is less."""
_REMEMBERED = {"bootstrap": 2, "langevin": 0, "preconditioned": 1}
"""Numbers beside each weight."""
_SEED, _ROUNDS, _STEPS, _KEPT = range(4)


class Ensemble(Record):
    """The networks of a recipe, what AdamW remembers, and the last `memory` rounds."""

    def __init__(
        self,
        recipe: Networks,
        n_features: int,
        n_outputs: int,
        *,
        seed: int,
        surrogate: str = "squared_hinge",
        margin: float = 1.0,
        begin: int = FIRST,
        every: int = 1,
    ) -> None:
        self.recipe, self.surrogate, self.margin = recipe, surrogate, margin
        self.first, self.every = begin, max(every, recipe.every)
        self.shape = recipe._shaped(n_features, n_outputs)
        self._scale = math.sqrt(n_features)  # features have norm about 1; networks want columns of about 1
        self._device = recipe._device()
        held = 2 * (1 + _REMEMBERED[recipe.sampler])  # weights, and what is remembered of them, each twice
        size = 4 * (held * self.shape.dimension + self.shape.roomy(recipe.minibatch))
        refuse_large(f"a step on {recipe.minibatch:,} rounds", size)
        self._device.refuse(size)
        self._now = self._fresh()
        self._spare = self._fresh()  # what the next step writes: the round can then be taken back without a copy
        self._room: Room | None = None  # until the first step: it is no part of what a file must have room for
        self._coming: Later[Held] | None = None  # the networks after a step that is being made in the background
        n_rounds = self._make_room(n_features)
        self.actions = zeros((n_rounds,), np.int64)
        self.losses: Small = zeros((n_rounds,), np.float32)
        self.counted = zeros((n_rounds, recipe.n_networks), np.uint8)
        self.counts = np.array([seed, 0, 0, 0], np.int64)
        self.attach(Journal())
        self.begin()

    def _make_room(self, n_features: int) -> int:
        """Where rows are put by, and those of how many rounds."""
        n_rounds = max(1, min(self.recipe.memory, _ROOM // n_features))
        self.rows: Small = zeros((n_rounds, n_features), np.float32)
        return n_rounds

    @property
    def _by_round(self) -> tuple[npt.NDArray[Any], ...]:
        """What there is of each round kept, at its place."""
        return self.rows, self.actions, self.losses, self.counted

    def _fresh(self) -> Held:
        n = self.shape.dimension
        kept = _REMEMBERED[self.recipe.sampler]
        return Held(self._device, zeros((n,), np.float32), zeros((kept, n), np.float32))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_room": None, "_coming": None}  # a device's own arrays do not travel, nor do threads

    @property
    def parameters(self) -> Small:
        """All weights of all networks, as NumPy's array."""
        return self._now.here()[0]

    @property
    def adam(self) -> Small:
        """What is remembered of them: mean slopes, for AdamW, and their squares, for it and for the preconditioner."""
        return self._now.here()[1]

    def begin(self) -> None:
        """Nothing learnt: networks as they are drawn."""
        self.journal.keep_attribute(self, "_coming")
        self._coming = None
        parameters, adam = self._now.to_change()
        parameters[...] = self.shape.drawn(self._chance(0))
        if self.recipe.norm is not None:
            self.shape.bounded(parameters, self.recipe.norm)
        adam[...] = 0.0
        for array in self._by_round:
            array[: self.held] = 0  # what was never written to is no memory yet
        self.counts[_ROUNDS:] = 0

    def _chance(self, which: int) -> np.random.Generator:
        return np.random.default_rng((int(self.counts[_SEED]), which))

    @property
    def rounds(self) -> int:
        """How many were learnt."""
        return int(self.counts[_ROUNDS])

    @property
    def steps(self) -> int:
        """How many were taken."""
        return int(self.counts[_STEPS])

    @property
    def place(self) -> int:
        """Where the next round will be put."""
        return int(self.counts[_KEPT]) % len(self.actions)

    @property
    def due(self) -> bool:
        """Whether there is a step with the round that was learnt last."""
        return self.rounds >= self.first and self.rounds % self.every == 0

    @property
    def held(self) -> int:
        """How many are kept."""
        return min(int(self.counts[_KEPT]), len(self.actions))

    def scores(self, rows: Rows) -> Small:
        """Of n rows: networks x n x outputs."""
        with np.errstate(over="ignore", invalid="ignore"), self._device.working():
            found = self.shape.forward(self._now.there()[0], self._device.there(self._seen(rows)))[-1]
        return self._device.here(found)

    def _seen(self, rows: Rows) -> Small:
        """What networks see of rows."""
        seen = np.clip(dense(rows) * self._scale, -FARTHEST, FARTHEST)
        return np.asarray(seen, np.float32)

    def _put(self, row: Rows, at: int) -> None:
        self.rows[at] = self._seen(row)

    def _read(self, some: npt.NDArray[np.int64]) -> Small:
        """What networks see of rounds kept."""
        return self.rows[some]

    def learn(self, row: Rows, action: int, loss: float) -> None:
        """Put a round by, and take a step if it is time."""
        at, keep = self.place, self.journal.keep
        keep(self.counts)
        for array in self._by_round:
            keep(array, at)
        self._put(row, at)
        self.actions[at], self.losses[at] = action, loss
        chance, self.counted[at] = self._count()
        if self._coming is not None and self._coming.ready:
            self._take_in(chance)
        if self.due:
            if not self.recipe.background:
                self._step(chance)
            elif self._coming is None:
                self.journal.keep_attribute(self, "_coming")
                self._coming = Later(self._apart(chance))

    def _count(self) -> tuple[np.random.Generator, Small]:
        """One round more: its chance, and how often each network counts it."""
        chance = self._chance(self.rounds + 1)
        often = np.minimum(chance.poisson(1.0, self.counted.shape[1]), 255)
        self.counts[_ROUNDS] = min(self.rounds + 1, COUNT)
        self.counts[_KEPT] = min(int(self.counts[_KEPT]) + 1, COUNT)
        return chance, often

    def counted_elsewhere(self) -> tuple[Small, npt.NDArray[np.int64] | None]:
        """Of a round that is put by elsewhere: how often each network counts it, and which rounds its step looks at.

        None, if there is no step with it.
        """
        chance, often = self._count()
        return often, self._chosen(chance) if self.due else None

    def stepped_elsewhere(self) -> None:
        """A step was taken of networks that are kept elsewhere."""
        self.counts[_STEPS] = min(self.steps + 1, COUNT)

    def rescale(self, ago: int, row: Array) -> None:
        """What the row of a round is in the scales of today, if it is still kept; of the last one `ago` is 1."""
        if ago <= self.held:
            at = self._latest(ago - 1)
            self.journal.keep(self.rows, at)
            self._put(row, int(at))

    def _take_in(self, chance: np.random.Generator) -> None:
        """A step that was made in the background counts from now on; one that failed is made again, here."""
        for name in ("_now", "_coming"):
            self.journal.keep_attribute(self, name)
        later, self._coming = self._coming, None
        found = None if later is None else later.found()
        if found is None:
            self._step(chance)
        else:
            self._now = found
            self.counts[_STEPS] = min(self.steps + 1, COUNT)

    def _apart(self, chance: np.random.Generator) -> Callable[[], Held]:
        """What makes a step from what is here now, in arrays of its own: rounds come, and are taken back, meanwhile."""
        twin, chosen = copy.copy(self), self._chosen(chance)
        twin.attach(Journal())
        twin.counts = self.counts.copy()
        for name in ("rows", "actions", "losses", "counted"):
            setattr(twin, name, getattr(self, name)[chosen])
        self._now.there()  # copied, where it must be, before two look at it

        def work() -> Held:
            twin._spare, twin.shape = twin._fresh(), copy.copy(twin.shape)  # a body computes for one at a time
            twin._move(chance, np.arange(len(chosen)))
            return twin._now

        return work

    def _chosen(self, chance: np.random.Generator) -> npt.NDArray[np.int64]:
        """Where the rounds of a minibatch are: the newest ones, and others."""
        n = self.recipe.minibatch
        chosen, newest = self._any(chance, n), min(NEWEST, n, self.held)
        chosen[:newest] = self._latest(np.arange(newest))
        return chosen

    def _any(self, chance: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
        """Where n rounds are, each any of those kept."""
        return chance.integers(self.held, size=n)

    def _latest(self, ago: Any) -> npt.NDArray[np.int64]:
        """Where the rounds are that came so long before the last."""
        return np.asarray((int(self.counts[_KEPT]) - 1 - ago) % len(self.actions))

    def _step(self, chance: np.random.Generator) -> None:
        self._move(chance, self._chosen(chance))

    def _move(self, chance: np.random.Generator, chosen: npt.NDArray[np.int64]) -> None:
        """A step on these rounds."""
        with np.errstate(over="ignore", invalid="ignore"), self._device.working():
            gradient = self._gradient(chosen)
            for name in ("_now", "_spare"):
                self.journal.keep_attribute(self, name)
            (parameters, adam), before = self._spare.anew(self.journal), self._now.there()
            steps, recipe = self.steps + 1, self.recipe
            move: Any = langevin
            if recipe.sampler == "bootstrap":
                move = adamw if self._device.name == "cpu" else adamw_of_arrays
                move(*before, gradient, *paced(recipe.rate, recipe.decay, steps), parameters, adam)
            else:
                noise = self._device.there(chance.standard_normal(self.shape.dimension, np.float32))
                warmth = recipe.rate, recipe.temperature, self.rounds, steps
                move(*before, gradient, noise, *warmth, parameters, adam)
            if recipe.norm is not None:
                self.shape.bounded(parameters, recipe.norm)
            newest = self.shape.forward(parameters, self._device.there(self._read(chosen[:1])))[-1]  # or none could act
            good = all(math.isfinite(float(self._device.xp.sum(one))) for one in (parameters, adam, newest))
        if not good:
            self._refuse()
        self._now, self._spare = self._spare, self._now
        self.counts[_STEPS] = min(steps, COUNT)

    def _refuse(self) -> NoReturn:
        rate = self.recipe.rate
        raise FloatingPointError(f"the networks' numbers are no longer finite: rate={rate:g} is too large")

    def _gradient(self, chosen: npt.NDArray[np.int64]) -> Any:
        """Of the mean cost of these rounds, as often as each network counts them."""
        there, parameters = self._device.there, self._now.there()[0]
        if self._room is None and self._device.writes:
            self._room = self.shape.room(self.recipe.minibatch, device=self._device)
        values, xp = self.shape.forward(parameters, there(self._read(chosen)), self._room), self._device.xp
        own, none = there(self.actions[chosen][:, None] == np.arange(self.shape.sizes[-1])), xp.zeros_like(values[-1])
        played = xp.sum(xp.where(own, values[-1], none), axis=-1)
        slopes = two_sided_slope(self.surrogate, played, there(self.losses[chosen]), self.margin, xp)
        if self.recipe.sampler == "bootstrap":
            slopes = slopes * there(np.ascontiguousarray(self.counted[chosen].T, np.float32))
        spread = xp.where(own, (slopes / len(chosen))[..., None], none)
        return self.shape.backward(parameters, values, spread, self._room)

    def kept(self, n: int) -> tuple[Small, npt.NDArray[np.int64]]:
        """Scores of the last n rounds kept, networks x rounds x outputs, and where these rounds are."""
        some = self._latest(np.arange(min(n, self.held)))
        with np.errstate(over="ignore", invalid="ignore"), self._device.working():
            found = self.shape.forward(self._now.there()[0], self._device.there(self._read(some)))[-1]
        return self._device.here(found), some

    def beyond(self) -> float:
        """The share of networks and of the last rounds kept whose score is beyond the margin, where they agree."""
        found, some = self.kept(1000)
        scores = found[:, np.arange(len(some)), self.actions[some]]
        return float((scores * np.sign(1.0 - 2.0 * self.losses[some]) > self.margin).mean())

    def moved_on(self) -> Iterator["Ensemble"]:
        """A copy after one more step, then two, and so on, with the rounds held still."""
        told = copy.deepcopy(self)
        told.attach(Journal())
        chance = self._chance(COUNT)  # no round is that far
        while True:
            told.journal.begin()
            told._step(chance)
            yield told

    def _adopt(self, before: "Ensemble", places: npt.NDArray[np.int64]) -> None:
        """The networks with the scores of the actions that remain, and the rounds that played these."""
        kept = np.flatnonzero(places >= 0)
        for new, old in ((self.parameters, before.parameters), *zip(self.adam, before.adam, strict=True)):
            self.shape.adopt(new, before.shape, old, places)
        where = np.full(before.shape.sizes[-1], -1)
        where[places[kept]] = kept
        order = before._latest(np.arange(before.held)[::-1])
        order = order[where[before.actions[order]] >= 0]
        self._move_rows(before, order)
        for name in ("losses", "counted"):
            getattr(self, name)[: len(order)] = getattr(before, name)[order]
        self.actions[: len(order)] = where[before.actions[order]]
        self.counts[...] = before.counts
        self.counts[_KEPT] = len(order)

    def _move_rows(self, before: "Ensemble", order: npt.NDArray[np.int64]) -> None:
        """Those of these rounds come first, in this order."""
        self.rows[: len(order)] = before.rows[order]

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {**self._fields(), "rows": Field(self.rows, -FARTHEST, FARTHEST)}

    def _fields(self) -> dict[str, Field]:
        """But for rows."""
        return {
            "parameters": Field(self.parameters),
            "adam": Field(self.adam),
            "actions": Field(self.actions, 0, self.shape.sizes[-1] - 1),
            "losses": Field(self.losses, 0.0, 1.0),
            "counted": Field(self.counted, 0, 255),
            "counts": Field(self.counts, 0, COUNT),
        }

    def check(self) -> None:
        """The last of adam are those of squares; steps were made in rounds."""
        if len(self.adam) and self.adam[-1].min() < 0.0:
            raise ValueError("adam must have squares that are not negative")
        if self.counts[_STEPS:].max() > self.counts[_ROUNDS]:
            raise ValueError("counts must have no more steps, and no more rounds kept, than rounds")
        if self.held and not np.isfinite(self.kept(1)[0]).all():
            raise ValueError("parameters must give finite scores")
