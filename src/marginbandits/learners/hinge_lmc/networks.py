"""Hinge-LMC with networks for scores: an ensemble in the place of particles, and the widths of a ridge regression.

The networks (`oracles.ensembles`) are what the potential of the rounds makes of them: a bootstrap of it, or draws by
stochastic gradient Langevin dynamics. Played is the action of largest

    mean of s' + hope (SPREAD · deviation of s' + WIDTH γ √(zᵀA⁻¹z))   over the networks,   A = λI + Σ zzᵀ of the action

where s' is s within ±γ, and rises a thousandth as fast beyond: a score far beyond the margin says no more than one just
beyond it, but would outweigh every width.

Eight networks that were taught the same rounds agree about much that none of them has seen, so their deviation alone
explores too little: which actions are tried at all is then a matter of the seed. The width of a ridge regression on the
same features, which knows what was played where and nothing of what came of it, sees to that. Where rows are sparse
(`Networks(bag=…)`, `oracles.bagged`) its A is diagonal.
"""

from collections.abc import Iterable, Mapping
from inspect import Signature
from typing import Any

import numpy as np

from marginbandits.contexts import Batch, Rows, Sparse, dense
from marginbandits.learners.early import Round
from marginbandits.learners.hinge_lmc.diagnostics import Monitor, count
from marginbandits.oracles.bagged import BaggedEnsemble
from marginbandits.oracles.diagonal import DiagonalRidge
from marginbandits.oracles.ensembles import Ensemble
from marginbandits.oracles.ridge import Ridge
from marginbandits.scores import Networks
from marginbandits.state import Field, Journal, Record
from marginbandits.types import Array

__all__ = ["LESS", "LESS_OF_A_BAG", "NetworkPosterior", "refuse_idle"]

SPREAD, WIDTH, RIDGE, BEYOND = 0.3, 0.2, 0.1, 1e-3
"""How far deviations and widths are hoped for, at hope 1; λ; and what scores beyond the margin count."""


IDLE = {
    "n_particles": "n_networks",
    "temperature": "temperature",
    "moves": None,
    "step": "rate",
    "regularisation": "decay",
    "minibatch": "minibatch",
    "memory": "memory",
}
"""Parameters of particles, and which of `Networks` does what each of them does; None, if there is none."""


LESS = "Fewer columns, fewer n_networks and a smaller width need less; sparse rows are for Networks(bag=32)"
LESS_OF_A_BAG = "A smaller bag, or memory, of Networks needs less; so do fewer columns"


def refuse_idle(learner: object, declared: Signature) -> None:
    """Raise a ValueError for the first parameter of particles that is not as usual."""
    for name, instead in IDLE.items():
        given = getattr(learner, name)
        if given != declared.parameters[name].default:
            hint = "every network moves in every step" if instead is None else f"Networks({instead}=…) is for that"
            raise ValueError(f"{name} has no effect with scores=Networks(), got {given!r}: {hint}")


class NetworkPosterior(Record):
    """An ensemble, with a score for each action or one for a row of K x d contexts, and what was played where."""

    def __init__(
        self,
        recipe: Networks,
        n_blocks: int,
        n_features: int,
        *,
        seed: int,
        surrogate: str,
        margin: float,
        precision: type[np.floating[Any]],
    ) -> None:
        of_rows = Ensemble if recipe.bag is None else BaggedEnsemble
        self.ensemble = of_rows(recipe, n_features, n_blocks, seed=seed, surrogate=surrogate, margin=margin)
        self.played: Ridge | DiagonalRidge = (
            Ridge(n_blocks, n_features, RIDGE, precision)
            if recipe.bag is None
            else DiagonalRidge(n_blocks, n_features, RIDGE)
        )
        self.monitor = Monitor()
        self._margin = margin
        self.attach(Journal())

    def attach(self, journal: Journal) -> None:
        """The journal is that of all."""
        super().attach(journal)
        for one in self._parts().values():
            one.attach(journal)

    def _parts(self) -> dict[str, Record]:
        return {"ensemble": self.ensemble, "played": self.played, "monitor": self.monitor}

    def all_scores(self, batch: Batch) -> Array:
        """Networks x actions of all contexts, laid out like the mask, as they count."""
        found = self.ensemble.scores(batch.rows)
        scores = found.reshape(len(found), -1).astype(float)
        return np.asarray(np.clip(scores, -self._margin, self._margin) + BEYOND * scores)

    def scores(self, batch: Batch) -> tuple[Array, Array]:
        """Of each action: the mean of its score, and how far off that may be."""
        return self._hopeful(batch, self.all_scores(batch))

    def _hopeful(self, batch: Batch, scores: Array) -> tuple[Array, Array]:
        width = WIDTH * self._margin * np.sqrt(self.played.variance(batch))
        return scores.mean(0), SPREAD * scores.std(0) + width

    def learn(self, one: Batch, action: int, loss: float, probability: float, hope: float) -> None:
        """One round more."""
        scores = self.all_scores(one)
        means, deviations = self._hopeful(one, scores)
        agreement = float((scores.argmax(1) == (means + hope * deviations).argmax()).mean())
        score = float(means[action]) / self._margin
        hinge = loss * max(1.0 + score, 0.0) + (1.0 - loss) * max(1.0 - score, 0.0)
        seen = self.monitor
        count(seen.bins, seen.state, seen.weights, agreement, hinge, 1.0 / probability, seen.before, self.journal.stamp)
        rows, at, block = one.rows, one.row(action), one.block(action)
        self._play(rows, at, block)
        self.ensemble.learn(rows[at] if isinstance(rows, np.ndarray) else rows.take(np.array([at])), block, loss)

    def _play(self, rows: Rows, at: int, block: int) -> None:
        if isinstance(self.played, Ridge):
            self.played.learn(self.played._like(rows), at, block, 0.0)
        else:
            assert isinstance(rows, Sparse)
            self.played.learn(rows, at, block, 0.0)

    def relearn(self, rounds: Iterable[Round]) -> None:
        """What the rows of the first rounds are in the scales of today; the last of these is not learnt yet."""
        found = [(dense(one.rows), one.row(action), one.block(action)) for one, action, _, _ in rounds][:-1]
        assert isinstance(self.played, Ridge)  # sparse rows are not learnt anew
        self.played.begin()
        for i, (rows, at, block) in enumerate(found):
            self._play(rows, at, block)
            self.ensemble.rescale(len(found) - i, rows[at])

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        parts = self._parts().items()
        return {f"{name}.{inner}": field for name, one in parts for inner, field in one.fields().items()}

    def _adopt(self, before: "NetworkPosterior", places: Any) -> None:
        """The same of other actions."""
        for name, one in self._parts().items():
            one._adopt(before._parts()[name], places)

    def check(self) -> None:
        """Only what rounds could have left."""
        for one in self._parts().values():
            one.check()
