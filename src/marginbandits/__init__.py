"""Contextual bandits with surrogate losses: margin bounds and efficient algorithms, in working form.

>>> import marginbandits as mb
>>> agent = mb.LinUCB(n_actions=3, seed=0)
>>> decision = agent.act([0.2, 0.4])
>>> agent.learn([0.2, 0.4], decision, loss=1.0)
>>> round(decision.probability, 3)
0.333
"""

__version__ = "0.1.0"

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
    HingeRealizable,
    Keywords,
    LinearRealizable,
    LipschitzCube,
    Logged,
    MulticlassSeparable,
    Oblivious,
    Switching,
)
from marginbandits.evaluation import interval, progressive_loss
from marginbandits.experiments import Trace, simulate
from marginbandits.learners import (
    SOBA,
    Bag,
    Banditron,
    Cover,
    EpochGreedy,
    EpsilonGreedy,
    ExponentialWeights,
    FaithfulHingeLMC,
    FaithfulSmoothFTL,
    HingeLMC,
    Learner,
    LinTS,
    LinUCB,
    LogisticTS,
    Newtron,
    RegCB,
    SmoothFTL,
    SquareCB,
    Supervised,
    Uniform,
    load,
)
from marginbandits.scores import (
    Bias,
    Chain,
    Concatenate,
    FeatureMap,
    Finite,
    Fourier,
    Identity,
    Linear,
    SharedLinear,
    Standardise,
)
from marginbandits.surrogates import Hinge, Ramp, RelativeMargin, SmoothedHinge
from marginbandits.types import Decision, Interaction

__all__ = [
    "SOBA",
    "AdaptiveAdversary",
    "Bag",
    "Banditron",
    "Bias",
    "Chain",
    "Classification",
    "Concatenate",
    "Cover",
    "Decision",
    "Drifting",
    "EpochGreedy",
    "EpsilonGreedy",
    "ExponentialWeights",
    "FaithfulHingeLMC",
    "FaithfulSmoothFTL",
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
    "LinearRealizable",
    "LipschitzCube",
    "Logged",
    "LogisticTS",
    "MulticlassSeparable",
    "Newtron",
    "Oblivious",
    "Ramp",
    "RegCB",
    "RelativeMargin",
    "SharedLinear",
    "SmoothFTL",
    "SmoothedHinge",
    "SquareCB",
    "Standardise",
    "Supervised",
    "Switching",
    "Trace",
    "Uniform",
    "checks",
    "environments",
    "evaluation",
    "interval",
    "load",
    "policies",
    "progressive_loss",
    "projections",
    "samplers",
    "simulate",
    "surrogates",
    "theory",
    "weighting",
]
