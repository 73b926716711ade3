"""SmoothFTL's theorem, run: how regret grows with T, beside Epoch-Greedy with the same oracle.

    python benchmarks/smooth_ftl_theorem.py [--rounds 1000,2000,4000] [--seeds 6] [--figure FILE.png]

Every horizon T has its own run with its own μ, as the theorem has it. The class is linear scores in a ball, of entropy
exponent p = 2 whatever the dimension; for any p < 2 the proof's μ is the same, (γ²T)^{-1/3}/K, so these runs are also
those of any smaller p, and the order to compare with is (T/γ)^{2/3} for both. Rounds are independent draws from one
law, and regret is expected regret, the sum of <law, mean losses>, free of the noise of actions and losses, against

    hinge    T (1/K) min_f E <ℓ, ψ(f)>, the theorem's benchmark
    policy   T E min_a E ℓ(a), the best there is

which are the same where the hinge is realizable. Where it is not, the first is found by `HingeERM` from 50,000 fresh
rounds, and 50,000 more say how far off it may be. Slopes are least squares of log regret, to the hinge
benchmark, on log T for each seed, with a 95% interval over seeds.

    SmoothFTL     hinge leaders, as analysed
    ramp          the same with the ramp's leaders and play
    printed μ     the same as the first, with the statement's μ = T^{-1/3}/K, which lacks γ
    Epoch-Greedy  greedy play on the hinge leader of T^{2/3} explored rounds, all of them

The whole takes about ten minutes of one core; with three seeds and T up to 4,000, one.
"""

import argparse
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import marginbandits as mb
from marginbandits.oracles.hinge_erm import HingeERM
from marginbandits.theory import Game, ftl_rate
from marginbandits.types import Array

K = 3
WIDEST = 1.0 / ((K - 1) * math.sqrt(K))
ROUNDS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)


@dataclass(frozen=True)
class Problem:
    """Hinge-realizable contexts at `share` of the widest margin, with wrong labels: realizable if the share is 1."""

    n_features: int
    share: float
    noise: float

    @property
    def margin(self) -> float:
        """γ, of the problem and of the learners."""
        return self.share * WIDEST

    @property
    def realizable(self) -> bool:
        """Whether some regressor's hinge loss is K times the best policy's loss."""
        return self.noise == 0.0 or self.share == 1.0

    @property
    def title(self) -> str:
        """In words."""
        noisy = f", {self.noise:.0%} of labels wrong" if self.noise else ""
        kind = "hinge-realizable" if self.realizable else "not hinge-realizable"
        return f"{kind}, K = {K}, {self.n_features} features, γ = {self.margin:.3f}{noisy}"

    def draw(self, n_rounds: int, seed: int) -> tuple[mb.HingeRealizable, Array]:
        """Rounds, and the mean losses of every action in them."""
        env = mb.HingeRealizable(K, self.n_features, n_rounds, margin=self.margin, noise=self.noise, seed=seed)
        best = np.eye(K)[env.best_scores.argmax(1)]
        return env, np.asarray(best * self.noise + (1 - best) * (1 - self.noise / (K - 1)))


PROBLEMS = (Problem(50, 0.5, 0.0), Problem(2, 1.0, 0.1), Problem(50, 0.5, 0.1))


@dataclass(frozen=True)
class Curve:
    """Regret of one learner on one problem, for each T and seed, against both benchmarks."""

    problem: Problem
    learner: str
    rounds: tuple[int, ...]
    hinge: Array
    policy: Array
    hinge_benchmark: float  # a round
    uncertain: float  # by which the benchmark may be off
    gap: float  # the largest certified gap of a leader, relative to its value

    @property
    def slopes(self) -> Array:
        """Of log regret on log T, for each seed; NaN where some regret is not positive."""
        if (self.hinge <= 0.0).any():
            return np.full(self.hinge.shape[1], np.nan)
        return np.asarray(np.polyfit(np.log(self.rounds), np.log(self.hinge), 1)[0])


def smooth_ftl(surrogate: str, version: str) -> Callable[[Problem, int, int], mb.Learner]:
    def build(problem: Problem, T: int, seed: int) -> mb.Learner:
        return mb.SmoothFTL.from_theory(
            n_features=problem.n_features,
            n_actions=K,
            horizon=T,
            margin=problem.margin,
            p=2,
            version=version,
            surrogate=surrogate,
            outside_theory=surrogate == "ramp",
            seed=seed,
        )

    return build


def epoch_greedy(problem: Problem, T: int, seed: int) -> mb.Learner:
    return mb.EpochGreedy(K, oracle=HingeERM(problem.margin), features=mb.Identity(), seed=seed)


LEARNERS: dict[str, Callable[[Problem, int, int], mb.Learner]] = {
    "SmoothFTL": smooth_ftl("hinge", "proof"),
    "ramp": smooth_ftl("ramp", "proof"),
    "printed μ": smooth_ftl("hinge", "printed"),
    "Epoch-Greedy": epoch_greedy,
}


