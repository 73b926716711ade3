"""Every exported class keeps its contract, found by discovery; `test_contract_catches` holds the negative controls."""

import inspect
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.checks import (
    LEARNER_CHECKS,
    check_environment,
    check_expert,
    check_features,
    check_scores,
    check_surrogate,
)
from marginbandits.checks.common import check_parameters
from marginbandits.types import Environment, Scores, Surrogate

EXPORTED = {name: getattr(mb, name) for name in mb.__all__}
CLASSES = {name: thing for name, thing in EXPORTED.items() if inspect.isclass(thing)}
LEARNERS = [c for c in CLASSES.values() if issubclass(c, mb.Learner) and not inspect.isabstract(c)]
FEATURES = [c for c in CLASSES.values() if issubclass(c, mb.FeatureMap) and not inspect.isabstract(c)]
EXPERTS = [c for c in CLASSES.values() if issubclass(c, mb.Expert) and not inspect.isabstract(c)]


ARGUMENTS: dict[str, dict[str, Any]] = {
    "Cells": {"space": mb.Cube([-9.0] * 5, [9.0] * 5), "radius": 4.5},
    "Chain": {"maps": [mb.Standardise(), mb.Concatenate([mb.Identity(), mb.Fourier(8)])]},
    "Concatenate": {"maps": [mb.Identity(), mb.Standardise()]},
    "Hinge": {"margin": 0.4},
    "Ramp": {"margin": 0.4},
    "RelativeMargin": {"margin": 0.4},
    "SmoothedHinge": {"margin": 0.4, "width": 0.2},
    "AdaptiveAdversary": {"n_actions": 3, "n_features": 2, "n_rounds": 40, "seed": 0},
    "Classification": {"X": np.eye(6), "y": list("abcabc"), "seed": 0, "label_noise": 0.3},
    "Drifting": {"n_actions": 3, "n_features": 2, "n_rounds": 40, "seed": 0},
    "FarWrongLabels": {"n_rounds": 40, "seed": 0},
    "HingeRealizable": {"n_actions": 3, "n_features": 4, "n_rounds": 40, "seed": 0},
    "Keywords": {"n_rounds": 40, "seed": 0},
    "LinearLabels": {"n_actions": 3, "n_features": 2, "n_rounds": 40, "seed": 0},
    "LinearRealizable": {"n_actions": 3, "n_features": 2, "n_rounds": 40, "seed": 0},
    "LipschitzCube": {"n_actions": 3, "dimension": 2, "n_rounds": 40, "seed": 0},
    "Logged": {
        "contexts": np.eye(4),
        "actions": [0, 1, 1, 0],
        "losses": [0.0, 1.0, 0.5, 0.25],
        "probabilities": [0.5, 0.25, 0.5, 1.0],
        "n_actions": 2,
        "seed": 0,
    },
    "MulticlassSeparable": {"n_actions": 4, "n_rounds": 40, "seed": 0},
    "RareRewards": {"n_actions": 3, "n_features": 2, "n_rounds": 40, "seed": 0},
    "SeparableMisspecified": {"n_rounds": 40, "seed": 0},
    "Switching": {"n_actions": 3, "n_features": 2, "n_rounds": 40, "seed": 0},
}
SURROGATES = [c for c in CLASSES.values() if hasattr(c, "slope")]
ENVIRONMENTS = [c for c in CLASSES.values() if hasattr(c, "__iter__") and c is not mb.Log]
SCORE_CLASSES = {
    mb.Linear: (mb.Linear(4, 3, radius=2.0), (3,)),
    mb.SharedLinear: (mb.SharedLinear(4, 3, radius=2.0), (4, 3)),
    mb.Finite: (mb.Finite.from_weights(np.random.default_rng(0).standard_normal((5, 3, 2))), (2,)),
}

SPACES: dict[type, dict[str, Any]] = {
    mb.Cube: {"low": [0.0, 0.0], "high": [1.0, 1.0], "lipschitz": 2.0},
    mb.MetricSpace: {"metric": "manhattan", "dimension": 2.0, "lipschitz": 2.0},
    mb.FiniteSpace: {"matrix": (1.0 - np.eye(40)) * 0.15, "dimension": 2.0, "lipschitz": 2.0},
}


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("check", LEARNER_CHECKS)
def test_learners_keep_the_contract(learner: type[mb.Learner], check: str) -> None:
    if check in learner.exempt:
        pytest.skip(learner.exempt[check])
    LEARNER_CHECKS[check](lambda **more: learner(**{"n_actions": 3, "seed": 0, **more}))


