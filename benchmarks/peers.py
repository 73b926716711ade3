"""Every peer beside marginbandits: one table from one run. `make bench` installs the peers and runs this.

    python benchmarks/peers.py [--tasks narrow,wide] [--peers "Vowpal Wabbit,river"] [--explorers LinUCB,Cover]
                               [--repeats 3] [--install]

Each measurement is a process of its own, on one thread: it prepares its data, warms up on other data, then plays.
Theirs and ours take turns, on the same rows, in another order each time; a ratio is that of two neighbours, and the
table has the median, the least and the most of them. Speed is rounds per second of the processor's time, losses are
those of the rounds played, memory is the most that the process ever had, its data included. A peer that is slow plays
fewer rounds, and so do we beside it.

    round     one after another from Python, as a service would: choose, then learn
    whole     all in one call: Vowpal Wabbit's C++ loop (--cbify) over a cached file; simulate(learner, environment)
    gradient  of the hinge potential, for Langevin Monte Carlo; "loss" is the potential's value there
    import    seconds until a library is imported, and of the first round after that

    digits    scikit-learn's, 1,797 x 64, 10 actions        narrow    50,000 x 20, 10 actions
    wide      50,000 x 100, 5 actions                       sparse    10,000 x 1,000, 20 filled, 20 actions
    experts   exponential weights over 1,000 policies       langevin  2,000 rows of 50 columns, 1 and 64 chains

A peer has several settings where it has a parameter to choose (see its file in benchmarks/beside); of these, the one
that loses least in a trial is measured. Ours are as shipped, but for RegCB: it has two learning rates, as its peer has,
and is chosen in the same trial. What is not installed says so in its line.
"""

import argparse
import importlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from beside import first, ours, table
from beside.asked import count, seconds, some_of
from beside.environments import ROOT, interpreter, variables
from beside.pairs import Limits, NotMeasuredError, Side, compared

PEERS = {
    "NumPy": "plain_numpy",
    "Vowpal Wabbit": "vowpal_wabbit",
    "MABWiser": "mabwiser",
    "contextualbandits": "contextual_bandits",
    "river": "river",
    "Open Bandit Pipeline": "obp",
    "coba": "coba",
}
DATA = "digits", "narrow", "wide", "sparse"
TASKS = *DATA, "experts", "langevin", "import"


