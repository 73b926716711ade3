"""What is seen of a loop: the library's own intervals, the same after a restart, and no larger after a year."""

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from marginbandits.evaluation.off_policy.evidence import Evidence, Pair
from marginbandits.evaluation.off_policy.sequences import sequence
from marginbandits.service.journal import DECISION
from marginbandits.service.records import Decided, Erased, Settings
from marginbandits.service.running import Interval, Running, intervals
from marginbandits.service.series import HOUR, Stand, found
from marginbandits.service.watch import RECENT, Seen, Watch
from tests.service.simulated import NOWHERE, SECOND, Simulated

SHOP = ("hat", "shoe")


def many(made: Simulated, n: int, worth: dict[str, float], seconds: float = 10.0) -> Iterator[Decided]:
    """So many decisions, each rewarded by what its action is worth, on average."""
    for k in range(n):
        event, decided = made.decide(tuple(worth), context={"country": "fr" if k % 3 else "de"})
        made.reward(event, float(k * 7919 % 100 < 100 * worth[decided.actions[decided.chosen].id]))
        made.wait(seconds)
        yield decided


def test_a_running_interval_is_that_of_the_whole_sequence() -> None:
    """After every round, whatever the weights."""
    rng = np.random.default_rng(0)
    n = 300
    y, w = rng.random(n), rng.choice([0.0, 0.5, 8.0], n, p=[0.4, 0.5, 0.1])
    u, tau = rng.choice([0.0, 2.0], n), rng.random(n)
    single, pair = Running(), Running(paired=True)
    found: list[list[Interval]] = []
    for k in range(n):
        single.add(y[k], w[k])
        pair.add_pair(y[k], w[k], u[k], tau[k])
        found.append(intervals([single, pair]))
    wholes = sequence(Evidence(w, y), 0.95), sequence(Pair(Evidence(w, y), Evidence(u, y), tau), 0.95)
    for at, whole in enumerate(wholes):
        low = np.array([found[t - 1][at].low for t in whole.times])
        high = np.array([found[t - 1][at].high for t in whole.times])
        assert low == pytest.approx(whole.low, abs=1e-12)
        assert high == pytest.approx(whole.high, abs=1e-12)


def test_where_the_log_never_takes_what_a_policy_would_the_interval_still_holds() -> None:
    one, pair = Running(), Running(paired=True)
    for _ in range(1000):  # the other policy's action is never taken, and may be worth anything
        one.add(1.0, 0.0)
        pair.add_pair(1.0, 1.0, 0.0, 1.0)
    alone, both = intervals([one, pair])
    assert (alone.low, alone.high) == (0.0, 1.0)
    assert both.low < 0.0 < 1.0 <= both.high


def test_nothing_is_known_of_nothing() -> None:
    assert intervals([Running(), Running(paired=True)]) == [Interval(0, 0.5, 0.0, 1.0), Interval(0, 0.0, -1.0, 1.0)]
    assert intervals([]) == []


def test_arms_are_told_apart_and_the_better_action_shows() -> None:
    made = Simulated(Settings(window=60.0, holdback=0.2, segment="country"))
    decisions = list(many(made, 600, {"hat": 0.2, "shoe": 0.8}))
    made.wait(60.0)
    seen = made.loop.watch.look()
    held = [one for one in decisions if one.held]
    assert all(one.chosen == one.baseline for one in held)
    assert (seen.stand.held.up.n, seen.stand.bandit.up.n) == (len(held), 600 - len(held))
    assert seen.stand.baseline.up.n == seen.stand.paired.up.n == 600
    bandit, rest, baseline, lift, _ = found([seen.stand])[0]
    paired = intervals([seen.stand.paired])[0]
    assert rest.low < 0.2 < rest.high < bandit.low
    assert baseline.low < 0.2 < baseline.high
    assert 0.0 < lift.low < lift.value < lift.high
    assert lift == paired
    assert 0.0 < lift.low < bandit.value - 0.2 < lift.high
    assert set(seen.segments) == {"fr", "de"}
    assert seen.segments["de"].decisions == 200
    assert sum(one.bandit.up.n + one.held.up.n for one in seen.segments.values()) == 600
    shoe = seen.actions.rows["shoe"]
    assert shoe.chosen == sum(one.chosen == 1 for one in decisions) == shoe.closed
    assert shoe.weight == pytest.approx(sum(one.probabilities[1] for one in decisions))


