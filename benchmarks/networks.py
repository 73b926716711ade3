"""Networks on real sets: with a margin and without, alone and as an expert of Mixture, beside LinUCB.

    python benchmarks/networks.py FOLDER --to alone.csv [--rounds 8000] [--seeds 1] [--sets eeg_eye,mnist,...]
    python benchmarks/networks.py FOLDER --to long.csv --mixture --rounds 10000 --sets long
    python benchmarks/networks.py FOLDER --to alone.csv --figure networks.png
    python benchmarks/ratios.py alone.csv --base "squared error"
    python benchmarks/networks.py --speed --rounds 600 [--columns 64] [--background]
    python benchmarks/networks.py --chains [--rounds 1797] [--draws 200]

FOLDER has classification sets as `.npz` files of X and y. `--sets long` are all that have as many rows as there are
rounds. One thread. A line is written as soon as a run has ended; what is there already is not run again, and a figure
is drawn of what is there. `--speed` plays digits (64 numbers, or these again up to `--columns`; 10 actions) over and
over, each time with other noise, with steps in the `--background` if that is asked for.
`--chains` plays digits once with each sampler; then the networks take `--draws` times ten steps more on the rounds that
were learnt, from where they are, and what is printed says how far the chains have mixed (`oracles.chains`).
"""

import argparse
import csv
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from beside.asked import count

import marginbandits as mb
from marginbandits.oracles import chains as mixing
from marginbandits.pictures import figure

EIGHT = "eeg_eye,mnist,covtype,weight_lifting,avila,electricity,letter,segmentation"
SAMPLERS: dict[str, dict[str, Any]] = {
    "bootstrap": {},
    "langevin, rate 0.1": {"sampler": "langevin", "rate": 0.1},
    "langevin, rate 0.3": {"sampler": "langevin", "rate": 0.3},
    "preconditioned, rate 0.0003": {"sampler": "preconditioned", "rate": 0.0003},
    "preconditioned, rate 0.001": {"sampler": "preconditioned", "rate": 0.001},
    "preconditioned, rate 0.003": {"sampler": "preconditioned", "rate": 0.003},
    "preconditioned, temperature 0": {"sampler": "preconditioned", "rate": 0.003, "temperature": 0.0},
    "preconditioned, rate 0.01": {"sampler": "preconditioned", "rate": 0.01},
}
Build = Callable[[mb.Classification, int], mb.Learner]


def alone(surrogate: str) -> Build:
    return lambda env, seed: mb.HingeLMC(env.n_actions, scores=mb.Networks(), surrogate=surrogate, seed=seed)


def mixture(*, networks: bool) -> Build:
    def build(env: mb.Classification, seed: int) -> mb.Mixture:
        K, d = env.n_actions, env.contexts.shape[1]
        wide = K * (d + 201) ** 2 > mb.Mixture.WIDE
        return mb.Mixture(K, experts=mb.Mixture.usual(K, wide=wide, networks=networks), seed=seed)

    return build


LINUCB: dict[str, Build] = {
    "LinUCB(features=fourier)": lambda env, seed: mb.LinUCB(env.n_actions, features="fourier", seed=seed)
}
ALONE: dict[str, Build] = {"squared hinge": alone("squared_hinge"), "squared error": alone("squared_error"), **LINUCB}
MIXTURE: dict[str, Build] = {"Mixture": mixture(networks=True), "without networks": mixture(networks=False), **LINUCB}


def draw(lines: Path, path: Path) -> None:
    """Each set's loss without a margin, and with it, against LinUCB's."""
    with lines.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = sorted({row["data"] for row in rows})

    def loss(name: str, learner: str) -> float:
        return float(np.mean([float(row["loss"]) for row in rows if (row["data"], row["learner"]) == (name, learner)]))

    drawn = figure(7, 0.5 * len(names) + 1.2)
    axes = drawn.subplots()
    marks = {"squared error": "s", "squared hinge": "o", "LinUCB(features=fourier)": "|"}
    for learner, mark in marks.items():
        axes.plot([loss(name, learner) for name in names], range(len(names)), mark, label=learner, markersize=9)
    for i, name in enumerate(names):
        axes.plot([loss(name, "squared error"), loss(name, "squared hinge")], [i, i], color="0.7", zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="progressive loss", xlim=(0, None), title="Networks: a margin against squared error")
    axes.legend()
    drawn.savefig(path)


