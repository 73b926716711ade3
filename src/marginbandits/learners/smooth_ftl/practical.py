"""SmoothFTL in its practical form: no horizon, all data so far, leaders refitted as the data grows.

For each action a, the leader w minimises the two-sided hinge over the rounds that played a (`oracles.two_sided`):

    Σ ℓ (γ + s)_+ + (1 - ℓ)(γ - s)_+ + s²/2,   s = <w, z>,   and λ‖w‖²/2

Rounds count alike, whatever their probability. An action's leader is found anew when its rounds have grown by the
factor `growth`, and stays fixed in between. With it come draws δ from N(0, A⁻¹), A the curvature of its quadratic part,
and played is the action of largest

    <w, z> + α (mean of <δ, z>²)^{1/2}

an optimistic score whose second part estimates α(zᵀA⁻¹z)^{1/2}, with a floor μ_t that fades like 1/√t under every
action.

At most `memory` rounds of each action are kept, a uniform sample of them, which then stands for all.

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", section 3.2.

>>> agent = SmoothFTL(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.9)
True
"""

import math
from typing import Annotated, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features
from marginbandits.laws import greedy_over_floor
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.smooth_ftl import faithful
from marginbandits.learners.smooth_ftl.grams import Grams
from marginbandits.learners.smooth_ftl.wide import WideLeaders
from marginbandits.oracles.two_sided import two_sided_leader
from marginbandits.reservoir import Reservoir
from marginbandits.samplers.particles import scores_of
from marginbandits.state import Field, zeros
from marginbandits.theory import epoch_end
from marginbandits.types import Array, Mask
from marginbandits.validation import Integer, Real, validated

__all__ = ["SmoothFTL"]

Places = npt.NDArray[np.int64]


