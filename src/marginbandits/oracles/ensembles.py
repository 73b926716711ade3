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
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.later import Later
from marginbandits.scores.devices import Held
from marginbandits.scores.networks import Networks, Room, namespace
from marginbandits.state import COUNT, Field, Journal, Record, refuse_large, zeros
from marginbandits.surrogates import two_sided_slope
from marginbandits.types import Array

__all__ = ["Ensemble", "adamw", "adamw_of_arrays", "langevin"]

Small = npt.NDArray[np.float32]

FIRST = 16
"""Rounds before the first step."""
NEWEST = 8
"""Rounds of a minibatch that are the last ones."""
FARTHEST = 1e3
"""No column that networks see is larger."""
_ROOM = 2**27
"""Numbers that rows may take; where `memory` would be more, it is less."""
_FADE, _FADE_SQUARES, _LEAST = 0.9, 0.999, 1e-8
"""AdamW's usual three: β₁, β₂ and ε; the preconditioner has the second."""
_FEWEST = 10.0
"""Steps that λ alone would need, at the least, to take a weight to 0."""
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
        n_rounds = max(1, min(recipe.memory, _ROOM // n_features))
        self.rows: Small = zeros((n_rounds, n_features), np.float32)
        self.actions = zeros((n_rounds,), np.int64)
        self.losses: Small = zeros((n_rounds,), np.float32)
        self.counted = zeros((n_rounds, recipe.n_networks), np.uint8)
        self.counts = np.array([seed, 0, 0, 0], np.int64)
        self.attach(Journal())
        self.begin()

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
        self.parameters[...] = self.shape.drawn(self._chance(0))
        self.adam[...] = 0.0
        for array in (self.rows, self.actions, self.losses, self.counted):
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
    def held(self) -> int:
        """How many are kept."""
        return min(int(self.counts[_KEPT]), len(self.rows))

    def scores(self, rows: Array) -> Small:
        """Of n rows: networks x n x outputs."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.shape.forward(self._now.there()[0], self._device.there(self._seen(rows)))[-1]
        return self._device.here(found)

    def _seen(self, rows: Array) -> Small:
        seen = np.clip(rows * self._scale, -FARTHEST, FARTHEST)
        return np.asarray(seen, np.float32)

    def learn(self, row: Array, action: int, loss: float) -> None:
        """Put a round by, and take a step if it is time."""
        rounds, at, keep = self.rounds, int(self.counts[_KEPT]) % len(self.rows), self.journal.keep
        keep(self.counts)
        for array in (self.rows, self.actions, self.losses, self.counted):
            keep(array, at)
        chance = self._chance(rounds + 1)
        self.rows[at], self.actions[at], self.losses[at] = self._seen(row), action, loss
        self.counted[at] = np.minimum(chance.poisson(1.0, self.counted.shape[1]), 255)
        self.counts[_ROUNDS] = rounds = min(rounds + 1, COUNT)
        self.counts[_KEPT] = min(int(self.counts[_KEPT]) + 1, COUNT)
        if self._coming is not None and self._coming.ready:
            self._take_in(chance)
        if rounds >= self.first and rounds % self.every == 0:
            if not self.recipe.background:
                self._step(chance)
            elif self._coming is None:
                self.journal.keep_attribute(self, "_coming")
                self._coming = Later(self._apart(chance))

    def rescale(self, ago: int, row: Array) -> None:
        """What the row of a round is in the scales of today, if it is still kept; of the last one `ago` is 1."""
        if ago <= self.held:
            at = (int(self.counts[_KEPT]) - ago) % len(self.rows)
            self.journal.keep(self.rows, at)
            self.rows[at] = self._seen(row)

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
        held, n = self.held, self.recipe.minibatch
        chosen = chance.integers(held, size=n)
        newest = min(NEWEST, n, held)
        chosen[:newest] = (int(self.counts[_KEPT]) - 1 - np.arange(newest)) % len(self.rows)
        return chosen

    def _step(self, chance: np.random.Generator) -> None:
        self._move(chance, self._chosen(chance))

    def _move(self, chance: np.random.Generator, chosen: npt.NDArray[np.int64]) -> None:
        """A step on these rounds."""
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = self._gradient(chosen)
            for name in ("_now", "_spare"):
                self.journal.keep_attribute(self, name)
            (parameters, adam), before = self._spare.anew(self.journal), self._now.there()
            steps, recipe = self.steps + 1, self.recipe
            move: Any = langevin
            if recipe.sampler == "bootstrap":
                move = adamw if self._device.name == "cpu" else adamw_of_arrays
                move(*before, gradient, recipe.rate, recipe.decay, steps, parameters, adam)
            else:
                noise = self._device.there(chance.standard_normal(len(parameters), np.float32))
                warmth = recipe.rate, recipe.temperature, self.rounds, steps
                move(*before, gradient, noise, *warmth, parameters, adam)
            if recipe.norm is not None:
                self.shape.bounded(parameters, recipe.norm)
            newest = self.shape.forward(parameters, self._device.there(self.rows[chosen[:1]]))[-1]  # or none could act
            good = all(math.isfinite(float(one.sum())) for one in (parameters, adam, newest))
        if not good:
            raise FloatingPointError(f"the networks' numbers are no longer finite: rate={recipe.rate:g} is too large")
        self._now, self._spare = self._spare, self._now
        self.counts[_STEPS] = min(steps, COUNT)

    def _gradient(self, chosen: npt.NDArray[np.int64]) -> Any:
        """Of the mean cost of these rounds, as often as each network counts them."""
        there, parameters = self._device.there, self._now.there()[0]
        room = self._room = self._room or self.shape.room(self.recipe.minibatch, device=self._device)
        values = self.shape.forward(parameters, there(self.rows[chosen]), room)
        own = slice(None), there(np.arange(len(chosen))), there(self.actions[chosen])
        losses = there(self.losses[chosen])
        slopes = two_sided_slope(self.surrogate, values[-1][own], losses, self.margin, self._device.xp)
        if self.recipe.sampler == "bootstrap":
            slopes = slopes * there(self.counted[chosen].T)
        spread = room.slopes[-1]
        spread[...] = 0.0
        spread[own] = slopes / len(chosen)
        return self.shape.backward(parameters, values, spread, room)

    def kept(self, n: int) -> tuple[Small, npt.NDArray[np.int64]]:
        """Scores of the last n rounds kept, networks x rounds x outputs, and where these rounds are."""
        some = (int(self.counts[_KEPT]) - 1 - np.arange(min(n, self.held))) % len(self.rows)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.shape.forward(self._now.there()[0], self._device.there(self.rows[some]))[-1]
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
        n, size = int(before.counts[_KEPT]), len(before.rows)
        order = np.arange(max(0, n - size), n) % size
        order = order[where[before.actions[order]] >= 0]
        for name in ("rows", "losses", "counted"):
            getattr(self, name)[: len(order)] = getattr(before, name)[order]
        self.actions[: len(order)] = where[before.actions[order]]
        self.counts[...] = before.counts
        self.counts[_KEPT] = len(order)

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "parameters": Field(self.parameters),
            "adam": Field(self.adam),
            "rows": Field(self.rows, -FARTHEST, FARTHEST),
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


@kernel
def adamw(
    parameters: Small,
    adam: Small,
    gradient: Small,
    rate: float,
    decay: float,
    steps: int,
    out: Small,
    out_adam: Small,
) -> None:
    """One step of AdamW into `out` and `out_adam`; `steps` counts it."""
    one = np.float32(1.0)
    fade, fade_squares, least = np.float32(_FADE), np.float32(_FADE_SQUARES), np.float32(_LEAST)
    h = np.float32(rate / (1.0 - _FADE**steps))
    wide = np.float32(1.0 / (1.0 - _FADE_SQUARES**steps))
    shrunk = np.float32(1.0 - rate * decay)
    m, v, p, q = adam[0], adam[1], out_adam[0], out_adam[1]
    for i in range(parameters.shape[0]):
        g = gradient[i]
        p[i] = fade * m[i] + (one - fade) * g
        q[i] = fade_squares * v[i] + (one - fade_squares) * g * g
        out[i] = shrunk * parameters[i] - h * p[i] / (np.sqrt(wide * q[i]) + least)


def adamw_of_arrays(
    parameters: Any, adam: Any, gradient: Any, rate: float, decay: float, steps: int, out: Any, out_adam: Any
) -> None:
    """`adamw` on the arrays of any library; the same but for rounding."""
    fade, fade_squares = float(np.float32(_FADE)), float(np.float32(_FADE_SQUARES))
    h, wide = rate / (1.0 - _FADE**steps), 1.0 / (1.0 - _FADE_SQUARES**steps)
    out_adam[0, ...] = fade * adam[0, ...] + (1.0 - fade) * gradient
    out_adam[1, ...] = fade_squares * adam[1, ...] + (1.0 - fade_squares) * gradient * gradient
    roots = namespace(parameters).sqrt(wide * out_adam[1, ...])
    # Taken off at once: 1 - rate * decay is so near 1 that a product with it, rounded, decays too much or too little.
    out[...] = parameters - (rate * decay * parameters + h * out_adam[0, ...] / (roots + _LEAST))


def langevin(
    parameters: Any,
    squares: Any,
    gradient: Any,
    noise: Any,
    rate: float,
    temperature: float,
    rounds: int,
    steps: int,
    out: Any,
    out_squares: Any,
) -> None:
    """One step of Langevin dynamics into `out`, of any library's arrays; preconditioned, if there are `squares`."""
    slopes, spread = gradient + parameters / rounds, temperature * math.sqrt(2.0 * rate / rounds)
    if not len(squares):
        out[...] = parameters - (rate * slopes - spread * noise)
        return
    out_squares[0, ...] = _FADE_SQUARES * squares[0, ...] + (1.0 - _FADE_SQUARES) * slopes * slopes
    root = namespace(parameters).sqrt
    gain = 1.0 / (root(out_squares[0, ...] / (1.0 - _FADE_SQUARES**steps)) + _FEWEST * rate / rounds)
    out[...] = parameters - (rate * gain * slopes - spread * root(gain) * noise)
