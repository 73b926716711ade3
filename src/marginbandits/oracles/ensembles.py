"""Ensembles of networks that learn from rounds as they come: replay, and a step of AdamW or of Langevin.

A round is put by; every `every` rounds all networks take one step on a minibatch of those kept, the newest among them.
Each round costs V, one of `surrogates.two_sided_slope`, in the score of the action that was played. With N rounds and
the mean gradient g over the minibatch, of round s counted c_s times,

    bootstrap   c_s ~ Poisson(1), drawn once for each network;  AdamW on g
    langevin    c_s = 1;  θ <- θ - h (g + λθ/N) + τ √(2h/N) ξ,  h the rate, λ = 1, τ the temperature: draws of
                exp(-(Σ V + λ‖θ‖²/2)/τ²), but for the noise of minibatches, and what a step that is not small adds

Nothing is proved of either for networks: their potential is not convex. Rows are kept as they came, in the scales of
then; a learner puts the first ones into those that it knows later (`rescale`).

Chance is a function of a seed and of how many rounds were learnt: the same rounds give the same networks, bit for bit,
on one machine. A step whose numbers are no longer finite is refused, and the round with it.

Loshchilov & Hutter (2019), "Decoupled weight decay regularization"; Osband et al. (2016), "Deep exploration via
bootstrapped DQN"; Welling & Teh (2011), "Bayesian learning via stochastic gradient Langevin dynamics".

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

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.scores.devices import Held
from marginbandits.scores.networks import Networks, Room, namespace
from marginbandits.state import COUNT, Field, Journal, Record, refuse_large, zeros
from marginbandits.surrogates import two_sided_slope
from marginbandits.types import Array

__all__ = ["Ensemble", "adamw", "adamw_of_arrays"]

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
"""AdamW's usual three: β₁, β₂ and ε."""
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
        held = 6 if recipe.sampler == "bootstrap" else 2  # weights, and what AdamW remembers, each twice
        size = 4 * (held * self.shape.dimension + self.shape.roomy(recipe.minibatch))
        refuse_large(f"a step on {recipe.minibatch:,} rounds", size)
        self._device.refuse(size)
        self._now = self._fresh()
        self._spare = self._fresh()  # what the next step writes: the round can then be taken back without a copy
        self._room: Room | None = None  # until the first step: it is no part of what a file must have room for
        n_rounds = max(1, min(recipe.memory, _ROOM // n_features))
        self.rows: Small = zeros((n_rounds, n_features), np.float32)
        self.actions = zeros((n_rounds,), np.int64)
        self.losses: Small = zeros((n_rounds,), np.float32)
        self.counted = zeros((n_rounds, recipe.n_networks), np.uint8)
        self.counts = np.array([seed, 0, 0, 0], np.int64)
        self.begin()
        self.attach(Journal())

    def _fresh(self) -> Held:
        n = self.shape.dimension
        kept = 2 if self.recipe.sampler == "bootstrap" else 0
        return Held(self._device, zeros((n,), np.float32), zeros((kept, n), np.float32))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_room": None}  # a device's own arrays do not travel

    @property
    def parameters(self) -> Small:
        """All weights of all networks, as NumPy's array."""
        return self._now.here()[0]

    @property
    def adam(self) -> Small:
        """What AdamW remembers of them: mean slopes, and their squares."""
        return self._now.here()[1]

    def begin(self) -> None:
        """Nothing learnt: networks as they are drawn."""
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
        if rounds >= self.first and rounds % self.every == 0:
            self._step(chance)

    def rescale(self, ago: int, row: Array) -> None:
        """What the row of a round is in the scales of today, if it is still kept; of the last one `ago` is 1."""
        if ago <= self.held:
            at = (int(self.counts[_KEPT]) - ago) % len(self.rows)
            self.journal.keep(self.rows, at)
            self.rows[at] = self._seen(row)

    def _step(self, chance: np.random.Generator) -> None:
        held, n = self.held, self.recipe.minibatch
        chosen = chance.integers(held, size=n)
        newest = min(NEWEST, n, held)
        chosen[:newest] = (int(self.counts[_KEPT]) - 1 - np.arange(newest)) % len(self.rows)
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = self._gradient(chosen)
            for name in ("_now", "_spare"):
                self.journal.keep_attribute(self, name)
            (parameters, adam), before = self._spare.anew(self.journal), self._now.there()
            steps, recipe = self.steps + 1, self.recipe
            if recipe.sampler == "bootstrap":
                move: Any = adamw if self._device.name == "cpu" else adamw_of_arrays
                move(*before, gradient, recipe.rate, recipe.decay, steps, parameters, adam)
            else:
                h, N = recipe.rate, self.rounds
                noise = self._device.there(chance.standard_normal(len(parameters), np.float32))
                parameters[...] = before[0] * (1.0 - h / N) - h * gradient
                parameters += recipe.temperature * math.sqrt(2.0 * h / N) * noise
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

    def beyond(self) -> float:
        """The share of networks and of the last rounds kept whose score is beyond the margin, where they agree."""
        some = np.arange(self.held)[-1000:]
        found = self.shape.forward(self._now.there()[0], self._device.there(self.rows[some]))[-1]
        scores = self._device.here(found)[:, np.arange(len(some)), self.actions[some]]
        return float((scores * np.sign(1.0 - 2.0 * self.losses[some]) > self.margin).mean())

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
        """Second adam are those of squares; steps were made in rounds."""
        if len(self.adam) and self.adam[1].min() < 0.0:
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