class SmoothFTL(Learner):
    """Optimistic play on one leader per action, refitted whenever its data has grown by the factor `growth`.

    `margin` is γ, in units where a score of ±1 stands for certainty; `alpha` is how many widths of confidence are hoped
    for, each width estimated from `n_draws`; `smoothing` scales the floor μ_t = smoothing/(K√t). O(Kd·n_draws) to act,
    8Kd (d + memory) bytes for d features.
    """

    journals = True
    takes_sparse = True
    changes_actions = True
    from_theory = staticmethod(faithful.from_theory)
    live = frozenset({"alpha", "smoothing"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        margin: Annotated[float, Real(above=0)] = 1.2,
        alpha: Annotated[float, Real(0)] = 0.3,
        n_draws: Annotated[int, Integer(1)] = 16,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        smoothing: Annotated[float, Real(0)] = 0.02,
        growth: Annotated[float, Real(above=1, high=100)] = 1.1,
        memory: Annotated[int, Integer(1)] = 2_000,
        features: Features = "fourier",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.margin = margin
        self.alpha = alpha
        self.n_draws = n_draws
        self.regularisation = regularisation
        self.smoothing = smoothing
        self.growth = growth
        self.memory = memory

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        n_blocks = 1 if shape.shared else self.n_actions
        self._refit_at = np.ones(n_blocks, np.int64)
        refit_at = Field(self._refit_at, 1, 2**62, per_block=True)
        self._wide = WideLeaders(n_blocks, n_features, self.memory, self.regularisation) if shape.sparse else None
        if self._wide is not None:
            return {"wide": self._wide, "refit_at": refit_at}
        self._reservoir = Reservoir(n_blocks, self.memory, n_features)
        self._grams = Grams(n_blocks, self.memory, n_features, self._journal)
        # What is named has scales of its own, and columns of about one: single precision is enough to play by.
        number = np.float32 if isinstance(self.features, str) else np.float64
        self._fits: Array = zeros((n_blocks, 1 + self.n_draws, n_features), number)  # the leader, then its deviations
        self._fits[:, 1:] = self._rng.standard_normal(self._fits[:, 1:].shape) / math.sqrt(self.regularisation)
        return {
            "reservoir": self._reservoir,
            "fits": Field(self._fits, per_block=True),
            "refit_at": refit_at,
        }

    def _scores(self, one: Batch) -> tuple[Array, Array]:
        """Of each action, by its leader, and their widths."""
        if self._wide is not None:
            return self._wide.spread(one)
        rows = dense(one.rows)
        if one.shared:
            scores = rows @ self._fits[0].T
        else:
            scores = (self._fits.reshape(-1, rows.shape[1]) @ rows[0]).reshape(self.n_actions, -1)
        return scores[:, 0], np.sqrt((scores[:, 1:] ** 2).mean(1))

    def _law(self, one: Batch) -> Array:
        n, seen = len(one.mask), self._reservoir.seen if self._wide is None else self._wide.seen
        floor = self.smoothing / (n * math.sqrt(max(1, seen.sum())))
        if self._wide is not None:
            scores, widths = self._wide.spread(one)
            return laws.floored(laws.greedy(scores + self.alpha * widths, one), one, floor)
        law = np.empty(n)
        if not play_one(dense(one.rows), one.shared, one.starts, one.mask, self._fits, self.alpha, floor, law):
            raise FloatingPointError("the model's numbers are no longer finite")
        return law

    def _predicted(self, batch: Batch) -> Array:
        return 0.5 - 0.5 * self._scores(batch)[0]

    def _widths(self, batch: Batch) -> Array:
        return 0.5 * self.alpha * self._scores(batch)[1]

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        block = one.block(action)
        if self._wide is not None:
            self._wide.put(one, action, loss)
            if self._due(block, self._wide.seen):
                self._wide.lead(block, self.margin)
            return
        normal, kept = self._chance().standard_normal(), self._reservoir
        kept.keep(block, dense(one.rows)[one.row(action)], loss, normal)
        if self._due(block, kept.seen):
            self._refit(block, normal)

    def _due(self, block: int, seen: Places) -> bool:
        """Whether the action's next epoch begins."""
        due = bool(seen[block] >= self._refit_at[block])
        if due:
            self._journal.keep(self._refit_at, block)
            self._refit_at[block] = epoch_end(int(seen[block]), self.growth)
        return due

    def _refit(self, block: int, normal: float) -> None:
        """Find the leader of a block, and draw its deviations: by chance of its own, begun from the round's draw.

        So every round takes one draw of the learner's generator, whatever it does with it.
        """
        kept, d = self._reservoir, self._fits.shape[2]
        n, rng = kept.held(block), np.random.default_rng(int(np.float64(normal).view(np.uint64)))
        rows, seen = kept.rows[block, :n], int(kept.seen[block])
        self._journal.keep(self._fits, block)
        self._fits[block, 0], self._fits[block, 1:] = two_sided_leader(
            rows,
            kept.losses[block, :n],
            margin=self.margin,
            regularisation=self.regularisation,
            rounds=float(seen),
            normals=(rng.standard_normal((n if n <= d else 0, self.n_draws)), rng.standard_normal((d, self.n_draws))),
            gram=self._grams.of(block, rows, whole=seen == n),
        )


@kernel
def play_one(
    rows: Array, shared: bool, starts: Places, mask: Mask, fits: Array, alpha: float, floor: float, law: Array
) -> bool:
    """The law: the action of largest optimistic score, over a floor under each that is available. False at a NaN."""
    scores = np.empty((law.shape[0], fits.shape[1]))
    scores_of(fits, rows, shared, np.empty(fits.shape[2], fits.dtype), scores)
    for a in range(law.shape[0]):
        total = 0.0
        for k in range(1, scores.shape[1]):
            total += scores[a, k] * scores[a, k]
        law[a] = scores[a, 0] + alpha * math.sqrt(total / (scores.shape[1] - 1))
    return greedy_over_floor(law, starts, mask, floor, law)
