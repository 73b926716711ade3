"""Estimators of a policy's mean outcome from another policy's log, each as a mean of one term a round.

    ips          w ℓ                        Horvitz & Thompson (1952): unbiased
    clipped      min(w, c) ℓ                Ionides (2008); Bottou et al. (2013): too low by at most E(w - c)₊
    snips        v + w (ℓ - v)/w̄            Swaminathan & Joachims (2015): Σwℓ/Σw, and its linearisation
    likelihood   v + wℓ - β(w - 1) - …      Karampatziakis, Langford & Mineiro (2020): most likely given Ew = 1
    dm           d                          the direct method: as good as the model
    dr           d + w (ℓ - q)              Dudík, Langford & Li (2011): unbiased, however poor the model
    switch       d + w 1{w <= c} (ℓ - q)    Wang, Agarwal & Dudík (2017)
    shrinkage    d + λw/(w² + λ) (ℓ - q)    Su, Dimakopoulou, Krishnamurthy & Dudík (2020), "optimistic"

with q = q(a) the model's prediction of what the log took and d = Σ_a π(a) q(a) of the policy. c and λ, where they are
not given, minimise an estimate of the mean squared error (the last two papers' rule): variance + squared bound of the
bias,

    s²/n + (mean of (w - ŵ)|ℓ - q|)²,   ŵ the weight that is used in place of w.

Clipped, switch and shrinkage are biased, and what is cut off is bounded, since 0 <= ℓ <= 1: the value lies between the
means of d + ŵ(ℓ - q) - (w - ŵ)q and of d + ŵ(ℓ - q) + (w - ŵ)(1 - q). Their intervals reach from the lower end of the
one to the upper end of the other, with the bias in them. Where all terms must be bounded, Ew = 1 helps:

    floor     d + ŵ(ℓ - q) - q̄ (1 - ŵ)        ceiling   d + ŵ(ℓ - q) + (1 - q̲)(1 - ŵ)

with q̲, q̄ the least and the largest prediction (both 0 without a model).

>>> terms(Evidence([2.0, 0.0, 1.0], [1.0, 0.0, 0.0]), "snips").value
0.6666666666666666
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from marginbandits.evaluation.off_policy.evidence import Evidence, Pair
from marginbandits.evaluation.off_policy.likelihood import most_likely
from marginbandits.types import Array
from marginbandits.validation import quoted, suggestion

__all__ = ["METHODS", "Terms", "difference", "shrunk", "terms"]

METHODS: dict[str, str] = {
    "ips": "inverse propensity weighting",
    "clipped": "inverse propensity weighting, clipped",
    "snips": "self-normalised inverse propensity weighting",
    "likelihood": "empirical likelihood",
    "dm": "the direct method",
    "dr": "the doubly robust estimator",
    "switch": "the switch estimator",
    "shrinkage": "the doubly robust estimator with optimistic shrinkage",
}
"""Every estimator, and what it is called in a sentence."""

TUNED = ("clipped", "switch", "shrinkage")
MODELLED = ("dm", "dr", "switch", "shrinkage")
NORMALISED = ("snips", "likelihood")


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """An estimator as an array: its value is the mean of `values`; see the module for `floor` and `ceiling`.

    `bounds` holds what the terms of floor and of ceiling cannot leave, as far as is known. `around`, of estimators that
    are biased, has terms of a mean below and above the value. `control` has mean 0 and goes with `values` into the
    likelihood. `least` and `most` are the ends between which the value lies for sure.
    """

    values: Array
    floor: Array
    ceiling: Array
    bounds: tuple[tuple[float, float], tuple[float, float]]
    around: tuple[Array, Array] | None = None
    parameter: float | None = None
    control: Array | None = None
    least: float = 0.0
    most: float = 1.0

    @property
    def value(self) -> float:
        """The estimate."""
        return float(self.values.mean())

    @property
    def bias(self) -> float:
        """How far the estimate may be off by what was cut from the weights."""
        if self.around is None:
            return 0.0
        low, high = self.around
        return max(self.value - float(low.mean()), float(high.mean()) - self.value)


def shrunk(weights: Array, method: str, parameter: float) -> Array:
    """ŵ: the weights that a method uses in place of these; an infinite parameter leaves them as they are."""
    if math.isinf(parameter):
        return weights
    if method == "clipped":
        return np.minimum(weights, parameter)
    if method == "switch":
        return np.where(weights <= parameter, weights, 0.0)
    return np.asarray(parameter * weights / (weights**2 + parameter))


def terms(evidence: Evidence, method: str, parameter: float | None = None) -> Terms:
    """The terms of a method; `parameter` is c of clipped and switch, λ of shrinkage, chosen by the rule if None."""
    if method not in METHODS:
        raise ValueError(f"method must be an estimator, got {quoted(method)}{suggestion(str(method), METHODS)}")
    if method in MODELLED and evidence.taken is None:
        raise ValueError(f"method {method!r} needs what a model predicts: give taken and direct with the evidence")
    if parameter is not None and (method not in TUNED or not parameter > 0.0):
        raise ValueError(f"parameter must be above 0 and for one of {', '.join(TUNED)}, got {parameter} for {method!r}")
    if method not in MODELLED:
        evidence = evidence.model_free()
    if method in NORMALISED:
        return _normalised(evidence, method)
    if method not in TUNED:
        values = _values(evidence, evidence.w if method != "dm" else np.zeros(len(evidence)))
        bounds = _bounds(evidence, 0.0 if method == "dm" else evidence.largest)
        return Terms(values, values, values, (bounds, bounds))
    if parameter is None:
        parameter = _chosen(evidence, method)
    used = shrunk(evidence.w, method, parameter)
    values, cut = _values(evidence, used), evidence.w - used
    most_used = math.sqrt(parameter) / 2.0 if method == "shrinkage" else parameter
    largest = min(evidence.largest, most_used)
    least, most = _predicted(evidence)
    taken = 0.0 if evidence.taken is None else np.asarray(evidence.taken)
    a, b = _bounds(evidence, largest)
    return Terms(
        values,
        values - most * (1.0 - used),
        values + (1.0 - least) * (1.0 - used),
        ((a - most, b + most * largest), (a - (1.0 - least) * largest, b + 1.0 - least)),
        around=(values - taken * cut, values + (1.0 - taken) * cut) if cut.any() else None,
        parameter=parameter,
    )


def difference(pair: Pair, method: str, parameter: float | None = None) -> Terms:
    """The terms of the first policy minus those of the second: what both have in common cancels, round by round."""
    first, second = (terms(one, method, parameter) for one in (pair.first, pair.second))
    (a, b), (c, d) = first.bounds
    (e, f), (g, h) = second.bounds
    control = None
    if first.control is not None and second.control is not None:
        control = np.stack([first.control, second.control], 1)
    chosen = [one.parameter for one in (first, second) if one.parameter is not None]
    return Terms(
        first.values - second.values,
        first.floor - second.ceiling,
        first.ceiling - second.floor,
        ((a - h, b - g), (c - f, d - e)),
        around=_around(first, second),
        parameter=chosen[0] if len(set(chosen)) == 1 else None,
        control=control,
        least=-1.0,
    )


def _around(first: Terms, second: Terms) -> tuple[Array, Array] | None:
    if first.around is None and second.around is None:
        return None
    a, b = first.around or (first.values, first.values)
    c, d = second.around or (second.values, second.values)
    return a - d, b - c


def _values(evidence: Evidence, used: Array) -> Array:
    corrected = used * evidence.residuals
    return corrected if evidence.direct is None else np.asarray(np.asarray(evidence.direct) + corrected)


def _predicted(evidence: Evidence) -> tuple[float, float]:
    if evidence.taken is None:
        return 0.0, 0.0
    taken = np.asarray(evidence.taken)
    return float(taken.min()), float(taken.max())


def _bounds(evidence: Evidence, largest: float) -> tuple[float, float]:
    """What no term can leave: d - ŵq at least, d + ŵ(1 - q) at most."""
    if evidence.direct is None:
        return 0.0, largest
    direct = np.asarray(evidence.direct)
    least, most = _predicted(evidence)
    return float(direct.min()) - largest * most, float(direct.max()) + largest * (1.0 - least)


def _normalised(evidence: Evidence, method: str) -> Terms:
    w, weighted = evidence.w, evidence.w * evidence.y
    if not w.any():
        raise ValueError("the log never took what the policy would take: all weights are 0, and nothing can be said")
    if method == "snips":
        value = float(weighted.sum() / w.sum())
        values, control = value + w * (evidence.y - value) / w.mean(), None
    else:
        value, slope = most_likely(weighted, w)
        values, control = weighted - slope * (w - 1.0), w - 1.0
        values = values + (value - values.mean())
    ceiling = 1.0 - w * (1.0 - evidence.y)
    ends = ((0.0, evidence.largest), (1.0 - evidence.largest, 1.0))
    return Terms(np.asarray(values), weighted, np.asarray(ceiling), ends, control=control)


def _chosen(evidence: Evidence, method: str) -> float:
    """The parameter of least estimated squared error."""
    gap = np.abs(evidence.residuals)

    def error(parameter: float) -> float:
        used = shrunk(evidence.w, method, parameter)
        return float(_values(evidence, used).var() / len(evidence) + ((evidence.w - used) * gap).mean() ** 2)

    return min(_candidates(evidence.w, method), key=error)


def _candidates(weights: Array, method: str) -> Iterator[float]:
    yield math.inf  # first: ties leave the weights as they are
    positive = weights[weights > 0.0]
    if not len(positive):
        return
    if method == "shrinkage":
        low, high = np.quantile(positive, [0.05, 0.95]) ** 2
        yield from np.geomspace(0.01 * low, 100.0 * high, 30).tolist()
    else:
        yield from np.unique(np.quantile(positive, np.linspace(0.5, 0.999, 30))).tolist()
