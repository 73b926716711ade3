"""Two real policies of a fashion site, each judged from the log of the other, beside what its own log says.

    python benchmarks/open_bandit.py FOLDER

The folder holds campaigns of the Open Bandit Dataset as random_men.csv.gz, bts_men.csv.gz and so on (men, women, all).
`random` shows every item alike. `bts`, Thompson sampling, was changing meanwhile: its law at a position is taken to be
how often its log shows each item there. The truth is the click rate of a policy's own log, which is itself an
estimate: a small sample has some fifty clicks in each.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import marginbandits as mb
from marginbandits.experiments.log_policies import AsLogged, AtRandom
from marginbandits.types import Array

METHODS = ["ips", "snips", "dr"]


class Shown:
    """A policy that shows items at each position as often as this log does."""

    name = "bts"

    def __init__(self, log: mb.Log) -> None:
        rounds = log.rounds()
        counts: dict[str, Array] = {}
        for context, action in zip(rounds.contexts, rounds.actions.tolist(), strict=True):
            counts.setdefault(context["position"], np.zeros(rounds.n_actions))[action] += 1.0
        self._laws = {position: own / own.sum() for position, own in counts.items()}

    def laws_of(self, rounds: mb.Rounds) -> Array:
        """By the position alone."""
        return np.stack([self._laws[context["position"]] for context in rounds.contexts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for campaign in ("men", "women", "all"):
        logs = {name: mb.read_open_bandit(folder / f"{name}_{campaign}.csv.gz") for name in ("random", "bts")}
        for name, other, policy in (("bts", "random", Shown(logs["bts"])), ("random", "bts", AtRandom())):
            judge(campaign, name, other, policy, logs)


def judge(campaign: str, name: str, other: str, policy: Any, logs: dict[str, mb.Log]) -> None:
    """One policy by its own log, and by the other's."""
    own = mb.evaluate(AsLogged(), logs[name], method="snips", outcome="reward")
    found = mb.evaluate(policy, logs[other], method=METHODS, outcome="reward")
    rests = next(finding.value for finding in found[0].findings if finding.name == "effective sample size")
    print(f"{campaign}, {name}: its own log {told(own)}; from {other}'s, which counts as {rests:,.0f} rounds")
    for one in found:
        apart = "" if one.low <= own.high and own.low <= one.high else ", APART"
        print(f"  {one.method:5} {told(one)}{apart}")


def told(one: mb.Estimate) -> str:
    """In thousandths."""
    return f"{1e3 * one.value:.1f} ({1e3 * one.low:.1f} to {1e3 * one.high:.1f})"


if __name__ == "__main__":
    main()
