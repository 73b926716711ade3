"""Chains of networks whose rate goes in cycles, beside one rate for ever: which mix better.

    python benchmarks/networks_cycles.py [--rounds 1797] [--steps 2000]

A cycle of C steps begins at a large rate and ends near 0, h_t = h (cos(π t/C) + 1)/2; draws, and noise, are those of
its second half (Zhang, Li, Zhang, Chen & Wilson 2020, "Cyclical stochastic gradient MCMC for Bayesian deep learning"),
or there is noise all along. First digits, played once with preconditioned Langevin networks; from where they are, each
kind takes as many steps on the rounds that were learnt. Then 500 networks of four parameters, whose posterior is known
by quadrature: how far the first two moments of a score are off, the second half of all steps. One thread.
"""

import argparse
import math
import os
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from beside.asked import count

import marginbandits as mb
from marginbandits.oracles import ensembles, steps
from marginbandits.samplers import effective_sample_size, split_r_hat

RATE, EVERY = 0.003, 10
KINDS = [
    (0, 1.0, True),
    *(
        (length, peak, noise)
        for noise in (False, True)
        for length, peak in ((50, 2.0), (50, 4.0), (200, 2.0), (200, 4.0))
    ),
]
"""Steps of a cycle, or 0; how many times the usual rate it begins at; whether there is noise all along."""


class Cycles:
    """Langevin steps at a rate that depends on their number."""

    def __init__(self, length: int, peak: float, noise: bool) -> None:
        self.length, self.peak, self.noise, self.taken = length, peak, noise, 0

    @property
    def draws(self) -> bool:
        """Whether the last step was one of the second half."""
        return not self.length or 2 * ((self.taken - 1) % self.length) >= self.length

    def step(self, *given: Any) -> None:
        """In the place of `langevin`."""
        *before, rate, temperature, rounds, number, out, squares = given
        if self.length:
            rate *= self.peak * (math.cos(math.pi * (self.taken % self.length) / self.length) + 1.0) / 2.0
        self.taken += 1
        warmth = temperature * (self.noise or self.draws)
        step: Any = steps.langevin
        step(*before, max(rate, 1e-9), warmth, rounds, number, out, squares)


def named(length: int, peak: float, noise: bool) -> str:
    return f"cycles of {length}, from {peak:g} times{', noise' * noise}" if length else "one rate"


def digits(rounds: int, steps: int) -> None:
    env = mb.Classification.bundled("digits", seed=0, n_rounds=rounds)
    agent = mb.HingeLMC(env.n_actions, scores=mb.Networks(sampler="preconditioned", rate=RATE), seed=0)
    mb.simulate(agent, env, laws=False)
    assert agent._networks is not None
    print(f"{'digits':34}  R̂ median  largest  ESS  draws")
    for kind in KINDS:
        cycles = Cycles(*kind)
        vars(ensembles)["langevin"] = cycles.step
        seen = []
        for t, told in enumerate(agent._networks.ensemble.moved_on(), 1):
            if cycles.draws and t % EVERY == 0:
                seen.append(told.kept(50)[0].astype(float).reshape(8, -1))
            if t == steps:
                break
        scores = np.stack(seen, 1)
        r_hat, ess = split_r_hat(scores), effective_sample_size(scores)
        print(
            f"{named(*kind):34}  {np.median(r_hat):9.2f}  {r_hat.max():7.2f}  {np.median(ess):3.0f}  {len(seen)}",
            flush=True,
        )


def known(steps: int) -> None:
    """As tests/test_network_chains.py has it, at the rate that it has."""
    xs, losses, at, n = (-1.0, -0.5, 0.5, 1.0), (1.0, 1.0, 0.0, 0.0), 0.75, 500
    w, b, v, c = np.meshgrid(*[np.linspace(-4.5, 4.5, 46)] * 4, indexing="ij", sparse=True)
    potential = (w**2 + b**2 + v**2 + c**2) / 2
    for x, loss in zip(xs, losses, strict=True):
        score = v * np.maximum(w * x + b, 0) + c
        potential = (
            potential + loss * np.maximum(1 + score, 0) ** 2 / 2 + (1 - loss) * np.maximum(1 - score, 0) ** 2 / 2
        )
    weight, score = np.exp(-potential), v * np.maximum(at * w + b, 0) + c
    exact = np.array([(weight * score**k).sum() / weight.sum() for k in (1, 2)])
    print(f"\n{'four parameters':34}   mean  square")
    for kind in KINDS:
        recipe = mb.Networks(
            n_networks=n, width=1, depth=1, minibatch=32, sampler="preconditioned", rate=0.02, temperature=1.0
        )
        told = ensembles.Ensemble(recipe, n_features=1, n_outputs=1, seed=0, begin=10**6)
        for x, loss in zip(xs, losses, strict=True):
            told.learn(np.array([x]), 0, loss)
        cycles = Cycles(*kind)
        vars(ensembles)["langevin"] = cycles.step
        found = []
        for t, moved in enumerate(told.moved_on(), 1):
            if cycles.draws and 2 * t > steps and t % EVERY == 0:
                drawn = moved.scores(np.array([[at]])).ravel().astype(float)
                found.append([drawn.mean(), (drawn**2).mean()])
            if t == steps:
                break
        off = np.mean(found, 0) - exact
        print(f"{named(*kind):34}  {off[0]:+.3f}  {off[1]:+.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=count, default=1797)
    parser.add_argument("--steps", type=count, default=2000)
    options = parser.parse_args()
    digits(options.rounds, options.steps)
    known(options.steps)


if __name__ == "__main__":
    main()