@pytest.mark.soak
@pytest.mark.parametrize("features", ["fourier", mb.Identity(), mb.Bias(), mb.Fourier(20)], ids=repr)
@pytest.mark.parametrize("learner", [c for c in LEARNERS if c is not mb.Uniform])
def test_learners_keep_the_contract_on_other_features(learner: type[mb.Learner], features: Any) -> None:
    own: dict[str, Any] = {"features": features}
    if learner is mb.Mixture:
        own = {"experts": [mb.RidgeExpert(features=features), mb.OneRightExpert(features=features)]}
    for name, check in LEARNER_CHECKS.items():
        # Without a bias or scaling there may be nothing to learn from the stream of the first.
        if name != "better_than_uniform" and name not in learner.exempt:
            check(lambda **more: learner(**{"n_actions": 3, "seed": 0, **own, **more}))


@pytest.mark.parametrize("features", FEATURES)
def test_feature_maps_keep_the_contract(features: type) -> None:
    check_features(features, **ARGUMENTS.get(features.__name__, {}))


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_surrogates_keep_the_contract(surrogate: type) -> None:
    check_surrogate(surrogate, **ARGUMENTS[surrogate.__name__])


@pytest.mark.parametrize("environment", [c for c in ENVIRONMENTS if c is not mb.Oblivious])
def test_environments_keep_the_contract(environment: type) -> None:
    check_environment(environment, **ARGUMENTS[environment.__name__])


def test_an_environment_of_names_and_values_keeps_the_contract() -> None:
    contexts = [{"age": age, "tags": ["a"], "user": {"vip": None}} for age in range(6)]
    check_environment(mb.Classification, X=contexts, y=list("abcabc"), seed=0, label_noise=0.3)


@pytest.mark.parametrize("scores", SCORE_CLASSES)
def test_score_classes_keep_the_contract(scores: type) -> None:
    check_scores(*SCORE_CLASSES[scores])


@pytest.mark.parametrize("space", SPACES)
def test_spaces_have_a_metric_and_nets_that_cover(space: type) -> None:
    check_parameters(space, SPACES[space])
    metric = space(**SPACES[space])
    points = metric.points if space is mb.FiniteSpace else np.random.default_rng(0).random((40, 2))
    between = np.array([metric.distances(point, points) for point in points])
    assert np.allclose(between, between.T)
    assert (between[:, :, None] <= between[:, None] + between[None] + 1e-12).all()
    net = metric.net(metric.cover(points, 0.2), 0.2)
    nearest = [metric.distances(point, net.centres)[at] for point, at in zip(points, net.nearest(points), strict=True)]
    assert max(nearest) <= 0.2 + 1e-12
    assert len(net.centres) <= metric.most(0.2, 40)


@pytest.mark.parametrize("expert", EXPERTS)
def test_experts_keep_the_contract(expert: type[mb.Expert]) -> None:
    check_expert(expert())


def test_discovery_found_every_class() -> None:
    """A class that no check claims must be one of the few that are no algorithm."""
    plain = {
        mb.Decision,
        mb.Interaction,
        mb.PlacedDecision,
        mb.Learner,
        mb.FeatureMap,
        mb.Trace,
        mb.Oblivious,
        mb.Expert,
        mb.Table,
        mb.Log,
        mb.Rounds,
        mb.MarginPolicy,
        mb.Estimate,
        mb.Networks,  # a recipe: what is made of it are learners and experts
    }
    claimed = {*LEARNERS, *FEATURES, *SURROGATES, *ENVIRONMENTS, *SCORE_CLASSES, *SPACES, *EXPERTS}
    assert set(CLASSES.values()) == claimed | plain
    assert all(isinstance(c(**ARGUMENTS[c.__name__]), Surrogate) for c in SURROGATES)
    assert all(isinstance(c(**ARGUMENTS[c.__name__]), Environment) for c in ENVIRONMENTS if c is not mb.Oblivious)
    assert all(isinstance(scores, Scores) for scores, _ in SCORE_CLASSES.values())
