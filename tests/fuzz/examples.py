"""One good call of everything exported: what the fuzzer spoils, an argument at a time.

Arguments are found by name (`BY_NAME`), unless a function needs its own (`OF`). Something new and exported, for which
neither knows a good argument, fails the test that looks for it.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

import marginbandits as mb
from marginbandits.arrays import Booleans, Numbers
from marginbandits.oracles.network_erm import NetworkERM
from marginbandits.scores.lipschitz import EUCLIDEAN
from marginbandits.validation import Constraint, Instance, Integer, ListOf, OneOf, Real

K, D = 3, 2
ROWS = np.random.default_rng(0).standard_normal((40, D)) / 4
LAW = np.array([0.5, 0.25, 0.25])
GAME = mb.theory.Game(n_actions=2, horizon=1000, margin=0.5)
SETTING = mb.theory.Setting(dimension=3, n_actions=2, horizon=1000, margin=0.5)
POTENTIAL = mb.samplers.HingePotential(features=np.eye(D), weights=np.ones(D), margin=0.5)
LEARNT = mb.LinUCB(n_actions=K, seed=0)
LOGGED = ROWS, np.arange(40) % K, np.arange(40) / 40, np.full(40, 1 / K)
LOG = mb.Logged(*LOGGED, n_actions=K, seed=0)
NUMBERED = np.array([[1.0], [3.0]])
ENVIRONMENT = mb.LinearRealizable(K, D, 3, seed=0)

BY_NAME: dict[str, Any] = {
    "accuracy": 0.0,
    "action": 1,
    "actions": [0, 1, 2],
    "all_losses": [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]],
    "alpha": 0.1,
    "available": [True, True, False],
    "beta": 0.2,
    "bound": 2.0,
    "cap": 10,
    "centres": ROWS[:3],
    "complexity": 3.0,
    "context": ROWS[0],
    "contexts": ROWS[:3],
    "data_id": 61,
    "decision": mb.Decision(1, 0.25, LAW),
    "decisions": [mb.Decision(1, 0.25, LAW)] * 3,
    "depth": 2,
    "deviation": [1.0, 2.0, 0.5],
    "dimension": D,
    "distribution": LAW,
    "draw": 0.3,
    "draws": ROWS.reshape(2, 20, D),
    "entropy": mb.theory.Parametric(3.0),
    "environment": ENVIRONMENT,
    "epsilon": 0.5,
    "error": 0.1,
    "eta": 0.1,
    "features": np.eye(D),
    "game": GAME,
    "growth": 1.5,
    "high": 1.0,
    "horizon": 1000,
    "known": mb.theory.FiniteSize(10),
    "label": 1,
    "largest_loss": 1.0,
    "largest_value": 1.0,
    "learner": LEARNT,
    "level": 0.9,
    "log_size": 2.0,
    "loss": 0.5,
    "losses": [0.5, 0.0, 1.0],
    "low": 0.0,
    "margin": 0.1,
    "mean": [0.0, 1.0, 2.0],
    "mu": 0.05,
    "n": 4,
    "n_actions": K,
    "n_features": D,
    "n_points": 5,
    "n_rounds": 5,
    "n_steps": 2,
    "maps": [mb.Identity()],
    "n_inputs": D,
    "name": "iris",
    "others": ROWS[:3],
    "p": 2.0,
    "parameters": np.ones((K - 1) * D),
    "path": "saved.npz",
    "point": ROWS[0],
    "points": ROWS,
    "potential": POTENTIAL,
    "probabilities": [0.5, 0.25, 0.25],
    "probability": 0.25,
    "q": 1.5,
    "radius": 1.0,
    "regressors": [lambda x: [x[0], 0.0, -x[0]]],
    "reward": 0.5,
    "rewards": [0.5, 0.0, 1.0],
    "rng": np.random.default_rng(0),
    "rounds": 10,
    "rows": ROWS[:3],
    "scale": 0.1,
    "scores": [0.5, -0.25, -0.25],
    "second_moment": 3.0,
    "setting": SETTING,
    "share": 0.5,
    "size": 10,
    "space": EUCLIDEAN,
    "squares": 2.0,
    "start": 3,
    "steps": 10,
    "surrogate": "ramp",
    "total": 2.0,
    "values": [0.5, 0.25, 0.25],
    "vectors": [3.0, 4.0],
    "weights": np.ones((K, D)),
    "width": 0.1,
    "X": ROWS,
    "y": [0, 1] * 20,
}

_COLUMNS = dict(zip(("contexts", "actions", "losses", "probabilities"), LOGGED, strict=True))

OF: dict[str, dict[str, Any]] = {
    "Logged": _COLUMNS,
    "MarginPolicy.certify": _COLUMNS,
    "MarginPolicy.fit": _COLUMNS,
    "MarginPolicy.save": {"target": "saved.npz"},
    "Rounds.take": {"rows": [0, 2]},
    "Rounds": {**_COLUMNS, "labels": tuple(range(K))},
    "evaluate": {"policy": 1, "log": LOG},
    "read_log": {
        "source": pyarrow.table(
            dict(zip(("x", "action", "loss", "probability"), (ROWS[:, 0], *LOGGED[1:]), strict=True))
        )
    },
    "warm_start": {**_COLUMNS, "learner": mb.LinUCB(n_actions=K, seed=0)},
    "write_log": {"log": mb.Rounds(*LOGGED, labels=tuple(range(K))), "path": "log.jsonl"},
    "*.load": {"source": io.BytesIO(LEARNT.dumps())},
    "*.loads": {"content": LEARNT.dumps()},
    "checks.check_environment": {"environment": mb.LinearRealizable},
    "checks.check_expert": {"expert": mb.RidgeExpert()},
    "checks.check_features": {"features": mb.Identity},
    "checks.check_learner": {"learner": mb.Uniform},
    "checks.check_sampler": {"sampler": lambda potential, start, rng: start},
    "checks.check_scores": {"scores": mb.Linear(K, D), "context_shape": (D,)},
    "checks.check_surrogate": {"surrogate": mb.Hinge},
    "*.of_oracle": {"n_actions": K, "oracle": NetworkERM(0.5), "contexts": ROWS, "size": 10},
    "*.scale_at": {"entropy": 1.0},
    "Cells": {"space": mb.Cube([-9.0] * D, [9.0] * D)},
    "Cube": {"low": [-9.0, -9.0], "high": [9.0, 9.0]},
    "ExponentialWeights.on_lipschitz_cover": {"space": mb.Cube([0.0], [1.0])},
    "FiniteSpace": {"matrix": 1.0 - np.eye(4)},
    "FiniteSpace.cover": {"points": NUMBERED},
    "FiniteSpace.distances": {"point": NUMBERED[0], "others": NUMBERED},
    "FiniteSpace.doubts": {"points": NUMBERED},
    "FiniteSpace.net": {"centres": NUMBERED},
    "FiniteSpace.of": {"points": ROWS},
    "FiniteSpace.refuse": {"points": NUMBERED},
    "Finite.from_models": {"models": []},
    "Finite.from_weights": {"weights": np.ones((2, K, D))},
    "HingeRealizable": {"margin": None},
    "ILOVETOCONBANDITS.play_epochs": {"contexts": ROWS[:2], "rewarded": np.full((2, K), 0.5)},
    "LipschitzCube.mean_losses": {"contexts": np.abs(ROWS[:3])},
    "*.of": {"losses": np.eye(3)},
    "SharedLinear.gradient": {"context": ROWS[:K]},
    "SharedLinear.project": {"parameters": np.ones(D)},
    "SharedLinear.values": {"context": ROWS[:K], "parameters": np.ones(D)},
    "Switching": {"n_switches": 2},
    "evaluation.best_action_regret": {"losses": [0.5, 0.0, 1.0]},
    "lipschitz_cover": {"space": mb.Cube([0.0], [1.0])},
    "theory.contextual_zooming": {"packing": [1.0, 2.0]},
    "theory.eta_hinge": {"margins": [0.5, -1.0]},
    "theory.hier_exp4": {"p": 1},
    "evaluation.interval": {"values": [0.5, 0.25]},
    "policies.explore": {"available": None},
    "samplers.HingePotential": {"weights": np.ones(D)},
    "samplers.HingePotential.__call__": {"points": ROWS},
    "samplers.RampPotential": {"weights": np.ones(D)},
    "samplers.RampPotential.__call__": {"points": ROWS},
    "samplers.hit_and_run": {"start": ROWS[:3]},
    "samplers.projected_langevin": {
        "gradient": lambda rows: rows,
        "project": lambda rows: rows,
        "start": ROWS[:3],
        "step": 0.1,
    },
    "surrogates.margin_loss": {"losses": [0.5, 0.0, 1.0]},
    "theory.Bound": {"name": "bound", "terms": {"all": 3.0}},
    "theory.HingeLMCTuning": dict.fromkeys(
        ("mu", "accuracy", "smoothing", "ridge", "log10_steps", "log10_step", "log10_draws"), 0.5
    ),
    "theory.RunningTime": dict.fromkeys(("log10_printed", "log10_worst", "log10_expected", "log10_draw"), 9.0),
    "theory.LpLinear": {"dimension": 3},
    "theory.Promise": {"bound": mb.theory.Bound("b", {"all": 3.0}, 10), "useful_from": 3},
    "theory.RademacherRoot": {"c": 1.0},
    "theory.Networks": {"c": 1.0},
    "theory.DecisionTrees": {"c": 1.0},
    "theory.Setting.of": {"scores": mb.Linear(K, D)},
    "theory.sequential_covering_number": {"values": [[0.0, 1.0], [0.0, 0.0]]},
    "theory.sequential_rademacher": {"values": [[0.0, 1.0], [0.0, 0.0]]},
    "theory.oful_radius": {"volume": 1.0, "delta": 0.05, "noise": 0.5, "norm": 1.0, "regularisation": 1.0},
    "theory.perturbed_leader_regret": {"contexts": 5},
    "theory.useful_from": {"bound": lambda T: mb.theory.Bound("b", {"all": 10.0 * T**0.5}, T)},
    "weighting.geometric_weight": {"draw": lambda: 1},
    "weighting.thresholded": {"action": 0},
}

SMALL: dict[str, dict[str, Any]] = {
    "BISTRO": {"regressors": 20},
    "BISTROPlus": {"regressors": 20},
    "ContextualFTPL": {"regressors": 20},
    "ContextualZooming": {"most": 20},
    "EpochGreedy": {"memory": 50},
    "ExponentialWeights": {"regressors": 20},
    "HierExp4": {"most": 1000},
    "HingeLMC": {"features": "raw", "memory": 50},
    "ILOVETOCONBANDITS": {"regressors": 20},
    "ImproperLogistic": {"predictors": 20},
    "NearestNeighbours": {"memory": 50},
    "RegressorElimination": {"regressors": 20},
    "SmoothFTL": {"features": "raw", "memory": 50},
}
"""Learners are spoilt in a small form, because their whole state is compared after every refusal."""

CONTEXT = Numbers(1, 2, low=-1e100, high=1e100, booleans=True)


class Nothing(Constraint):
    """No contexts at all, for which there is nothing to do."""

    def __str__(self) -> str:
        return "an empty list"

    def clean(self, value: object) -> object:
        if isinstance(value, list | tuple) and not value:
            return value
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        yield [[]]


LOSS = OneOf(Real(0, 1), Instance(bool, np.bool_))
"""`loss=action != label` is what people write."""

BY_HAND: dict[str, Constraint] = {
    "context": CONTEXT,
    "contexts": OneOf(Numbers(2, 3, low=-1e100, high=1e100, booleans=True, empty=True), Nothing()),
    "available": OneOf(Booleans(1, 2), Instance(type(None)), ListOf(OneOf(Booleans(1), Instance(type(None))))),
    "decision": Instance(mb.Decision),
    "decisions": ListOf(Instance(mb.Decision)),
    "loss": LOSS,
    "reward": OneOf(LOSS, Instance(type(None))),
    "losses": OneOf(ListOf(LOSS), Numbers(1, low=0, high=1, booleans=True), Instance(type(None))),
    "rewards": OneOf(ListOf(LOSS), Numbers(1, low=0, high=1, booleans=True), Instance(type(None))),
    "action": Integer(0),
    "rows": Numbers(2, finite=False, booleans=True, empty=True),
    "source": Instance(str, bytes, io.IOBase, Path),
    "content": Instance(bytes),
}
"""What learners and feature maps check by hand, for speed, and so do not declare."""
