"""What the fuzzers play with: every learner, in both layouts, with a few parameters that are not the defaults."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

import marginbandits as mb
from marginbandits.oracles.hinge_erm import HingeERM

__all__ = ["LEARNERS", "SUBJECTS", "K", "Subject", "context", "play"]

K, D = 3, 3

LEARNERS = [
    c
    for c in (getattr(mb, name) for name in mb.__all__)
    if inspect.isclass(c) and issubclass(c, mb.Learner) and not inspect.isabstract(c)
]

SMALL: dict[str, dict[str, Any]] = {
    "HingeLMC": {"features": mb.Fourier(8), "memory": 24},
    "Mixture": {"experts": [mb.RidgeExpert(features=mb.Fourier(8)), mb.OneRightExpert(), mb.TreesExpert(n_trees=3)]},
    "SmoothFTL": {"features": mb.Fourier(8), "memory": 24},
    "NearestNeighbours": {"memory": 24},
    "LipschitzFTL": {"most": 12},
    "ContextualZooming": {"most": 12, "confidence": 0.2},
    "HierExp4": {"most": 2000},
    "ImproperLogistic": {"predictors": 20},
    "FaithfulHingeLMC": {"horizon": 120},
    "FaithfulSmoothFTL": {"horizon": 120},
    "FaithfulLipschitzFTL": {"horizon": 120, "space": mb.Cube([-1.0] * D, [1.0] * D)},
    "ExponentialWeights": {"regressors": 20},
    "BISTRO": {"regressors": 20},
    "BISTROPlus": {"regressors": 20},
    "ContextualFTPL": {"regressors": 20},
    "ILOVETOCONBANDITS": {"regressors": 20},
    "RegressorElimination": {"regressors": 20},
}
"""Learners made small: files of a few kilobytes, reservoirs that fill within 60 rounds."""

MORE: list[tuple[str, dict[str, Any]]] = [
    ("HingeLMC", {"surrogate": "hinge", "memory": 30, "features": "raw", "n_particles": 3}),
    ("Mixture", {"experts": [mb.OneRightExpert(), mb.TreesExpert(n_trees=2, memory=12)], "eta": 2.0}),
    ("HingeLMC", {"memory": 200, "n_particles": 4}),
    ("SmoothFTL", {"memory": 200, "features": mb.Identity()}),
    ("LinUCB", {"features": "fourier"}),
    (
        "LinUCB",
        {"features": mb.Chain([mb.Standardise(freeze_after=20), mb.Concatenate([mb.Identity(), mb.Fourier(5)])])},
    ),
    ("LinTS", {"features": mb.Identity()}),
    ("LinUCB", {"window": 4}),
    ("SquareCB", {"window": "learnt"}),
    ("HingeLMC", {"window": 6, "memory": 30, "features": "raw", "n_particles": 3}),
    ("Mixture", {"window": 10, "experts": [mb.RidgeExpert(), mb.TreesExpert(n_trees=2, memory=12)]}),
    ("Banditron", {"window": 5}),
    ("EpochGreedy", {"oracle": HingeERM(0.3), "memory": 20}),
    ("Cover", {"weighted": True, "n_policies": 3}),
    ("RegCB", {"play": "elimination", "features": mb.Bias()}),
    ("SquareCB", {"weighted": True, "features": mb.Identity()}),
    ("Binning", {"space": mb.Cube([-1.0] * D, [1.0] * D), "radius": 0.5}),
    ("LipschitzFTL", {"space": mb.MetricSpace("manhattan"), "most": 10}),
    ("FaithfulHingeLMC", {"horizon": 90, "weighting": "geometric", "sampler": "smoothed_langevin", "n_particles": 2}),
    ("FaithfulHingeLMC", {"horizon": 90, "surrogate": "ramp", "n_particles": 2}),
    ("FaithfulSmoothFTL", {"horizon": 90, "surrogate": "ramp"}),
    ("FaithfulLipschitzFTL", {"horizon": 90, "prediction": "extension", "points": np.arange(6.0).reshape(3, 2)}),
    ("ExponentialWeights", {"regressors": np.arange(24.0).reshape(8, 3, 1) * np.ones(D) / 24, "mu": 0.01}),
    ("BISTROPlus", {"regressors": np.eye(3)[:, :, None] * np.ones(D), "contexts": np.eye(D), "horizon": 90}),
    ("RegressorElimination", {"regressors": np.eye(3)[:, :, None] * np.ones(D), "elimination": "sharp"}),
    ("ExponentialWeights", {"regressors": 20, "surrogate": "ramp", "margins": [0.1, 0.2], "horizon": 200}),
]


@dataclass(frozen=True)
class Subject:
    """A learner to be, and the layout of its contexts: "vector", "matrix" or "sparse"."""

    name: str
    build: Callable[[], mb.Learner]
    layout: str


def _subject(name: str, arguments: dict[str, Any], layout: str) -> Subject:
    told = ", ".join(f"{key}={value!r}" for key, value in arguments.items() if not isinstance(value, np.ndarray))
    return Subject(f"{name}({told}) {layout}", lambda: getattr(mb, name)(K, **arguments, seed=0), layout)


def _subjects() -> list[Subject]:
    found = []
    for learner in LEARNERS:
        small = SMALL.get(learner.__name__, {})
        for layout in ("vector", "matrix"):
            # A matrix is one point of K·d coordinates, which a cube of d has not.
            less = {key: value for key, value in small.items() if key != "space" or layout == "vector"}
            found.append(_subject(learner.__name__, less, layout))
    found += [
        _subject(learner.__name__, {}, "sparse")
        for learner in LEARNERS
        if learner.takes_sparse and learner.sparse_from == 1
    ]
    for name, arguments in MORE:
        found.append(_subject(name, arguments, "vector"))
        if "space" not in arguments and not isinstance(arguments.get("regressors"), np.ndarray):
            found.append(_subject(name, arguments, "matrix"))
    return found


SUBJECTS = _subjects()


def context(rng: np.random.Generator, layout: str, width: int = D, n_rows: int = K) -> Any:
    """One context, within the box that spaces here have."""
    if layout == "matrix":
        return rng.uniform(-0.5, 0.5, (n_rows, width))
    x = rng.uniform(-0.5, 0.5, width)
    return scipy.sparse.csr_array(np.where(rng.random(width) < 0.5, x, 0.0)[None]) if layout == "sparse" else x


def play(agent: mb.Learner, layout: str, rounds: int, seed: int = 0) -> None:
    """So many rounds with losses that contexts tell something of."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        x = context(rng, layout)
        decision = agent.act(x)
        dense = x.toarray()[0] if layout == "sparse" else x.ravel()
        agent.learn(x, decision, float((dense[0] > 0) != (decision.action > 0)) * float(rng.random() < 0.9))
