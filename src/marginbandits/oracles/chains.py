"""Have networks' chains mixed? The networks of an ensemble move on from where they stand, on a copy, rounds held still.

    R̂           of each action's score in each of the last `CONTEXTS` rounds kept, one chain for each network
    ESS         how many independent draws all chains together are worth, of the same scores
    spread      variance of scores between networks over that of one along its chain: near 1 once they have mixed
    deviation   of scores between networks, in margins
    agreement   share of pairs of networks that would play the same action

Networks of a bootstrap are no chains of one law: each has its own rounds, so that they disagree for ever, by design.

>>> import numpy as np
>>> from marginbandits.oracles.ensembles import Ensemble
>>> from marginbandits.scores import Networks
>>> recipe = Networks(n_networks=2, width=4, minibatch=8, sampler="preconditioned")
>>> told = Ensemble(recipe, n_features=1, n_outputs=2, seed=0)
>>> for x in [-1.0, 1.0] * 30:
...     told.learn(np.array([x]), 0, loss=float(x > 0))
>>> found = chains(told, draws=10, every=2)
>>> found.steps, 0.0 <= found.agreement <= 1.0
(20, True)
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from marginbandits.oracles.ensembles import Ensemble
from marginbandits.samplers import effective_sample_size, split_r_hat

__all__ = ["Chains", "chains"]

CONTEXTS = 50


@dataclass(frozen=True, slots=True)
class Chains:
    """What `HingeLMC.chains` returns: R̂ and ESS are medians over scores, `largest_r_hat` is what it says."""

    steps: int
    r_hat: float
    largest_r_hat: float
    ess: float
    spread: float
    deviation: float
    agreement: float  # NaN where contexts have a row for each action, of which only the one played is kept


def chains(ensemble: Ensemble, *, draws: int, every: int) -> Chains:
    """After so many draws, each `every` steps after the one before; two networks or more, and a round that is kept."""
    if ensemble.shape.n_networks < 2:
        raise ValueError("n_networks must be at least 2 for chains to be compared, got 1")
    if not ensemble.held:
        raise ValueError("there are no chains before the next learn: no round is kept")
    moved = itertools.islice(ensemble.moved_on(), every - 1, draws * every, every)
    seen = np.stack([told.kept(CONTEXTS)[0].astype(float) for told in moved], 1)
    scores = seen.reshape(*seen.shape[:2], -1)  # networks x draws x (rounds and actions)
    r_hat, ess = split_r_hat(scores), effective_sample_size(scores)
    between, within = scores.var(0, ddof=1).mean(), scores.var(1, ddof=1).mean()
    best = seen.argmax(-1)
    same = [(one == other).mean() for one, other in itertools.combinations(best, 2)]
    return Chains(
        steps=draws * every,
        r_hat=float(np.median(r_hat)),
        largest_r_hat=float(r_hat.max()),
        ess=float(np.median(ess)),
        spread=float(between / within) if within > 0.0 else math.nan,
        deviation=float(np.sqrt(between)) / ensemble.margin,
        agreement=float(np.mean(same)) if seen.shape[-1] > 1 else math.nan,
    )