def speed(n_rounds: int, columns: int, *, background: bool) -> None:
    """Rounds a second of one core's own time, and the share of what one product of large matrices reaches.

    In the background, of the time of the thread that plays: what it waits for the other is not in it.
    """
    rounds = [(np.resize(one.context, columns), one.losses) for one in mb.Classification.bundled("digits", seed=0)]
    networks = mb.Networks(background=background)
    weights = networks._shaped(len(rounds[0][0]) + 1, 10).dimension
    first = networks.n_networks * (len(rounds[0][0]) + 1) * networks.width  # whose inputs need no slopes
    work = 2.0 * networks.minibatch * (3 * weights - first)
    square = np.random.default_rng(0).standard_normal((1024, 1024), np.float32)
    taken = []
    for _ in range(20):
        start = time.process_time()
        square @ square
        taken.append(time.process_time() - start)
    limit = 2.0 * 1024**3 / min(taken)
    without = mb.Mixture.usual(10, wide=10 * (columns + 201) ** 2 > mb.Mixture.WIDE, networks=False)
    builds: dict[str, Callable[[], mb.Learner]] = {
        "HingeLMC(scores=Networks())": lambda: mb.HingeLMC(10, scores=networks, seed=0),
        "Mixture, networks at work": lambda: mb.Mixture(
            10, experts=[*without, mb.NetworksExpert(networks=networks, after=1)], seed=0
        ),
        "Mixture, networks asleep": lambda: mb.Mixture(10, seed=0),
        "Mixture, without networks": lambda: mb.Mixture(10, experts=without, seed=0),
    }
    for name, build in builds.items():
        agent, rng, seconds = build(), np.random.default_rng(0), np.zeros(n_rounds)
        clock = time.thread_time if background else time.process_time
        for t in range(n_rounds):
            x, losses = rounds[t % len(rounds)]
            x = x + rng.standard_normal(len(x))
            start = clock()
            decision = agent.act(x)
            agent.learn(x, decision, losses[decision.action])
            seconds[t] = clock() - start
        late = seconds[n_rounds // 2 :]
        print(
            f"{name:27} {1 / late.mean():,.0f} rounds/s in the later half; worst round of it {1e3 * late.max():.0f} ms"
        )
        if name.startswith("HingeLMC") and not background:
            share = work / late.mean() / limit
            print(f"  {work / 1e6:.0f} million operations a step, {share:.0%} of {limit / 1e9:.0f} GFLOP/s of products")


def chains(n_rounds: int, draws: int) -> None:
    """What each sampler loses on digits, and how its chains mix from there on."""
    print(f"{'':33} loss  R̂ median  largest  ESS  spread  deviation  agree")
    for name, more in SAMPLERS.items():
        env = mb.Classification.bundled("digits", seed=0, n_rounds=n_rounds)
        agent = mb.HingeLMC(env.n_actions, scores=mb.Networks(**more), seed=0)
        loss = mb.simulate(agent, env, laws=False).losses.mean()
        assert agent._networks is not None  # there was a round
        found = mixing.chains(agent._networks.ensemble, draws=draws, every=10)
        print(
            f"{name:32} {loss:.3f}  {found.r_hat:9.2f}  {found.largest_r_hat:7.2f}  {found.ess:3.0f}  "
            f"{found.spread:6.1f}  {found.deviation:9.2f}  {found.agreement:5.0%}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("FOLDER"))
    parser.add_argument("--to", type=Path, default=Path("networks.csv"))
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--columns", type=count, default=64)
    parser.add_argument("--background", action="store_true")
    parser.add_argument("--chains", action="store_true")
    parser.add_argument("--draws", type=count, default=200)
    parser.add_argument("--mixture", action="store_true")
    parser.add_argument("--rounds", type=count, default=8000)
    parser.add_argument("--seeds", type=count, default=1)
    parser.add_argument("--sets", default=EIGHT)
    options = parser.parse_args()
    if options.speed:
        speed(options.rounds, options.columns, background=options.background)
        return
    if options.chains:
        chains(options.rounds, options.draws)
        return
    if options.figure:
        draw(options.to, options.figure)
        return
    found = {path.stem: path for path in sorted(options.folder.glob("*.npz"))}
    strange = set() if options.sets == "long" else {*options.sets.split(",")} - {*found}
    if not found or strange:
        parser.error(f"{str(options.folder)!r} has no {', '.join(sorted(strange)) or 'sets'} (.npz files of X and y)")
    done = set()
    if options.to.exists():
        with options.to.open(newline="", encoding="utf-8") as file:
            done = {(row["data"], row["learner"], int(row["seed"])) for row in csv.DictReader(file)}
    else:
        options.to.write_text("data,learner,seed,loss,seconds\n", encoding="utf-8")
    for path in found.values():
        if options.sets != "long" and path.stem not in options.sets.split(","):
            continue
        for seed in range(options.seeds):
            env = mb.Classification.from_npz(path, n_rounds=options.rounds, seed=seed)
            if options.sets == "long" and len(env) < options.rounds:
                break
            for name, build in (MIXTURE if options.mixture else ALONE).items():
                if (path.stem, name, seed) not in done:
                    start = time.perf_counter()
                    loss = mb.simulate(build(env, seed), env, laws=False).losses.mean()
                    line = f"{path.stem},{name},{seed},{loss:.5f},{time.perf_counter() - start:.1f}"
                    print(line, flush=True)
                    with options.to.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")


if __name__ == "__main__":
    main()
