"""Slow, readable twins: of every compiled kernel (`twin`, with random inputs for both), and of larger parts.

A twin has its kernel's signature. `tests/test_twins.py` runs both on the same inputs and compares what they return and
what they have written; it fails for a kernel that has no twin here.
"""

from tests.naive import (
    audit,
    comparators,
    diagonal,
    features,
    forgetting,
    laws,
    mixtures,
    neighbours,
    online_regression,
    regression,
    rounds,
    sampling,
    swift,
    tables,
    trees,
)
from tests.naive.references import (
    OnlineRegression,
    believed_values,
    fourier,
    langevin_step,
    line_sample,
    lipschitz_program,
    margin_pull,
    place,
    ridge,
    sample,
    sharpened,
    standardise,
    subset_kernel,
    two_sided_cost,
)
from tests.naive.twin import TWINS, Twin

__all__ = [
    "TWINS",
    "OnlineRegression",
    "Twin",
    "audit",
    "believed_values",
    "comparators",
    "diagonal",
    "features",
    "forgetting",
    "fourier",
    "langevin_step",
    "laws",
    "line_sample",
    "lipschitz_program",
    "margin_pull",
    "mixtures",
    "neighbours",
    "online_regression",
    "place",
    "regression",
    "ridge",
    "rounds",
    "sample",
    "sampling",
    "sharpened",
    "standardise",
    "subset_kernel",
    "swift",
    "tables",
    "trees",
    "two_sided_cost",
]
