"""The page in words: what it says of a loop, with a key, and with names that mean harm."""

import base64
import re
from typing import Any

import pytest

from marginbandits.service.audit import ALARM
from marginbandits.service.core import Service
from marginbandits.service.journal import PAST, Draft
from marginbandits.service.keys import Keys
from marginbandits.service.page_parts import _likely, by_action, by_segment
from marginbandits.service.records import Decided, Offer, Past, Policy, Settings, encode
from marginbandits.service.running import intervals
from marginbandits.service.tallies import LIVE, Table
from marginbandits.service.wording import Units
from tests.service.paged import SHOP, Web, played, shown
from tests.service.simulated import Simulated

HOSTILE = ("<script>alert(1)</script>", "\"onload='x' &amp; </td>", "A" * 256, "\u202ebackwards", "π é 漢字")


def test_with_no_events_it_says_so(service: Service) -> None:
    page = shown(service, Simulated(Settings())).text
    assert "Nothing can be said yet" in page
    assert "nothing yet" in page
    assert "<svg" not in page


def test_with_one_event_it_stands(service: Service) -> None:
    made = Simulated(SHOP)
    made.decide(("hat",), context={"who": 3})
    assert "Nothing can be said yet" in shown(service, made).text
    made.wait(60.0)
    page = shown(service, made).text
    assert "It is not settled yet" in page
    assert "<circle" in page
    assert "nan" not in page


@pytest.mark.parametrize(
    ("best_first", "words"), [(False, " more</b> than the holdback: 95% sure"), (True, " less</b> than the holdback")]
)
def test_with_thousands_there_is_a_verdict(best_first: bool, words: str, service: Service) -> None:
    made = Simulated(Settings(window=60.0, holdback=0.3, exploration=0.9 if best_first else 0.0))
    for k in range(2500):
        event, decided = made.decide(("hat", "shoe"))
        made.reward(event, float((decided.chosen == 0) == best_first and k * 7919 % 10 < 8))
        made.wait(40.0)
    page = shown(service, made).text
    assert words in page
    assert page.count("<figure>") == 4
    assert "Reward in each hour" in page
    assert "Policy 1, SquareCB, has taken in 2,49" in page


def test_rewards_are_in_their_own_units(service: Service) -> None:
    made = Simulated(Settings(window=10.0, reward_range=(-50.0, 150.0), default=0.0))
    for _ in range(30):
        event, _ = made.decide(("hat",))
        made.reward(event, 100.0)
        made.wait(20.0)
    page = shown(service, made).text
    assert "<h3>Bandit</h3><b>100.0</b>" in page
    assert '<th scope="row" class="wide">hat</th><td data-label="Traffic">100.0%</td>' in page


def test_apprentice_says_how_often_the_learner_agrees(service: Service) -> None:
    page = shown(service, played(20, Settings(window=5.0, mode="Apprentice"), ("hat", "shoe"))).text
    assert "The baseline is served always (Apprentice)." in page
    assert "The learner would have chosen it in" in page


@pytest.mark.parametrize("mode", ["Apprentice", "LoggingOnly"])
def test_what_is_served_has_its_reward_where_that_is_always_the_baseline(mode: Any, service: Service) -> None:
    made = Simulated(Settings(window=5.0, mode=mode))
    for k in range(80):
        event, _ = made.decide(("hat", "shoe"))
        made.reward(event, float(k % 4 == 0))
        made.wait(5.0)
    made.wait(5.0)
    page = shown(service, made).text
    tile = re.findall(r'<div class="tile ([a-z]+)"><h3>([^<]+)</h3><b>([^<]+)</b>', page)
    assert tile == [("served", "Baseline, as served", "0.250")]
    assert "no data yet" not in page
    assert page.count('class="line served"><title>baseline, as served') == 2, "so far, and in each minute"
    assert page.count('class="band served"') == 1


def test_what_was_online_before_stays_beside_what_is_served(service: Service) -> None:
    made = played(20, SHOP, ("hat", "shoe"))
    made.set(Settings(window=60.0, mode="Apprentice"))
    made.wait(100.0)
    tiles = re.findall(r'<div class="tile ([a-z]+)">.*?<b[^>]*>([^<]+)</b>', shown(service, made).text)
    assert [kind for kind, _ in tiles] == ["served", "bandit", "held", "base", "lift"]
    assert tiles[0][1] == "–"


def test_alarms_come_first(service: Service) -> None:
    made = played(5, SHOP, ("hat", "shoe"))
    assert "alarm" not in shown(service, made).text.partition("</style>")[2].partition("<h2>")[0]
    for _ in range(100):
        made.loop.watch.audit.observe([0.5, 0.5], 0, ["hat", "shoe"])
    page = shown(service, made).text
    assert page.index('role="alert"') < page.index('class="verdict"')
    assert made.loop.watch.audit.evidence > ALARM
    made.loop.watch.audit.observe([1.0, 0.0], 1, ["hat", "shoe"])
    assert 'role="alert"' in shown(service, made).text


