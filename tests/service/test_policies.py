"""What is seen of each policy of a loop, and what a metric says where several processes serve it."""

import time
from collections.abc import Callable

import pytest

from marginbandits.service import watch
from marginbandits.service.deploying import promote
from marginbandits.service.model import Model
from marginbandits.service.records import Policy, Settings
from marginbandits.service.requests import Candidate, Wanted
from marginbandits.service.running import intervals
from tests.service.made import Shop, web
from tests.service.simulated import Simulated


@pytest.fixture
def shop(opened: Callable[..., Shop]) -> Shop:
    return opened(Settings(window=5, holdback=0.1), Policy("Uniform"))


def test_each_policy_has_numbers_of_its_own() -> None:
    """The first decides evenly, the second knows: what it earns is not hidden in the mean of both."""
    made = Simulated(Settings(window=5.0, holdback=0.2), Policy("Uniform", number=1))
    for k in range(600):
        if k == 300:
            made.loop.model = Model(Policy("Uniform", number=2))
        actions = ["hat", "shoe"] if k < 300 else ["hat", "shoe", "cap", "tie", "bag"]
        event, decided = made.decide(actions, baseline="hat")
        made.reward(event, float(decided.actions[decided.chosen].id != "hat"))
        made.wait(10.0)
    seen = made.loop.watch.look()
    assert {number: one.decisions for number, one in seen.policies.items()} == {1: 300, 2: 300}
    assert seen.policies[2].first - seen.policies[1].first == pytest.approx(300 * 10e6, rel=0.01)
    first, gained, second, gained_since = intervals(
        [running for one in seen.policies.values() for running in (one.bandit, one.paired)]
    )
    assert first.low < 0.5 < first.high < second.low < 0.8 < second.high
    assert gained.low < 0.5 < gained.high < gained_since.value
    assert gained_since.low < 0.8 < gained_since.high
    assert sum(one.bandit.up.total for one in seen.policies.values()) == seen.stand.bandit.up.total
    assert sum(one.paired.up.n for one in seen.policies.values()) == 600


def test_of_many_policies_the_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "POLICIES", 3)
    made = Simulated(Settings(window=15.0), Policy("Uniform", number=1))
    for number in range(1, 8):
        made.loop.model = Model(Policy("Uniform", number=number))
        made.decide(["hat", "shoe"])
        made.wait(10.0)
    assert list(made.loop.watch.look().policies) == [5, 6, 7]


def test_the_page_and_the_metrics_tell_them_apart(shop: Shop) -> None:
    client = web(shop)
    shop.play(10)
    assert "<h2>Policies</h2>" not in client.get("/page/shop").text, "of one there is nothing to compare"
    shop.clock.sleep(200.0)
    assert promote(shop.service, "shop", Candidate(Wanted("Uniform"), force=True)).promoted
    shop.play(10)
    page, told = client.get("/page/shop").text, client.get("/metrics").text
    assert "<h2>Policies</h2>" in page
    assert "2 Uniform" in page
    assert 'class="mark"><title>policy 2</title>' in page
    for number in "12":
        assert f'marginbandits_policy_reward{{loop="shop",policy="{number}"}} ' in told
        assert f'marginbandits_policy_lift{{loop="shop",policy="{number}",end="low"}} ' in told


def test_what_never_happened_is_0_and_refusals_have_reasons(shop: Shop) -> None:
    client = web(shop)
    told = client.get("/metrics").text
    assert 'marginbandits_events_total{loop="shop",kind="orphan_activations"} 0\n' in told
    assert 'marginbandits_refused_total{status="404"} 0\n' in told
    client.get("/loops/none")
    told = client.get("/metrics").text
    assert 'marginbandits_refused_total{status="404"} 1\n' in told
    assert "marginbandits_behind 0\n" in told
    assert "\nmarginbandits_ahead_seconds " in told


def test_only_the_process_that_learns_tells_of_loops(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    client = web(shop)
    assert 'marginbandits_decisions_total{loop="shop"}' in client.get("/metrics").text
    monkeypatch.setattr(shop.service.journal, "lead", lambda: False)
    shop.service._wake.set()
    while shop.service.leads:
        time.sleep(0.01)
    told = client.get("/metrics").text
    assert "marginbandits_leads 0\n" in told
    own = [line for line in told.splitlines() if 'loop="' in line]
    assert {line.partition("{")[0] for line in own} == {"marginbandits_repeated_total"}  # of each process its own
