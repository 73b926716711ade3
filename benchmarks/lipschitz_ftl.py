"""What Lipschitz follow-the-leader costs: seconds of a whole run, the largest program in it, and memory.

    python benchmarks/lipschitz_ftl.py [--rounds 20000]

One thread, three actions, the unit cube under the largest-coordinate metric, losses whose means are Lipschitz. First
`LipschitzFTL.from_theory` in the plane, policies of Lipschitz constant 2 (a net of radius β then has β^-p cells); then
`LipschitzFTL` in one to five dimensions, constant 6.
"""

import argparse
import os
import resource
import time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import marginbandits as mb


def resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(title: str, agent: mb.Learner, dimension: int, n_rounds: int) -> None:
    env = mb.LipschitzCube(3, dimension, n_rounds, seed=0)
    before, start = resident(), time.perf_counter()
    laws = mb.simulate(agent, env).laws
    seconds = time.perf_counter() - start
    regret = float((laws * env.means).sum(1).mean() - env.means.min(1).mean())
    kept = sum(array.nbytes for array in agent.state().values()) / 2**20
    print(
        f"{title:22} {seconds:6.1f} s {n_rounds / seconds:8,.0f} rounds/s   state {kept:5.1f} MB, resident memory "
        f"+{resident() - before:.0f} MB   a round loses {regret:.3f} more than the best action; uniformly "
        f"{float(env.means.mean() - env.means.min(1).mean()):.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    n = parser.parse_args().rounds

    def cube(p: int, lipschitz: float) -> mb.Cube:
        return mb.Cube([0.0] * p, [1.0] * p, lipschitz=lipschitz)

    mb.simulate(mb.LipschitzFTL(3, seed=0), mb.LipschitzCube(3, 1, 50, seed=0))  # compiled by now
    agent = mb.LipschitzFTL.from_theory(space=cube(2, 2.0), n_actions=3, horizon=n, seed=0)
    run("from theory, p = 2", agent, 2, n)
    cells, unsolved = len(agent.state()["centres"]), sum(not epoch.solved for epoch in agent.epochs())
    print(f"   {cells:,} cells, μ = {agent.mu:.4f}, {len(agent.epochs())} programs, {unsolved} of them not solved")
    for p in (1, 2, 3, 5):
        run(f"practical, p = {p}", mb.LipschitzFTL(3, space=cube(p, 6.0), seed=0), p, n)


if __name__ == "__main__":
    main()