def hinge_benchmark(problem: Problem, n: int) -> tuple[float, float]:
    """(1/K) min_f E <ℓ, ψ(f)> by half of the rounds, and how far off it may be, by what the other half says of f."""
    if problem.realizable:
        return problem.noise, 0.0
    env, means = problem.draw(n, 1_000)
    fit = HingeERM(problem.margin).minimise(env.contexts[: n // 2], means[: n // 2])
    low = (fit.value - fit.gap) / (K * n // 2)
    fresh = (means[n // 2 :] * mb.Hinge(problem.margin)(fit.scores(env.contexts[n // 2 :]))).sum(1) / K
    return low, float(abs(fresh.mean() - low) + 2.0 * fresh.std() / fresh.size**0.5)


def experiment(rounds: tuple[int, ...] = ROUNDS, seeds: int = 6) -> list[Curve]:
    """Every learner on every problem, at every T."""
    curves = []
    for problem in PROBLEMS:
        benchmark, uncertain = hinge_benchmark(problem, min(100 * max(rounds), 100_000))
        for name, build in LEARNERS.items():
            hinge, policy, gap = np.empty((len(rounds), seeds)), np.empty((len(rounds), seeds)), 0.0
            for i, T in enumerate(rounds):
                for seed in range(seeds):
                    env, means = problem.draw(T, seed)
                    agent = build(problem, T, seed)
                    loss = (mb.simulate(agent, env).laws * means).sum()
                    hinge[i, seed], policy[i, seed] = loss - T * benchmark, loss - means.min(1).sum()
                    if isinstance(agent, mb.FaithfulSmoothFTL):
                        gaps = [e.gap / e.value for e in agent.epochs() if e.gap is not None and e.value > 1e-6]
                        gap = max([gap, *gaps])
            curves.append(Curve(problem, name, rounds, hinge, policy, benchmark, uncertain, gap))
    return curves


def show(curves: list[Curve]) -> None:
    for problem in PROBLEMS:
        own = [curve for curve in curves if curve.problem == problem]
        print(f"\n{problem.title}")
        if not problem.realizable:
            low, off = own[0].hinge_benchmark, own[0].uncertain
            print(f"hinge benchmark {low:.4f} ± {off:.4f}, best policy {problem.noise:.4f} a round")
        print(f"{'learner':<14}{'against':<8}" + "".join(f"{T:>13,}" for T in own[0].rounds) + "          slope")
        for curve in own:
            for name, regret in (("hinge", curve.hinge), ("policy", curve.policy))[: 1 + (not problem.realizable)]:
                cells = "".join(f"{r.mean():>8.0f} ±{r.std(ddof=1) / len(r) ** 0.5:>3.0f}" for r in regret)
                print(f"{curve.learner * (name == 'hinge'):<14}{name:<8}{cells}" + tail(curve) * (name == "hinge"))
        order = [ftl_rate(2.0, Game(n_actions=K, horizon=T, margin=problem.margin)).value for T in own[0].rounds]
        print(f"{'(T/γ)^{2/3}':<22}" + "".join(f"{value:>13,.0f}" for value in order) + "   0.667")
    print(f"\nlargest gap of a hinge leader, relative to its value: {max(curve.gap for curve in curves):.1e}")


def tail(curve: Curve) -> str:
    if np.isnan(curve.slopes).any():
        return "   not positive"
    found = mb.interval(curve.slopes)
    return f"   {found.mean:.3f} ± {found.high - found.mean:.3f}"


def draw(curves: list[Curve], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(PROBLEMS), figsize=(15, 4.6))
    for axis, problem in zip(axes, PROBLEMS, strict=True):
        against = "hinge" if problem.realizable else "policy"
        for colour, curve in enumerate(curve for curve in curves if curve.problem == problem):
            regret, T = getattr(curve, against), np.array(curve.rounds)
            error = 1.96 * regret.std(1, ddof=1) / regret.shape[1] ** 0.5
            slope = f" (slope{tail(curve)})".replace("   ", " ") if problem.realizable else ""
            axis.errorbar(T, regret.mean(1), error, marker="o", ms=3, color=f"C{colour}", label=curve.learner + slope)
            if not problem.realizable and curve.learner == "SmoothFTL":
                gap = curve.hinge_benchmark - problem.noise
                axis.plot(T, gap * T, "k-", lw=1, label="the hinge benchmark's own")
        order = [ftl_rate(2.0, Game(n_actions=K, horizon=int(t), margin=problem.margin)).value for t in T]
        axis.plot(T, order, "--", color="0.5", lw=1, label="(T/γ)^{2/3}")
        axis.plot(T, T * (K - 1) / K * (1 - problem.noise * K / (K - 1)), ":", color="0.5", label="uniform play")
        axis.set(xscale="log", yscale="log", xlabel="T", ylabel="regret to the best policy")
        axis.set_title(problem.title, fontsize=8)
        axis.margins(y=0.2)
        axis.legend(fontsize=7, loc="upper left")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"\nfigure: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", default=",".join(map(str, ROUNDS)), help="horizons T, separated by commas")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--figure", type=Path, help="where to draw the figure; nowhere by default")
    options = parser.parse_args()
    start = time.perf_counter()
    curves = experiment(tuple(int(T) for T in options.rounds.split(",")), options.seeds)
    show(curves)
    print(f"{time.perf_counter() - start:.0f} seconds")
    if options.figure is not None:
        draw(curves, options.figure)


if __name__ == "__main__":
    main()
