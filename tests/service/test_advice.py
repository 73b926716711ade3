"""What the doctor advises, and who may read what."""

from collections.abc import Callable
from pathlib import Path

import pytest

from marginbandits.service.doctor import looked_at
from marginbandits.service.records import Policy, Settings
from marginbandits.service.sqlite import Sqlite
from tests.service.made import Shop, web
from tests.service.simulated import Simulated


@pytest.fixture
def shop(opened: Callable[..., Shop]) -> Shop:
    return opened(Settings(window=5), Policy("Uniform"))


def decided(shop: Shop, n: int) -> list[str]:
    return [shop.decide().event_id for _ in range(n)]


def test_few_rewards_are_no_reason_to_worry_and_late_ones_are(shop: Shop) -> None:
    """Three of a hundred click, as they do; but if one of three comes late, the window is too short."""
    events = decided(shop, 110)
    for event in events[:3]:
        shop.reward(event, 1.0)
    shop.pass_by(100.0)
    assert not [one for one in looked_at(shop.service.journal).advice if one.startswith("shop")]
    for event in events[3:5]:
        shop.reward(event, 1.0)
    shop.pass_by(1.0)
    assert any(
        one.startswith("shop: 40.0% of rewards (2 of 5) are late: they came after their windows, and are not learnt")
        for one in looked_at(shop.service.journal).advice
    )


def test_that_no_reward_ever_came_is(shop: Shop) -> None:
    decided(shop, 110)
    shop.pass_by(100.0)
    assert "shop: no reward has ever come; are they sent?" in looked_at(shop.service.journal).advice


def test_who_was_erased_is_in_no_sum_and_that_is_said(shop: Shop) -> None:
    decided(shop, 8)
    shop.decide(unit="me")
    shop.pass_by(100.0)
    shop.service.erase("shop", "me")
    (line,) = [one for one in looked_at(shop.service.journal).lines if one.startswith("shop")]
    assert line == "shop: 8 decisions, 0 open; 8 default, 1 event erased and in none of these sums"


def test_a_journal_and_its_copies_are_its_owners(tmp_path: Path) -> None:
    """Contexts and secrets are in them."""
    journal = Sqlite(tmp_path / "shop")
    journal.put("fact", b"x")
    journal.backup(str(tmp_path / "copy.sqlite3"))
    files = [*(tmp_path / "shop").glob("journal.sqlite3*"), tmp_path / "copy.sqlite3"]
    assert len(files) >= 2
    assert {one.stat().st_mode & 0o777 for one in files} == {0o600}
    journal.close()


def test_where_the_learner_prefers_none_that_is_why() -> None:
    made = Simulated(Settings(window=5.0), Policy("Uniform", number=1))
    for _ in range(3):
        made.decide(["hat", "shoe"])
        made.wait(10.0)
    assert [one.why for one in made.loop.watch.look().recent] == ["nothing learnt", "all alike", "all alike"]


def test_entries_are_named_as_they_were_sent(opened: Callable[..., Shop]) -> None:
    shop = opened(Settings(window=5))
    offers = [{"id": "hat", "features": {"price": 20}}, {"id": "shoe", "features": {"price": 80}}]
    client = web(shop)
    for k in range(12):
        context = {"device": "phone" if k % 2 else "desk", "user": {"interest": "sport" if k % 3 else "art"}}
        event = client.post("/loops/shop/decide", json={"context": context, "actions": offers}).json()["event_id"]
        shop.reward(event, float(k % 2))
        shop.pass_by(10.0)
    page = client.get("/page/shop/event", params={"id": event}).text
    told = page[page.index("What is added") :]
    assert "user.interest" in told
    assert "device" in told
    assert "action&#x27;s price" in told
    assert "user.device" not in told
    assert "user.user" not in told


def test_a_foreign_host_is_told_that_it_is_the_host(shop: Shop) -> None:
    refused = web(shop).get("/loops", headers={"Host": "example.org"})
    assert refused.status_code == 403
    assert "header Host" in refused.json()["error"]