def test_hours_add_up() -> None:
    made = Simulated(Settings(window=60.0))
    list(many(made, 500, {"hat": 0.5, "shoe": 0.5}, seconds=60.0))
    made.wait(60.0)
    seen = made.loop.watch.look()
    hours = seen.series[1].until(seen.stand)
    assert seen.series[1].width == HOUR
    assert [one.start // HOUR for one in hours] == list(range(hours[0].start // HOUR, made.at // HOUR + 1))
    assert set(np.diff([one.decisions for one in hours])[:-1].tolist()) <= {59, 60}
    assert hours[-1].decisions == 500
    assert all(one.bandit.up.n <= one.decisions for one in hours)
    assert hours[-1].bandit.up.n == 500


def test_a_restart_changes_nothing() -> None:
    """Kept and read again at any place, and fed on, it becomes byte for byte what it would have been."""
    made = Simulated(Settings(window=60.0, holdback=0.3, exploration=0.1, segment="country"))
    list(many(made, 60, {"hat": 0.3, "shoe": 0.6, "<b>": 0.1}))
    assert made.loop.watch.dumps() == Watch.loads(made.loop.watch.dumps()).dumps()
    assert Watch.loads(made.loop.watch.dumps()).audit.dumps() == made.loop.watch.audit.dumps() != Watch().audit.dumps()
    for stop in (1, 40, 110):
        again = Simulated(Settings(window=60.0, holdback=0.3, exploration=0.1, segment="country"))
        for k, entry in enumerate(made.entries[1:]):
            if k == stop:
                again.loop.watch = Watch.loads(again.loop.watch.dumps())
            again.loop.observe([entry], NOWHERE)
        assert again.loop.watch.dumps() == made.loop.watch.dumps()


def test_another_range_of_rewards_begins_anew() -> None:
    made = Simulated(Settings(window=60.0))
    list(many(made, 20, {"hat": 1.0}))
    made.wait(60.0)
    made.set(Settings(window=5.0, reward_range=(-10.0, 10.0)))
    event, _ = made.decide(("hat",))
    made.reward(event, 5.0)
    made.wait(60.0)
    seen = made.loop.watch.look()
    assert (seen.reward_range, seen.stand.bandit.up.n, seen.stand.bandit.up.total) == ((-10.0, 10.0), 1, 0.75)
    assert seen.decisions == 21


def test_another_share_held_back_begins_anew_and_without_one_the_baseline_is_weighed() -> None:
    made = Simulated(Settings(window=5.0, exploration=0.5))
    list(many(made, 300, {"hat": 0.1, "shoe": 0.9}))
    seen = made.loop.watch.look()
    assert (seen.anew, seen.stand.held.up.n) == (False, 0)
    assert found([seen.stand])[0].lift == intervals([seen.stand.paired])[0]
    assert found([seen.stand])[0].lift.low > 0.0
    made.set(Settings(window=5.0, exploration=0.5, holdback=0.5))
    list(many(made, 20, {"hat": 0.1, "shoe": 0.9}))
    seen = made.loop.watch.look()
    assert seen.anew
    assert (seen.stand.baseline.up.n, seen.stand.decisions <= 20) == (20, True)


def test_an_old_event_that_closes_after_the_range_has_changed_is_left_out() -> None:
    made = Simulated(Settings(window=1000.0))
    made.decide(("hat",))
    made.set(Settings(window=5.0, reward_range=(0.0, 2.0)))
    made.decide(("hat",))
    made.wait(10.0)
    made.wait(2000.0)
    assert made.loop.joiner.counts["default"] == 2
    seen = made.loop.watch.look()
    assert (seen.reward_range, seen.stand.bandit.up.n) == ((0.0, 2.0), 1)


def test_only_what_was_online_and_active_counts() -> None:
    made = Simulated(Settings(window=5.0, mode="Apprentice"))
    list(many(made, 10, {"hat": 1.0, "shoe": 1.0}))
    made.set(Settings(window=5.0))
    made.decide(SHOP, deferred=True)
    made.wait(10.0)
    seen = made.loop.watch.look()
    assert (seen.stand.bandit.up.n, seen.stand.paired.up.n, seen.shadowed) == (0, 0, 10)
    assert 0 <= seen.imitated <= 10
    assert seen.recent[-1].reason == "inactive"
    assert {one.action for one in seen.recent[:10]} == {"hat"}
    assert {one.why for one in seen.recent[:10]} == {"baseline"}


def test_what_is_served_is_counted_apart_and_begins_anew_with_its_range() -> None:
    made = Simulated(Settings(window=5.0, mode="Apprentice"))
    list(many(made, 20, {"hat": 1.0, "shoe": 0.0}))
    made.set(Settings(window=5.0, holdback=0.5))
    list(many(made, 20, {"hat": 1.0, "shoe": 1.0}))
    seen = made.loop.watch.look()
    assert (seen.stand.served.up.n, seen.stand.baseline.up.n, seen.anew) == (20, 20, False)
    assert found([seen.stand])[0].served == intervals([seen.stand.served])[0]
    made.set(Settings(window=5.0, mode="LoggingOnly"))
    list(many(made, 5, {"hat": 1.0}))
    seen = made.loop.watch.look()
    assert (seen.stand.served.up.n, seen.stand.baseline.up.n, seen.anew) == (25, 20, False), (
        "nothing is held back there"
    )
    made.set(Settings(window=5.0, mode="Apprentice", reward_range=(0.0, 2.0)))
    list(many(made, 3, {"hat": 1.0}))
    seen = made.loop.watch.look()
    assert (seen.stand.served.up.n, seen.stand.served.up.total, seen.anew) == (3, 1.5, True)


def test_the_last_decisions_say_why_and_hold_no_context() -> None:
    made = Simulated(Settings(window=5.0, holdback=0.3))
    for k in range(80):
        event, decided = made.decide(("hat", "shoe", "sock"), context={"name": "Ann"}, excluded=["sock"])
        made.reward(event, float(decided.chosen == 1))
        made.wait(10.0)
        assert k >= 2 or made.loop.watch.look().recent[-1].why in (
            "nothing learnt",
            "held back",
            "likeliest",
            "explored",
        )
    seen = made.loop.watch.look()
    assert len(seen.recent) == RECENT
    assert {one.why for one in seen.recent} >= {"held back", "likeliest"}
    last = seen.recent[-1]
    assert {last.action, last.runner_up} == {"hat", "shoe"}
    assert last.probability + last.second == pytest.approx(1.0)
    assert (last.reason, last.reward) == ("rewarded", float(last.action == "shoe"))
    assert b"Ann" not in made.loop.watch.dumps()
    made.loop.watch.forget(Erased(entries=[last.seq]), [])
    assert last.id not in {one.id for one in made.loop.watch.look().recent}
    assert last.id.encode() not in made.loop.watch.dumps()


def test_memory_does_not_grow_with_history() -> None:
    """Of a thousand actions and a thousand segments over two years, no more is kept than of fewer."""
    made = Simulated(Settings(window=5.0, segment="who"))
    sizes, seen = [], made.loop.watch.look()
    for k in range(3000):
        made.decide((f"action {k % 1000}", f"other {k % 997}"), context={"who": k})
        made.wait(6.0 * 3600.0)
        if k % 1000 == 999:
            sizes.append(len(made.loop.watch.dumps()))
            seen = made.loop.watch.look()
            assert len(seen.actions.rows) <= 300
            assert len(seen.segments) <= 20
            assert [len(one.stands) <= one.most for one in seen.series] == [True] * 3
    assert sizes[2] < 1.05 * sizes[1]
    assert seen.decisions == 3000
    rows = [one for some in seen.actions.ordered(3000) for _, one in some]
    assert sum(one.chosen for one in rows) + seen.actions.rest.chosen == 3000
    assert not seen.series[1].whole


def test_a_repeated_entry_of_another_loop_is_not_seen() -> None:
    made = Simulated(Settings())
    made.decide(SHOP)
    other = msgspec.structs.replace(made.entries[-1], loop="other", seq=99, at=made.at + SECOND)
    assert other.kind == DECISION
    made.loop.observe([other], NOWHERE)
    assert made.loop.watch.decisions == 1
    assert isinstance(made.loop.watch.look(), Seen)
    assert made.loop.watch.look().stand.at(0) == Stand(0, 1)