def pairs(task: str) -> Iterator[tuple[str, str, str, ModuleType]]:
    """Explorer, kind of run, peer and its module, for every line of a task."""
    if task in ("experts", "langevin"):
        peer, kind = ("NumPy", "round") if task == "experts" else ("JAX", "gradient")
        module = importlib.import_module(f"beside.{task}")
        yield from ((explorer, kind, peer, module) for explorer in module.EXPLORERS)
        return
    for explorer in ours.EXPLORERS:
        for kind in ("round", "whole"):
            for peer, name in PEERS.items():
                module = importlib.import_module(f"beside.{name}")
                whole, only = getattr(module, "WHOLE", False), getattr(module, "ONLY_WHOLE", ())
                has_kind = explorer not in only if kind == "round" else whole
                if explorer in module.EXPLORERS and has_kind and task in getattr(module, "TASKS", DATA):
                    yield explorer, kind, peer, module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tasks", type=some_of(TASKS), default=",".join(TASKS), help="which of the tasks, with commas (default: all)"
    )
    parser.add_argument(
        "--peers",
        type=some_of([*PEERS, "JAX"]),
        default=",".join([*PEERS, "JAX"]),
        help="which of the peers (default: all)",
    )
    parser.add_argument(
        "--explorers",
        type=some_of(ours.EXPLORERS),
        default="",
        help="which of the explorers, with commas (default: all)",
    )
    parser.add_argument("--repeats", type=count, default=3, help="pairs of processes for each line (default: 3)")
    parser.add_argument("--rounds", type=count, default=50_000, help="at most so many rounds (default: 50000)")
    parser.add_argument("--seconds", type=seconds, default=0.5, help="about so long for the slower one (default: 0.5)")
    parser.add_argument(
        "--install",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="install what is missing: here, or in environments of their own for peers that cannot share this one",
    )
    parser.add_argument(
        "--environments", type=Path, default=ROOT, help="where environments of their own are (default: the repository)"
    )
    options = parser.parse_args()
    wanted, asked = options.tasks.split(","), options.peers.split(",")
    some = options.explorers.split(",") if options.explorers else [*ours.EXPLORERS]
    lines = [
        peer in asked and explorer in some for task in wanted if task in DATA for explorer, _, peer, _ in pairs(task)
    ]
    if set(wanted) <= set(DATA) and not any(lines):
        parser.error("none of these peers has these explorers on these tasks")
    limits = Limits(options.repeats, options.seconds, options.rounds)
    missing: dict[str, str] = {}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        print(table.COLUMNS)
        for task in (one for one in wanted if one != "import"):
            for explorer, kind, peer, module in pairs(task):
                if peer in asked and (explorer in some or not options.explorers):
                    answer = row(
                        task, explorer, kind, peer, module, limits, Path(folder), options.install, options.environments
                    )
                    python, version = interpreter(module.DISTRIBUTION, options.install, options.environments)
                    (missing if python is None else versions)[peer] = version
                    print(table.label(task, explorer, kind, peer) + answer, flush=True)
    if "import" in wanted:
        print(f"\n{table.IMPORTS}")
        importing(asked, options.repeats, options.install, options.environments, missing)
    if versions:
        print("\nversions: " + ", ".join(f"{peer} {version}" for peer, version in sorted(versions.items())))
    for peer, reason in missing.items():
        print(f"not installed: {peer}: {reason}")


def row(
    task: str,
    explorer: str,
    kind: str,
    peer: str,
    module: ModuleType,
    limits: Limits,
    folder: Path,
    install: bool,
    beside: Path,
) -> str:
    """The rest of a line: numbers, or why there are none."""
    if reason := getattr(module, "SKIPPED", {}).get((task, explorer)):
        return f" not run: {reason}"
    python, reason = interpreter(module.DISTRIBUTION, install, beside)
    if python is None:
        return " not installed"
    theirs = Side(
        python, module.__name__.split(".")[1], module.make.__name__, explorer, tuple(module.EXPLORERS[explorer])
    )
    own = module if hasattr(module, "Ours") else ours
    ways = tuple(ours.EXPLORERS[explorer]) if own is ours else ({},)
    our = Side(Path(sys.executable), own.__name__.split(".")[1], "Ours", explorer, ways)
    try:
        return table.line(compared(theirs, our, task, kind, limits, folder))
    except NotMeasuredError as failed:
        return f" not measured: {failed}"


def importing(asked: list[str], repeats: int, install: bool, beside: Path, missing: dict[str, str]) -> None:
    """Lines of imports, each library in turn; the first turn fills the disk's cache and does not count."""
    pythons = {"libraries": Path(sys.executable), "marginbandits": Path(sys.executable)}
    for peer in (*PEERS, "JAX"):
        if peer in asked and peer in first.STATEMENTS:
            module = importlib.import_module(f"beside.{PEERS.get(peer, 'langevin')}")
            python, reason = interpreter(module.DISTRIBUTION, install, beside)
            if python is None:
                missing[peer] = reason
            else:
                pythons[peer] = python
    turns = [
        {name: first.seconds(python, name, variables()) for name, python in pythons.items()} for _ in range(repeats + 1)
    ][1:]
    libraries = sorted(turn["libraries"][0] for turn in turns)[len(turns) // 2]
    for name in first.STATEMENTS:
        if name in pythons:
            print(table.imports(name, [turn[name] for turn in turns], libraries))
        elif name in asked:
            print(f"{table.label('import', '', '', name)} not installed")


if __name__ == "__main__":
    main()
