"""Whether the page tells the truth, in 40 of the deployments of `benchmarks/service_coverage.py`, looked at every hour.

Each of the page's intervals is right at all looks with probability 95%, or more. So it is wrong in more than 7 of 40
deployments with probability 0.07% at most, by the binomial distribution; one of the four, with 0.3%.
"""

import runpy
from pathlib import Path

import pytest
from scipy import stats

DEPLOYMENTS, HOURS, RATE = 40, 24, 40.0
CLAIM, ERROR = 0.05, 0.001
MOST = int(stats.binom.isf(ERROR, DEPLOYMENTS, CLAIM))
"""So many deployments may be wrong: more are too unlikely, if each is with probability 5%."""


@pytest.mark.soak
def test_intervals_are_right_at_all_looks_and_narrower_ones_would_not_be() -> None:
    here = Path(__file__).parent.parent.parent / "benchmarks" / "service_coverage.py"
    deploy = runpy.run_path(str(here))["deployed"]
    found = [deploy(seed, HOURS, RATE) for seed in range(DEPLOYMENTS)]

    def wrong(narrowed: float) -> list[int]:
        """In how many deployments each interval, if it were so much narrower, was wrong at any look."""
        return [sum(one.needed[at] > narrowed for one in found) for at in range(4)]

    plain = [sum(not one.plain[at] for one in found) for at in range(2)]
    print(f"wrong in {wrong(1.0)} of {DEPLOYMENTS}, at most {MOST}; at one time {plain}, half as wide {wrong(0.5)}")
    assert all(one.events > 300 for one in found)
    assert all(one.served for one in found), "in Apprentice mode the baseline is served always"
    assert max(wrong(1.0)) <= MOST
    assert max(plain) > MOST, "the textbook's interval, which holds at one time, is no such interval"
    assert max(wrong(0.5)) > MOST, "nor is the page's, if it were half as wide"
