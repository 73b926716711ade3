"""How many visitors it takes until the page of the decision service says that the bandit earns more.

    python benchmarks/service_visitors.py [--runs 20] [--seed 0]

Visitors click on the baseline at one rate, and on what the bandit chooses at another; it never chooses the baseline, so
that nothing is known of both at once. Told is the median of the visitors that were needed, by the rate, by how much
more the bandit gets, and by the share held back; and how wide the interval was then, to one side, in standard errors of
the plain difference of the two rates. The sums are those of the page (`service/running.py`), for all visitors at once.
"""

import argparse
import math

import numpy as np
import numpy.typing as npt

from marginbandits.evaluation.off_policy.sequences import boundary
from marginbandits.service.running import LEVEL, RHO, Running, intervals
from marginbandits.types import Array

RATES, LIFTS, HOLDBACKS = (0.01, 0.03, 0.1, 0.3), (0.2, 0.5, 1.0), (0.05, 0.1, 0.2, 0.5)
LOOKS = 400


def paired(y: Array, gap: Array) -> tuple[Array, Array]:
    """The sum and the spread of a bounded `Running`, upward, after each visitor."""
    squares = gap**2
    c = (0.5 + np.cumsum(squares * y) - squares * y) / (1.0 + np.cumsum(squares) - squares)
    x = (1.0 + gap * (y - c)) / 2.0
    total = np.cumsum(x)
    guess = np.clip((total - x + 0.5) / np.arange(1, len(x) + 1), 0.0, 1.0)
    return total, np.cumsum((x - guess) ** 2)


def lows(y: Array, gap: Array, most: float, times: npt.NDArray[np.int64]) -> Array:
    """The lower end of the lift after so many visitors."""
    total, spread = paired(y, gap)
    unit = (1.0 + most) / 2.0
    room = unit * boundary(spread[times - 1] / unit**2, (1.0 - LEVEL) / 2.0, RHO)
    return np.asarray(2.0 * (total[times - 1] - room) / times - 1.0)


def drawn(rng: np.random.Generator, rate: float, lift: float, h: float, n: int) -> tuple[Array, Array]:
    """Clicks, and the weight of the bandit less that of the baseline."""
    held = rng.random(n) < h
    clicks = rng.random(n) < np.where(held, rate, rate * (1.0 + lift))
    return clicks.astype(float), np.where(held, -1.0 / h, 1.0 / (1.0 - h))


def needed(rng: np.random.Generator, rate: float, lift: float, h: float) -> tuple[float, float]:
    """Visitors until the page says so, and the interval's half width in standard errors then."""
    more, gain = rate * (1.0 + lift), rate * lift
    per_visitor = more * (1.0 - more) / (1.0 - h) + rate * (1.0 - rate) / h
    n = math.ceil(36.0 * per_visitor / gain**2) + 200
    y, gap = drawn(rng, rate, lift, h, n)
    times = np.unique(np.geomspace(10, n, LOOKS).astype(np.int64))
    found = lows(y, gap, 1.0 / min(h, 1.0 - h), times)
    if not (found > 0.0).any():
        return math.inf, math.nan
    at = int(np.argmax(found > 0.0))
    k = int(times[at])
    held = gap[:k] < 0.0
    value = y[:k][~held].mean() - y[:k][held].mean()
    return float(k), (value - found[at]) / math.sqrt(per_visitor / k)


def same(rng: np.random.Generator) -> None:
    """What is computed for all visitors at once is what the page computes one by one."""
    y, gap = drawn(rng, 0.1, 0.5, 0.2, 500)
    one = Running(True, 5.0)
    for reward, weight in zip(y, gap, strict=True):
        one.add_pair(reward, max(weight, 0.0), max(-weight, 0.0), 1.0)
    assert math.isclose(intervals([one])[0].low, lows(y, gap, 5.0, np.array([500]))[0], abs_tol=1e-12)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    same(rng)
    print("clicks  bandit gets " + "".join(f"{f'holdback {100 * h:.0f}%':>15}" for h in HOLDBACKS))
    widths = []
    for rate in RATES:
        for lift in LIFTS:
            found = [[needed(rng, rate, lift, h) for _ in range(options.runs)] for h in HOLDBACKS]
            widths += [width for several in found for _, width in several]
            told = "".join(f"{float(f'{np.median([n for n, _ in one]):.2g}'):>15,.0f}" for one in found)
            print(f"{100 * rate:5.0f}%  {100 * lift:+10.0f}% {told}")
    middle, most = np.nanquantile(widths, [0.5, 0.95])
    print(f"the interval then, to one side: {middle:.1f} standard errors in the middle, {most:.1f} at the 95th of 100")


if __name__ == "__main__":
    main()
