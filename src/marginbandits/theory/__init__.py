"""The paper's bounds and parameter choices, as functions."""

from marginbandits.theory.chaining import chain_hinge, full_information, full_information_tuned, margin_ramp
from marginbandits.theory.comparators import (
    bistro_regret,
    bistro_scale,
    elimination_threshold,
    oful_radius,
    oful_regret,
    perturbed_leader_regret,
    regressor_elimination_regret,
    taming_floor,
    taming_regret,
)
from marginbandits.theory.entropy import Entropy, FiniteSize, Parametric, Power
from marginbandits.theory.finite import exponential_weights
from marginbandits.theory.ftl import ftl, ftl_deviation, ftl_rate
from marginbandits.theory.growth import entropy_growth, exponents, growth_rate
from marginbandits.theory.hierarchical import hier_exp4
from marginbandits.theory.hinge_lmc import hinge_ew_ideal, hinge_lmc_corrected, hinge_lmc_printed
from marginbandits.theory.lipschitz import bistro, lipschitz_actions, lipschitz_ftl, lipschitz_references
from marginbandits.theory.logistic import eta_hinge, improper_logistic, improper_logistic_finite, logistic_floor, soba
from marginbandits.theory.nonparametric import contextual_zooming, lipschitz_cover_bound
from marginbandits.theory.promises import (
    DecisionTrees,
    LipschitzPolicies,
    LpLinear,
    Networks,
    Promise,
    RademacherRoot,
    promises,
    promises_in_time,
)
from marginbandits.theory.rademacher import (
    decision_trees,
    linear_type_2,
    lp_linear,
    networks,
    price_of_bandit_feedback,
    rademacher,
)
from marginbandits.theory.record import Bound, useful_from
from marginbandits.theory.running_time import RunningTime, hinge_lmc_running_time
from marginbandits.theory.setting import Game, Setting
from marginbandits.theory.trees import sequential_covering_number, sequential_rademacher
from marginbandits.theory.tuning import (
    HingeLMCTuning,
    binning_radius,
    epoch_end,
    exponential_weights_rate,
    finite_rate,
    hinge_lmc_tuning,
    lipschitz_actions_radius,
    lipschitz_ftl_floor,
    lipschitz_ftl_radius,
    second_moment,
    smooth_ftl_floor,
)

__all__ = [
    "Bound",
    "DecisionTrees",
    "Entropy",
    "FiniteSize",
    "Game",
    "HingeLMCTuning",
    "LipschitzPolicies",
    "LpLinear",
    "Networks",
    "Parametric",
    "Power",
    "Promise",
    "RademacherRoot",
    "RunningTime",
    "Setting",
    "binning_radius",
    "bistro",
    "bistro_regret",
    "bistro_scale",
    "chain_hinge",
    "contextual_zooming",
    "decision_trees",
    "elimination_threshold",
    "entropy_growth",
    "epoch_end",
    "eta_hinge",
    "exponential_weights",
    "exponential_weights_rate",
    "exponents",
    "finite_rate",
    "ftl",
    "ftl_deviation",
    "ftl_rate",
    "full_information",
    "full_information_tuned",
    "growth_rate",
    "hier_exp4",
    "hinge_ew_ideal",
    "hinge_lmc_corrected",
    "hinge_lmc_printed",
    "hinge_lmc_running_time",
    "hinge_lmc_tuning",
    "improper_logistic",
    "improper_logistic_finite",
    "linear_type_2",
    "lipschitz_actions",
    "lipschitz_actions_radius",
    "lipschitz_cover_bound",
    "lipschitz_ftl",
    "lipschitz_ftl_floor",
    "lipschitz_ftl_radius",
    "lipschitz_references",
    "logistic_floor",
    "lp_linear",
    "margin_ramp",
    "networks",
    "oful_radius",
    "oful_regret",
    "perturbed_leader_regret",
    "price_of_bandit_feedback",
    "promises",
    "promises_in_time",
    "rademacher",
    "regressor_elimination_regret",
    "second_moment",
    "sequential_covering_number",
    "sequential_rademacher",
    "smooth_ftl_floor",
    "soba",
    "taming_floor",
    "taming_regret",
    "useful_from",
]
