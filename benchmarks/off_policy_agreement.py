"""The same arrays through other people's estimators: Vowpal Wabbit's and the Open Bandit Pipeline's.

    python benchmarks/off_policy_agreement.py [--rounds 500]

Needs `vw-estimators` and `obp`, whichever is there; prints both numbers and whether they agree to six digits. The Open
Bandit Pipeline imports torch, which none of what is compared here uses: without it an empty module stands in.
"""

import argparse
import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

import numpy as np

from marginbandits.evaluation.off_policy import Evidence, value
from marginbandits.evaluation.off_policy.sequences import boundary
from marginbandits.types import Array


class Nothing(type):
    """A class whose every attribute is such a class."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name, (), {})


class Empty(ModuleType):
    """A module of which every name is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name, (), {})


def show(name: str, ours: float, theirs: float) -> None:
    same = "agree" if abs(ours - theirs) <= 1e-6 else "DIFFER"
    print(f"{name:44}{ours:14.9f}{theirs:14.9f}  {same}")


def vowpal_wabbit(p: Array, pi: Array, y: Array) -> None:
    def told(module: str, part: str, **options: Any) -> Any:
        one = getattr(importlib.import_module(f"estimators.bandits.{module}"), part)(**options)
        for row in zip(p.tolist(), y.tolist(), pi.tolist(), strict=True):
            one.add_example(*row)
        return one

    w = pi / p
    evidence = Evidence(w, y)
    for method in ("ips", "snips"):
        show(f"vw-estimators {method}", value(evidence, method).value, told(method, "Estimator").get())
    ends = {"wmin": float(w.min()), "wmax": float(w.max())}
    show("vw-estimators mle", value(evidence, "likelihood").value, told("mle", "Estimator", **ends).get())
    normal = value(evidence, "ips", interval="normal")
    for side, ours, theirs in zip(
        ("low", "high"), normal.ends[1:], told("gaussian", "Interval").get(0.05), strict=True
    ):
        show(f"vw-estimators gaussian, {side}", ours, theirs)
    # Theirs is the bound after the last round alone, ours the smallest so far: compare what both are made of.
    low, high = (float(_last(x)) for x in (w * y, w * (1.0 - y)))
    for side, ours, theirs in zip(("low", "high"), (low, 1.0 - high), told("cs", "Interval").get(0.05), strict=True):
        show(f"vw-estimators cs, {side}", ours, theirs)


def _last(x: Array) -> float:
    before = np.concatenate([[0.0], np.cumsum(x)[:-1]])
    guess = (before + 0.5) / np.arange(1, len(x) + 1)
    return float((x.sum() - boundary(np.array([((x - guess) ** 2).sum()]), 0.025)[0]) / len(x))


def open_bandit_pipeline(laws: Array, actions: Array, p: Array, y: Array, q: Array) -> None:
    ope = importlib.import_module("obp.ope")
    at = np.arange(len(y)), actions
    evidence = Evidence(laws[at] / p, y, q[at], (laws * q).sum(1))
    given = {"reward": y, "action": actions, "pscore": p, "action_dist": laws[:, :, None]}
    model = {"estimated_rewards_by_reg_model": q[:, :, None]}
    for method, estimator, more, parameter in (
        ("ips", ope.InverseProbabilityWeighting(), {}, None),
        ("snips", ope.SelfNormalizedInverseProbabilityWeighting(), {}, None),
        ("dm", ope.DirectMethod(), model, None),
        ("dr", ope.DoublyRobust(), model, None),
        ("switch", ope.SwitchDoublyRobust(tau=2.0), model, 2.0),
        ("shrinkage", ope.DoublyRobustWithShrinkage(lambda_=3.0), model, 3.0),
    ):
        theirs = estimator.estimate_policy_value(**given, **more)
        show(f"obp {type(estimator).__name__}", value(evidence, method, parameter=parameter).value, theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500)
    n, K, rng = parser.parse_args().rounds, 4, np.random.default_rng(0)
    logged, laws = rng.dirichlet(np.full(K, 3.0), n), rng.dirichlet(np.full(K, 3.0), n)
    actions = (logged.cumsum(1) < rng.random((n, 1))).sum(1).clip(0, K - 1)
    at, q = (np.arange(n), actions), rng.random((n, K))
    y = (rng.random(n) < 0.3).astype(float)
    print(f"{'':44}{'marginbandits':>14}{'theirs':>14}")
    try:
        vowpal_wabbit(logged[at], laws[at], y)
    except ModuleNotFoundError:
        print("not installed: vw-estimators")
    absent = (
        {}
        if importlib.util.find_spec("torch")
        else {name: Empty(name) for name in ("torch", "torch.nn", "torch.optim")}
    )
    sys.modules.update(absent)
    try:
        open_bandit_pipeline(laws, actions, logged[at], y, q)
    except ModuleNotFoundError as error:
        print(f"not installed: obp ({error.name})")
    finally:
        for name in absent:
            del sys.modules[name]


if __name__ == "__main__":
    main()
