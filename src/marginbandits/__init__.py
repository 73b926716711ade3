"""Contextual bandits with surrogate losses: margin bounds and efficient algorithms, in working form.

>>> import marginbandits as mb
>>> agent = mb.LinUCB(n_actions=3, seed=0)
>>> decision = agent.act([0.2, 0.4])
>>> agent.learn([0.2, 0.4], decision, loss=1.0)
>>> round(decision.probability, 3)
0.333
"""

from typing import TYPE_CHECKING

from marginbandits.exports import on_demand

__version__ = "0.1.0"

if TYPE_CHECKING:  # what type checkers and editors read; at run time each name is imported when first asked for
    from marginbandits import (
        checks,
        environments,
        evaluation,
        policies,
        projections,
        samplers,
        surrogates,
        theory,
        weighting,
    )
    from marginbandits.environments import (
        AdaptiveAdversary,
        Classification,
        Drifting,
        FarWrongLabels,
        HingeRealizable,
        Keywords,
        LinearLabels,
        LinearRealizable,
        LipschitzCube,
        Logged,
        MulticlassSeparable,
        Oblivious,
        RareRewards,
        SeparableMisspecified,
        Switching,
    )
    from marginbandits.environments.logs.log import Log, read_log
    from marginbandits.environments.logs.open_bandit import read_open_bandit
    from marginbandits.environments.logs.writing import write_log
    from marginbandits.evaluation import interval, progressive_loss
    from marginbandits.evaluation.off_policy.estimate import Estimate
    from marginbandits.experiments.evaluate import evaluate
    from marginbandits.experiments.simulate import Trace, simulate
    from marginbandits.experts import Expert, OneRightExpert, RidgeExpert, TreesExpert
    from marginbandits.features import Bias, Chain, Concatenate, FeatureMap, Fourier, Identity, Standardise, Table
    from marginbandits.learners import (
        SOBA,
        Bag,
        Banditron,
        Binning,
        Cover,
        EpochGreedy,
        EpsilonGreedy,
        ExponentialWeights,
        FaithfulHingeLMC,
        FaithfulLipschitzFTL,
        FaithfulSmoothFTL,
        HingeLMC,
        Learner,
        LinTS,
        LinUCB,
        LipschitzFTL,
        LogisticTS,
        MarginPolicy,
        Mixture,
        NearestNeighbours,
        Newtron,
        RegCB,
        SmoothFTL,
        SquareCB,
        Supervised,
        Uniform,
        load,
        loads,
        warm_start,
    )
    from marginbandits.rounds import Rounds
    from marginbandits.scores import Cube, Finite, Linear, MetricSpace, SharedLinear, covering_dimension
    from marginbandits.surrogates import Hinge, Ramp, RelativeMargin, SmoothedHinge
    from marginbandits.types import Decision, Interaction, PlacedDecision

__all__ = [
    "SOBA",
    "AdaptiveAdversary",
    "Bag",
    "Banditron",
    "Bias",
    "Binning",
    "Chain",
    "Classification",
    "Concatenate",
    "Cover",
    "Cube",
    "Decision",
    "Drifting",
    "EpochGreedy",
    "EpsilonGreedy",
    "Estimate",
    "Expert",
    "ExponentialWeights",
    "FaithfulHingeLMC",
    "FaithfulLipschitzFTL",
    "FaithfulSmoothFTL",
    "FarWrongLabels",
    "FeatureMap",
    "Finite",
    "Fourier",
    "Hinge",
    "HingeLMC",
    "HingeRealizable",
    "Identity",
    "Interaction",
    "Keywords",
    "Learner",
    "LinTS",
    "LinUCB",
    "Linear",
    "LinearLabels",
    "LinearRealizable",
    "LipschitzCube",
    "LipschitzFTL",
    "Log",
    "Logged",
    "LogisticTS",
    "MarginPolicy",
    "MetricSpace",
    "Mixture",
    "MulticlassSeparable",
    "NearestNeighbours",
    "Newtron",
    "Oblivious",
    "OneRightExpert",
    "PlacedDecision",
    "Ramp",
    "RareRewards",
    "RegCB",
    "RelativeMargin",
    "RidgeExpert",
    "Rounds",
    "SeparableMisspecified",
    "SharedLinear",
    "SmoothFTL",
    "SmoothedHinge",
    "SquareCB",
    "Standardise",
    "Supervised",
    "Switching",
    "Table",
    "Trace",
    "TreesExpert",
    "Uniform",
    "checks",
    "covering_dimension",
    "environments",
    "evaluate",
    "evaluation",
    "interval",
    "load",
    "loads",
    "policies",
    "progressive_loss",
    "projections",
    "read_log",
    "read_open_bandit",
    "samplers",
    "simulate",
    "surrogates",
    "theory",
    "warm_start",
    "weighting",
    "write_log",
]

if not TYPE_CHECKING:  # else every misspelt name would have a type
    __getattr__ = on_demand(__name__, __all__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


del TYPE_CHECKING, on_demand