def test_names_are_words_not_markup(service: Service) -> None:
    made = played(40, SHOP, HOSTILE, HOSTILE)
    answer = shown(service, made)
    assert "<script" not in answer.text
    assert "onload='x'" not in answer.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert "script-src" not in answer.headers["content-security-policy"]
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    gone = Web(service).get("/page/<script>alert(1)</script>")
    assert (gone.status_code, "<script" in gone.text) == (404, False)
    service.loops["<i>x</i>"] = Simulated(Settings(), name="<i>x</i>").loop
    front = Web(service).get("/").text
    assert '<a href="/page/%3Ci%3Ex%3C%2Fi%3E"><b>&lt;i&gt;x&lt;/i&gt;</b></a>' in front


def test_the_front_lists_loops_or_goes_to_the_only_one(service: Service) -> None:
    web = Web(service)
    assert "There are none yet" in web.get("/").text
    service.set("shop", Settings())
    assert web.get("/").headers["location"] == "/page/shop"
    service.set("news", Settings(mode="LoggingOnly"))
    assert web.get("/").text.index("news") < web.get("/").text.index("shop")


def test_the_front_says_how_each_loop_fares(service: Service) -> None:
    sure = Simulated(Settings(window=1.0, holdback=0.5, exploration=0.5), name="sure")
    for _ in range(400):
        event, decided = sure.decide(("hat", "shoe"))
        sure.reward(event, float(decided.chosen == 1))
        sure.wait(2.0)
    served = Simulated(
        Settings(window=1.0, mode="Apprentice"), Policy("LogisticTS", {"scale": 2.0}, number=3), name="low"
    )
    event, _ = served.decide(("hat",))
    served.reward(event, 0.25)
    served.wait(2.0)
    early = played(20, SHOP, ("hat", "shoe"))
    early.loop.watch.audit.observe([1.0, 0.0], 1, ["hat", "shoe"])
    for one in (sure, served, early, Simulated(Settings(), name="new")):
        service.loops[one.loop.name] = one.loop
    page = Web(service).get("/").text.partition("<tbody>")[2]
    rows = {re.findall(r"<b>([a-z]+)</b></a>", one)[0]: one for one in page.split("</tr>") if "<th" in one}
    assert list(rows) == ["low", "new", "shop", "sure"]
    assert re.search(r'<b class="more">[0-9.]+ to [0-9.]+ more</b>', rows["sure"])
    assert re.search(r"not yet known <small>[0-9.]+ less to [0-9.]+ more</small>", rows["shop"])
    assert "3 LogisticTS(scale=2.0)" in rows["low"]
    assert re.search(r'data-label="Reward" class="">0.250 <small>', rows["low"])
    assert rows["low"].count("no data yet") == 1
    assert rows["new"].count("no data yet") == 2
    assert [name for name, one in rows.items() if "alarm: its draws" in one] == ["shop"]


def test_events_that_warmed_a_loop_are_among_those_joined(service: Service) -> None:
    past = Decided("", {}, [Offer("hat")], [1.0], [], 0, 0, 0, 0, 0.0, 0.0, (0.0, 1.0))
    service.set("shop", Settings())
    service.writer.put(Draft("shop", PAST, "e", encode(Past(past, 1.0)))).result()
    service.settle()
    assert '<dt>past</dt><dd class="count">1</dd>' in Web(service).get("/page/shop").text
    refused = Web(service).post("/loops/shop/evaluate", json={})
    assert "events of the past, that warmed the loop, teach but judge nobody" in refused.json()["error"]


def test_a_segment_has_counts_and_intervals(service: Service) -> None:
    made = played(200, SHOP, ("hat", "shoe"))
    seen = made.loop.watch.look()
    bandit, held = intervals([seen.segments["fr"].bandit, seen.segments["fr"].held])
    page = shown(service, made).text
    assert bandit.n + held.n == 100
    assert '<td data-label="Decisions" class="">100 <small>50.0%</small></td>' in page
    for one in (bandit, held):
        told = f"{one.value:.3f} <small>{one.low:.3f} to {one.high:.3f}</small> <small>of {one.n}</small>"
        assert told in page
    made.set(Settings(window=60.0, holdback=0.5, segment="who"))
    made.decide(("hat", "shoe"), context={"who": "de"})
    made.wait(100.0)
    parts = made.loop.watch.look().segments
    assert (parts["fr"].bandit.up.n, parts["de"].bandit.up.n + parts["de"].held.up.n) == (0, 1), "they begin anew"


def test_actions_that_are_offered_no_more_are_behind_a_line(service: Service) -> None:
    """A retired one of much traffic, and a mistyped one of none, come after what is offered now, however rare."""
    made = Simulated(Settings(window=5.0, mode="LoggingOnly", segment="who"))
    for k in range(1100 + LIVE):
        actions = ("old", "new") if k < 1100 else ("new", "fresh")
        made.decide(("odl", "new") if k == 7 else actions, context={"who": k % 2})
        made.wait(5.0)
    seen = made.loop.watch.look()
    page = by_action(seen, Units((0.0, 1.0)), made.at)
    above, _, behind = page.partition("<details>")
    assert re.findall(r'class="wide">([a-z]+)<', above) == ["new", "fresh"]
    assert re.findall(r'class="wide">([a-z]+)<', behind) == ["old", "odl"]
    assert "and 2 others, not in the last 1,000 decisions: last offered 1 hour ago</summary>" in behind
    assert above.count('<td class="ago" data-label="Last offered">now</td>') == 2
    assert not re.search(r"\bold\b", by_segment(seen, Units((0.0, 1.0))))
    made.decide(("old", "new"))
    assert "<details>" in by_action(made.loop.watch.look(), Units((0.0, 1.0)), made.at), "the mistyped one is"
    assert "1 other, not" in by_action(made.loop.watch.look(), Units((0.0, 1.0)), made.at)


