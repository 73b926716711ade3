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
    from marginbandits.experts import Expert, NetworksExpert, OneRightExpert, RidgeExpert, TreesExpert
    from marginbandits.features import Bias, Chain, Concatenate, FeatureMap, Fourier, Identity, Standardise, Table
    from marginbandits.learners import (
        BISTRO,
        ILOVETOCONBANDITS,
        OFUL,
        SOBA,
        Bag,
        Banditron,
        Binning,
        BISTROPlus,
        ContextualFTPL,
        ContextualZooming,
        Cover,
        EpochGreedy,
        EpsilonGreedy,
        ExponentialWeights,
        FaithfulHingeLMC,
        FaithfulLipschitzFTL,
        FaithfulSmoothFTL,
        FullSOBA,
        HierExp4,
        HingeLMC,
        ImproperLogistic,
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
        RegressorElimination,
        SmoothFTL,
        SquareCB,
        Supervised,
        Uniform,
        load,
        loads,
        warm_start,
    )
    from marginbandits.rounds import Rounds
    from marginbandits.scores import (
        Cells,
        Cube,
        Finite,
        FiniteSpace,
        Linear,
        MetricSpace,
        Networks,
        SharedLinear,
        covering_dimension,
        lipschitz_cover,
    )
    from marginbandits.surrogates import Hinge, Ramp, RelativeMargin, SmoothedHinge
    from marginbandits.types import Decision, Interaction, PlacedDecision

__all__ = [
    "BISTRO",
    "ILOVETOCONBANDITS",
    "OFUL",
    "SOBA",
    "AdaptiveAdversary",
    "BISTROPlus",
    "Bag",
    "Banditron",
    "Bias",
    "Binning",
    "Cells",
    "Chain",
    "Classification",
    "Concatenate",
    "ContextualFTPL",
    "ContextualZooming",
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
    "FiniteSpace",
    "Fourier",
    "FullSOBA",
    "HierExp4",
    "Hinge",
    "HingeLMC",
    "HingeRealizable",
    "Identity",
    "ImproperLogistic",
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
    "Networks",
    "NetworksExpert",
    "Newtron",
    "Oblivious",
    "OneRightExpert",
    "PlacedDecision",
    "Ramp",
    "RareRewards",
    "RegCB",
    "RegressorElimination",
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
    "lipschitz_cover",
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
