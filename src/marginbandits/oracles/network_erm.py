"""Small weighted hinge over networks: the oracle that lets SmoothFTL follow a class that is not linear.

    Σ_i c_i max(1 + f(x_i)_{a_i}/γ, 0),   c_i = weight · ℓ,   of each network f, whose scores are made to sum to zero

AdamW, `passes` times over the rounds in random order, each network from weights of its own. The cost is not convex:
what is found is small, not the least, and comes without a certificate. So the theorem of SmoothFTL, which asks for the
least, says nothing of it. The same rounds give the same networks, whatever came before.

A leader is its weights, and is saved with its learner (`oracles.leader`).

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", section 3.2.

>>> import numpy as np
>>> rows = np.array([[-1.0], [0.0], [1.0]] * 20)  # the first action loses in the middle, the second elsewhere
>>> middle = (rows[:, 0] == 0.0).astype(int)
>>> blocks = np.arange(60) // 3 % 2
>>> oracle = NetworkERM(0.5, networks=Networks(n_networks=1, width=16, rate=0.01), passes=100)
>>> leader = oracle.fit(rows, blocks, (blocks != middle).astype(float), np.ones(60), np.zeros((2, 1)))
>>> leader.scores(rows[:3]).argmax(1)
array([0, 1, 0])
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits.oracles.ensembles import FARTHEST
from marginbandits.oracles.steps import adamw, adamw_of_arrays, paced
from marginbandits.saving import Part
from marginbandits.scores.devices import Device, Held
from marginbandits.scores.networks import Networks
from marginbandits.state import Journal, refuse_large, zeros
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, Real, validated

__all__ = ["NetworkERM", "NetworkLeader"]


@dataclass(frozen=True, slots=True, eq=False)
class NetworkLeader:
    """What was found: the mean of the networks of these weights, all of them in one flat array."""

    shape: Any
    device: Device
    weights: npt.NDArray[np.float32]

    def scores(self, rows: Array) -> Array:
        """For each row and block, in double precision where it can be: rows then score as they do in a batch."""
        exact = self.shape.exact
        seen, there = np.clip(np.asarray(rows, float), -FARTHEST, FARTHEST), self.device.there
        with self.device.working():
            found = self.shape.forward(there(self.weights.astype(exact)), there(seen.astype(exact)))[-1]
        return np.asarray(self.device.here(found).mean(0))


class NetworkERM(Part):
    """The oracle of `networks`: sizes, `minibatch`, `rate`, `decay`, `norm`, `device` count; `seed` draws them."""

    @validated
    def __init__(
        self,
        margin: Annotated[float, Real(above=0)],
        *,
        networks: Annotated[Networks, Instance(Networks)] = Networks(n_networks=2, width=64),  # noqa: B008  # a recipe
        passes: Annotated[int, Integer(1, 10**6)] = 30,
        seed: Annotated[int, Integer(0, 2**53)] = 0,
    ) -> None:
        self.margin = margin
        networks.refuse_a_bag()
        self.networks = networks
        self.passes = passes
        self.seed = seed

    def begin(self, n_blocks: int, n_features: int) -> NetworkLeader:
        """The leader before any: weights that are all 0, and so are its scores."""
        shape = self.networks._shaped(n_features, n_blocks)
        refuse_large("what is looked for", 4 * (8 * shape.dimension + shape.roomy(self.networks.minibatch)))
        return NetworkLeader(shape, self.networks._device(), zeros((shape.dimension,), np.float32))

    def fit(
        self, rows: Array, blocks: npt.NDArray[np.int64], losses: Array, weights: Array, start: Array
    ) -> NetworkLeader:
        """Networks of small cost on these rounds, from weights drawn anew; `start` only says how many blocks."""
        device = self.networks._device()
        with device.working():
            return self._fitted(device, rows, blocks, losses * weights, start.shape)

    def _fitted(
        self, device: Device, rows: Array, blocks: npt.NDArray[np.int64], given: Array, sizes: tuple[int, ...]
    ) -> NetworkLeader:
        recipe, (n_blocks, d) = self.networks, sizes
        shape, rng = recipe._shaped(d, n_blocks), np.random.default_rng(self.seed)
        device.refuse(4 * (6 * shape.dimension + shape.roomy(recipe.minibatch)))
        now, after = (
            Held(device, zeros((shape.dimension,), np.float32), zeros((2, shape.dimension), np.float32))
            for _ in range(2)
        )
        begun = now.to_change()[0]
        begun[...] = shape.drawn(rng)
        if recipe.norm is not None:
            shape.bounded(begun, recipe.norm)
        costs = np.asarray(given, np.float32)
        used = np.flatnonzero(costs)  # a round without a loss has no say
        n, steps, journal = min(recipe.minibatch, max(1, len(used))), 0, Journal()
        if len(used):
            costs /= costs[used].mean()
        x, room, there = (
            np.clip(rows, -FARTHEST, FARTHEST).astype(np.float32),
            shape.room(n, device=device),
            device.there,
        )
        share = 1.0 / n_blocks if n_blocks > 1 else 0.0
        move: Any = adamw if device.name == "cpu" else adamw_of_arrays
        for _ in range(self.passes if len(used) else 0):
            order = rng.permutation(used)
            for at in range(0, len(order) - n + 1, n):
                some = order[at : at + n]
                parameters = now.there()[0]
                values = shape.forward(parameters, there(x[some]), room)
                own = slice(None), there(np.arange(n)), there(blocks[some])
                lost = values[-1][own] - share * values[-1].sum(-1)
                slopes = (lost > -self.margin) * there(costs[some]) / (n * self.margin)
                spread = room.slopes[-1]
                spread[...] = -share * slopes[..., None]
                spread[own] += slopes
                steps += 1
                gradient = shape.backward(parameters, values, spread, room)
                journal.begin()
                out = after.anew(journal)
                move(*now.there(), gradient, *paced(recipe.rate, recipe.decay, steps), *out)
                if recipe.norm is not None:
                    shape.bounded(out[0], recipe.norm)
                now, after = after, now
        found = now.here()[0]
        if not np.isfinite(found).all():
            raise FloatingPointError(f"the networks' numbers are no longer finite: rate={recipe.rate:g} is too large")
        return NetworkLeader(shape, device, found)