def test_likeliest_actions_are_in_the_order_of_their_percentages() -> None:
    """One that was offered rarely, and was likely then, has less weight in all than one that was always offered."""
    table = Table(30)
    for k in range(100):
        offered = (["always", "other"], [0.4, 0.6]) if k % 4 else (["always", "other", "rare"], [0.4, 0.15, 0.45])
        table.decided(*offered, 0, number=k + 1, at=k + 1)
    found = _likely(table, 100)
    assert [name for name, _ in found] == ["other", "rare", "always"]
    assert [chance for _, chance in found] == pytest.approx([0.4875, 0.45, 0.4])


def test_policies_are_shown_with_their_parameters(service: Service) -> None:
    service.set("shop", Settings(), Policy("LogisticTS", {"scale": 2.0}))
    assert "Policy 1, LogisticTS(scale=2.0), has taken in 0 events" in Web(service).get("/page/shop").text


def test_what_was_not_learnt_from_is_told_with_its_reasons(service: Service) -> None:
    made = played(4, Settings(window=5.0, mode="LoggingOnly"), ("hat", "shoe"))
    page = shown(service, made).text
    assert "has taken in 4 events, and learnt from all but 4" in page
    assert "Not learnt from: events that were never activated" in page


def test_it_comes_again_if_asked(service: Service) -> None:
    service.set("shop", Settings())
    web = Web(service)
    assert "http-equiv" not in web.get("/page/shop").text
    assert '<meta http-equiv="refresh" content="10">' in web.get("/page/shop?every=10").text
    assert 'content="2"' in web.get("/page/shop?every=0").text
    for nonsense in ("x", "-1", "9" * 5000, "٣", '"><script>'):
        assert "http-equiv" not in web.get("/page/shop", params={"every": nonsense}).text


def test_a_difference_that_may_be_either_is_no_number(service: Service) -> None:
    page = shown(service, played(20, SHOP, ("hat", "shoe"))).text
    tile = re.findall(r'<div class="tile lift">.*?</div>', page)[0]
    assert '<b class="words">not yet known</b>' in tile
    assert re.search(r"<span>[0-9.]+ less to [0-9.]+ more</span>", tile)
    assert "not one tile less another" in tile


def test_a_tile_without_data_says_so(service: Service) -> None:
    page = shown(service, played(10, Settings(window=60.0, holdback=1.0), ("hat", "shoe"))).text
    assert "<h3>Bandit</h3><b>–</b><span>no data yet</span>" in page
    assert "<h3>Bandit less holdback</h3><b>–</b><span>no data yet</span>" in page
    assert "every event that has closed was held back" in page


def test_a_segment_that_no_context_has_says_so(service: Service) -> None:
    page = shown(service, played(10, Settings(window=60.0, segment="user.contry"), ("hat", "shoe"))).text
    assert "No context has a word or a number at <code>user.contry</code>" in page
    assert "Segments: who" in shown(service, played(10, SHOP, ("hat", "shoe"))).text


def test_a_key_is_asked_for_and_taken_as_a_password(service: Service) -> None:
    service.set("shop", Settings())
    service.set("news", Settings())
    keys = Keys(service.journal)
    reading, rewarding, everything = (keys.make("*", [scope]) for scope in ("read", "reward", "admin"))
    own = keys.make("shop", ["read"])
    web = Web(service)
    for path in ("/", "/page/shop", "/page/shop/event?id=x"):
        refused = web.get(path)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Basic ")
        assert "a browser asks for a name, which may be any, and for a password, which is the key" in refused.text
        assert web.get(path, auth=("anyone", "wrong")).status_code == 401
        assert web.get(path, auth=("anyone", rewarding)).status_code == 403
    for broken in ("Basic", "Basic ***", "Basic " + base64.b64encode(b"no colon").decode(), "Basic /w=="):
        assert web.get("/", headers={"Authorization": broken}).status_code == 401
    page = web.get("/page/shop", auth=("anyone", reading))
    assert page.status_code == 200
    assert reading not in page.text
    assert web.get("/page/shop", headers={"Authorization": f"Bearer {reading}"}).status_code == 200
    assert web.get("/", auth=("", own)).headers["location"] == "/page/shop"
    assert web.get("/page/news", auth=("", own)).status_code == 403
    body = {"context": {}, "actions": ["hat"]}
    assert web.post("/loops/shop/decide", json=body, auth=("", everything)).status_code == 401
    bearer = {"Authorization": f"Bearer {everything}"}
    assert web.post("/loops/shop/decide", json=body, headers=bearer).status_code == 200
