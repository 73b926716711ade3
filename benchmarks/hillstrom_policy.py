"""A policy learnt on one half of a real randomised trial, judged on the other, beside the best constant.

    python benchmarks/hillstrom_policy.py hillstrom.npz [--splits 10]

Hillstrom's trial, as in `hillstrom.py`. Values are self-normalised (the mean visit rate of those customers of the other
half who happened to get what the policy would have sent them), and the difference to the best of three constants *on
that half* is paired, with its standard error. "hindsight" is a rule that no half is asked for: the women's e-mail for
those who have bought nothing from the men's side, the one group that visits more after it in the trial as a whole.
First comes what `mb.evaluate` makes of each constant on the whole trial, where the arm's mean is known.
"""

import numpy as np
import numpy.typing as npt
from hillstrom import trial

import marginbandits as mb
from marginbandits.types import Array

NONE, MENS, WOMENS = range(3)
BOUGHT_MENS = 2  # the column


def difference(played: Array, other: Array, visits: Array) -> tuple[float, float]:
    """Of two self-normalised means, by what each would have sent (n booleans: as it was); and its standard error."""
    influence = np.zeros(len(visits))
    means = []
    for sign, match in ((1.0, played), (-1.0, other)):
        mean = float(visits[match].mean())
        influence += sign * match / match.mean() * (visits - mean)
        means.append(mean)
    return means[0] - means[1], float(influence.std(ddof=1) / len(visits) ** 0.5)


def main() -> None:
    X, action, visit, splits = trial(__doc__)
    log = mb.Logged(X, action, rewards=visit, probabilities=np.full(len(X), 1 / 3), n_actions=3)
    for arm in (NONE, MENS, WOMENS):
        ips, snips, dr = mb.evaluate(arm, log, method=["ips", "snips", "dr"], outcome="reward")
        equal = "equals" if abs(snips.value - visit[action == arm].mean()) < 1e-12 else "IS NOT"
        told = f"snips {snips.value:.4f} ({snips.low:.4f} to {snips.high:.4f}) {equal} the arm's mean"
        print(f"always {arm}: {told}; dr {dr.value:.4f}, ips {ips.value:.4f}", flush=True)
    leads: dict[str, list[float]] = {"MarginPolicy": [], "hindsight": []}
    for seed in range(splits):
        learn, judge = np.split(np.random.default_rng(seed).permutation(len(X)), 2)
        policy = mb.MarginPolicy(seed=seed)
        policy.fit(X[learn], action[learn], 1.0 - visit[learn], np.full(len(learn), 1 / 3))
        sent: dict[str, npt.NDArray[np.int64]] = {
            "MarginPolicy": policy.predict(X[judge]),
            "hindsight": np.where(X[judge, BOUGHT_MENS] == 0, WOMENS, MENS),
        }
        taken, visits = action[judge], visit[judge]
        best = max((NONE, MENS, WOMENS), key=lambda one: visits[taken == one].mean())
        told = f"split {seed}: best constant {visits[taken == best].mean():.4f}"
        for name, one in sent.items():
            lead, error = difference(taken == one, taken == best, visits)
            leads[name].append(lead)
            told += f", {name} {lead:+.4f} ± {error:.4f}"
        print(told, flush=True)
    for name, found in leads.items():
        values = np.array(found)
        error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
        worse = int((values < 0).sum())
        print(f"{name}: {values.mean():+.5f} ± {error:.5f} on the mean, worse on {worse} of {len(values)} splits")


if __name__ == "__main__":
    main()
