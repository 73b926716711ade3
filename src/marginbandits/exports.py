"""Where every exported name lives, so that each is imported when it is first asked for and not before.

`import marginbandits` reads this table and nothing else; `mb.LinUCB` imports what LinUCB needs. Files name classes as
users do, so whoever reads one finds its class here too, whether or not it has been imported: `exported` imports what
the package itself lists and nothing that a file could make up.

>>> exported("LinUCB").__name__
'LinUCB'
>>> exported("os") is None
True
"""

import sys
from collections.abc import Callable, Collection
from importlib import import_module

__all__ = ["HOMES", "PARTS", "exported", "on_demand"]

_ROOMS: dict[str, str] = {
    "environments": "AdaptiveAdversary Classification Drifting FarWrongLabels HingeRealizable "
    "Keywords LinearLabels LinearRealizable LipschitzCube Logged MulticlassSeparable Oblivious RareRewards "
    "SeparableMisspecified Switching",
    "environments.logs.log": "Log read_log",
    "environments.logs.open_bandit": "read_open_bandit",
    "rounds": "Rounds",
    "environments.logs.writing": "write_log",
    "evaluation": "interval progressive_loss",
    "evaluation.off_policy.estimate": "Estimate",
    "experiments": "Trace simulate",
    "experiments.evaluate": "evaluate",
    "experts": "Expert NetworksExpert OneRightExpert RidgeExpert TreesExpert",
    "features": "Bias Chain Concatenate FeatureMap Fourier Identity Standardise Table",
    "learners.base": "Learner",
    "learners.baselines.bag": "Bag",
    "learners.baselines.banditron": "Banditron",
    "learners.baselines.binning": "Binning",
    "learners.baselines.cover": "Cover",
    "learners.baselines.epoch_greedy": "EpochGreedy",
    "learners.baselines.epsilon_greedy": "EpsilonGreedy",
    "learners.baselines.lints": "LinTS",
    "learners.baselines.linucb": "LinUCB",
    "learners.baselines.logistic_ts": "LogisticTS",
    "learners.baselines.nearest_neighbours": "NearestNeighbours",
    "learners.baselines.newtron": "Newtron",
    "learners.baselines.regcb": "RegCB",
    "learners.baselines.soba": "SOBA",
    "learners.baselines.squarecb": "SquareCB",
    "learners.baselines.supervised": "Supervised",
    "learners.baselines.uniform": "Uniform",
    "learners.comparators.bistro": "BISTRO BISTROPlus",
    "learners.comparators.oful": "OFUL",
    "learners.comparators.perturbed_leader": "ContextualFTPL",
    "learners.comparators.regressor_elimination": "RegressorElimination",
    "learners.comparators.taming": "ILOVETOCONBANDITS",
    "learners.comparators.contextual_zooming": "ContextualZooming",
    "learners.comparators.full_soba": "FullSOBA",
    "learners.comparators.hier_exp4": "HierExp4",
    "learners.comparators.improper_logistic": "ImproperLogistic",
    "learners.exponential_weights": "ExponentialWeights",
    "learners.hinge_lmc": "FaithfulHingeLMC HingeLMC",
    "learners.lipschitz_ftl": "FaithfulLipschitzFTL LipschitzFTL",
    "learners.loading": "load loads",
    "learners.mixture": "Mixture",
    "learners.off_policy.margin_policy": "MarginPolicy",
    "learners.smooth_ftl": "FaithfulSmoothFTL SmoothFTL",
    "learners.warm": "warm_start",
    "scores": "Cells Cube Finite FiniteSpace Linear MetricSpace Networks SharedLinear covering_dimension "
    "lipschitz_cover",
    "surrogates": "Hinge Ramp RelativeMargin SmoothedHinge",
    "types": "Decision Interaction PlacedDecision",
}

HOMES: dict[str, str] = {name: f"marginbandits.{room}" for room, names in _ROOMS.items() for name in names.split()}
"""The module of every name that `marginbandits` exports, but for the modules among them."""

PARTS: dict[str, str] = {
    "HingeERM": "marginbandits.oracles.hinge_erm",
    "LearntPolicy": "marginbandits.learners.off_policy.learnt",
    "LipschitzERM": "marginbandits.oracles.lipschitz_erm",
    "NetworkERM": "marginbandits.oracles.network_erm",
    "RampERM": "marginbandits.oracles.ramp_erm",
    "SquaredHingeERM": "marginbandits.oracles.squared_hinge_erm",
}
"""The module of what files name beside those: what learners are built with, and what was learnt elsewhere."""


def exported(name: str) -> object | None:
    """The thing of this name, imported if need be; None if no such name is exported."""
    home = HOMES.get(name) or PARTS.get(name)
    return None if home is None else getattr(import_module(home), name)


def on_demand(package: str, names: Collection[str]) -> Callable[[str], object]:
    """A `__getattr__` for the package: it imports the exported names among `names`, and the modules among them."""

    def attribute(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        thing = exported(name) or import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, thing)
        return thing

    return attribute
