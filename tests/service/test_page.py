"""The page as people meet it: in words, in a browser, with a key, and with names that mean harm."""

import asyncio
import base64
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from marginbandits.learners.adding import Added
from marginbandits.service.app import application
from marginbandits.service.audit import ALARM
from marginbandits.service.charts import LETTER, WIDTH, Line, Point, chart
from marginbandits.service.core import Service
from marginbandits.service.demo import LOOP, Demo
from marginbandits.service.journal import PAST, Draft
from marginbandits.service.keys import Keys
from marginbandits.service.page_charts import each, figures
from marginbandits.service.page_event import _outside
from marginbandits.service.page_parts import _likely, by_action, by_segment
from marginbandits.service.records import Decided, Offer, Past, Policy, Settings, encode
from marginbandits.service.running import intervals
from marginbandits.service.series import MINUTE
from marginbandits.service.sqlite import Sqlite
from marginbandits.service.tallies import LIVE, Table
from marginbandits.service.wording import Units
from tests.browser import FAULTS, Browser
from tests.service.made import Shop
from tests.service.running import served
from tests.service.simulated import SECOND, Simulated

HOSTILE = ("<script>alert(1)</script>", "\"onload='x' &amp; </td>", "A" * 256, "\u202ebackwards", "π é 漢字")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    one = Service(Sqlite(tmp_path, durability="process", serving=True))
    yield one
    one.close()


class Web:
    """Requests to a service in this process, without a port."""

    def __init__(self, service: Service) -> None:
        self.app = application(service)

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.ask("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.ask("POST", path, **more)

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def asked() -> httpx.Response:
            through = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=through, base_url="http://127.0.0.1:8080") as one:
                return await one.request(method, path, **more)

        return asyncio.run(asked())


def shown(service: Service, made: Simulated) -> httpx.Response:
    """The page of a loop of made-up entries."""
    service.loops[made.loop.name] = made.loop
    answer = Web(service).get(f"/page/{made.loop.name}")
    assert answer.status_code == 200, answer.text
    return answer


def played(n: int, settings: Settings, actions: tuple[str, ...], segments: tuple[str, ...] = ("fr", "de")) -> Simulated:
    """So many events; of the actions, the last is the best."""
    made = Simulated(settings)
    for k in range(n):
        who, name = segments[k % len(segments)], f"{segments[k * 7 % len(segments)]} {k}"[-200:]
        event, decided = made.decide(actions, event=name, context={"who": who})
        made.reward(event, float(k * 7919 % 10 < 8 * decided.chosen / max(len(actions) - 1, 1)))
        made.wait(40.0)
    made.wait(60.0)
    return made


SHOP = Settings(window=60.0, holdback=0.2, segment="who")


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


def test_words_of_marks_stay_on_the_chart() -> None:
    line = Line("bandit", "bandit", [Point(at * MINUTE, 0.5, 0.4, 0.6) for at in range(101)])
    marks = [(at * MINUTE, f"policy {at}") for at in (50, 51, 97, 99)]
    words = re.findall(
        r'<text x="([0-9.]+)" y="([0-9]+)" text-anchor="(start|end)">policy', chart([line], "", marks=marks)
    )
    places = [
        (float(x), float(x) + 8 * LETTER) if at == "start" else (float(x) - 9 * LETTER, float(x)) for x, _, at in words
    ]
    assert [at for _, _, at in words] == ["start", "start", "end", "end"]
    assert all(0.0 <= left < right <= WIDTH for left, right in places)
    assert words[0][1] != words[1][1], "not one upon the other"
    assert words[2][1] != words[3][1]


def test_all_charts_have_one_axis_of_time(service: Service) -> None:
    page = shown(service, played(60, SHOP, ("hat", "shoe"))).text
    charts = re.findall(r'<svg viewBox="0 0 360 220".*?</svg>', page)
    times = [re.findall(r'<text x="([0-9.]+)" y="214" text-anchor="middle">([^<]+)<', one) for one in charts]
    assert len(times) == 4
    assert times[0]
    assert all(one == times[0] for one in times)


def test_it_comes_again_if_asked(service: Service) -> None:
    service.set("shop", Settings())
    web = Web(service)
    assert "http-equiv" not in web.get("/page/shop").text
    assert '<meta http-equiv="refresh" content="10">' in web.get("/page/shop?every=10").text
    assert 'content="2"' in web.get("/page/shop?every=0").text
    for nonsense in ("x", "-1", "9" * 5000, "٣", '"><script>'):
        assert "http-equiv" not in web.get("/page/shop", params={"every": nonsense}).text


def test_the_minute_that_runs_is_there_and_gaps_are_gaps() -> None:
    made = Simulated(Settings(window=1.0))
    start = made.at = 1_700_000_040 * SECOND  # a minute begins
    for minute, n in ((0, 3), (1, 2), (7, 4)):
        made.at = start + minute * MINUTE
        for _ in range(n):
            event, _ = made.decide(("hat",))
            made.reward(event, 1.0)
            made.wait(2.0)
    seen = made.loop.watch.look()
    bandit, held, _, decisions = each(seen.series[0].until(seen.stand), seen.series[0], Units((0.0, 1.0)), made.at)
    assert [((one.at - start) // MINUTE, one.value) for one in decisions.points] == [
        (0, 3),
        (1, 2),
        (2, 0),
        (6, 0),
        (7, 4),
    ]
    assert decisions.running
    assert [(one.at - start) // MINUTE for one in bandit.points] == [0, 1, 7]
    assert not held.points
    drawn = chart([bandit], "x")
    assert drawn.count("<polyline") == 2, "nothing is drawn where nothing was"
    assert drawn.count("<title>under way</title>") == 1
    later = each(seen.series[0].until(seen.stand), seen.series[0], Units((0.0, 1.0)), start + 10 * MINUTE)[-1]
    assert [((one.at - start) // MINUTE, one.value) for one in later.points][-3:] == [(7, 4), (8, 0), (10, 0)]
    page = figures(seen, Units((0.0, 1.0)), made.at)
    assert "Decisions in each minute" in page
    assert "a hollow dot is the one that is under way" in page


def test_a_minute_of_few_events_does_not_stretch_the_axis(service: Service) -> None:
    """Two events of mean 0.5, then minutes of a hundred of mean 0.05: the axis is of these, the others are marked."""
    made = Simulated(Settings(window=1.0))
    made.at = 1_700_000_040 * SECOND  # a minute begins
    for minute in range(8):
        for k in range(100 if minute else 2):
            event, _ = made.decide(("hat",))
            made.reward(event, float(k % 20 == 0))
            made.wait(0.6)
        made.at += (0 if minute else 60 - 2) * SECOND
    seen = made.loop.watch.look()
    bandit = each(seen.series[0].until(seen.stand), seen.series[0], Units((0.0, 1.0)), made.at)[0]
    assert [one.sure for one in bandit.points][:3] == [False, True, True]
    assert bandit.points[0].value == 0.5
    drawn = re.findall(r"<figure><h3>Reward in each minute</h3>.*?</figure>", shown(service, made).text)[0]
    axis = [float(one) for one in re.findall(r'text-anchor="end">([0-9.]+)<', drawn)]
    assert max(axis) < 0.1
    assert "beyond the axis: 0.500, of 2 events" in drawn
    assert drawn.count('class="line bandit faint"') == 1
    assert "What is faint rests on few events" in shown(service, made).text


def test_where_all_are_few_they_are_shown(service: Service) -> None:
    page = shown(service, played(30, Settings(window=60.0), ("hat", "shoe"))).text
    drawn = re.findall(r"<figure><h3>Reward in each minute</h3>.*?</figure>", page)[0]
    assert "faint" not in drawn
    assert "beyond" not in drawn


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


def test_one_decision_tells_what_it_was_worth(service: Service) -> None:
    service.set("shop", Settings(window=600.0, aggregation="sum", actions=["a", "b"]))
    web = Web(service)
    web.post("/loops/shop/reward", json={"event_id": "e", "value": 0.25}).raise_for_status()
    web.post("/loops/shop/decide", json={"event_id": "e", "context": {"user": {"<i>": [1, 2]}}}).raise_for_status()
    web.post("/loops/shop/reward", json={"event_id": "e", "value": 0.5}).raise_for_status()
    page = web.get("/page/shop/event?id=e").text
    assert "Its window is open until" in page
    assert "0.250 at " in page, "what came before it counts, too"
    assert "&lt;i&gt;" in page


def test_one_decision_tells_what_came_in_time(opened: Callable[..., Shop]) -> None:
    shop = opened(Settings(window=60.0, aggregation="sum", actions=["a", "b"]))
    web = Web(shop.service)
    web.post("/loops/shop/reward", json={"event_id": "f", "value": 0.25}).raise_for_status()
    web.post("/loops/shop/decide", json={"event_id": "f"}).raise_for_status()
    web.post("/loops/shop/reward", json={"event_id": "f", "value": 0.5}).raise_for_status()
    shop.pass_by(61.0)
    web.post("/loops/shop/reward", json={"event_id": "f", "value": 0.125}).raise_for_status()
    assert "Its reward is <b>0.750</b>, by sum." in web.get("/page/shop/event?id=f").text


def test_one_decision_tells_everything(opened: Callable[..., Shop]) -> None:
    shop = opened(Settings(window=60.0, holdback=0.2))
    service, web = shop.service, Web(shop.service)
    for k in range(12):
        ask = {"context": {"who": "Ann"}, "actions": ["hat", "<b>shoe</b>", "sock"], "excluded": ["sock"]}
        web.post("/loops/shop/decide", json={**ask, "event_id": f"../{k}/é?#", "unit": "Ann"}).raise_for_status()
        web.post("/loops/shop/reward", json={"event_id": f"../{k}/é?#", "value": 0.25}).raise_for_status()
    shop.pass_by(61.0)
    address = "/page/shop/event?id=..%2F11%2F%C3%A9%3F%23"
    assert address in web.get("/page/shop").text
    page = web.get(address).text
    assert "0.250 at " in page
    assert "&lt;b&gt;shoe&lt;/b&gt;" in page
    assert "<b>shoe" not in page
    assert "&quot;who&quot;: &quot;Ann&quot;" in page
    assert "Its reward is <b>0.250</b>, by earliest." in page
    assert "excluded" in page
    assert "Predicted reward" in page
    assert "Ann" not in web.get("/page/shop").text
    assert web.get("/page/shop/event?id=nothing").status_code == 404
    assert web.get("/page/shop/event").status_code == 404
    service.erase("shop", "Ann")
    assert web.get(address).status_code == 404
    assert address not in web.get("/page/shop").text


def test_a_prediction_is_what_is_usual_and_what_is_added(service: Service) -> None:
    """In the numbers that are shown, of every action; those beyond what a reward can be are told of."""
    service.set("shop", Settings(window=0.02))
    web = Web(service)
    for k in range(60):
        ask = {"context": {f"about {j}": k * j % 3 for j in range(8)}, "actions": ["hat", "shoe"], "event_id": str(k)}
        told = web.post("/loops/shop/decide", json=ask).json()
        web.post("/loops/shop/reward", json={"event_id": str(k), "value": float(told["action"] == "hat")})
    time.sleep(0.05)
    service.settle()
    page = web.get("/page/shop/event?id=59").text.partition("What the model says")[2]
    row = (
        r'"wide">(hat|shoe)</th><td data-label="As usual">([−0-9.]+)</td>.*?"text wide">(.*?)</td>'
        r'<td data-label="Predicted reward"><b>([−0-9.]+)<'
    )
    rows = re.findall(row, page)
    assert [name for name, *_ in rows] == ["hat", "shoe"]
    for _, start, parts, predicted in rows:
        numbers = [float(one.rpartition(" ")[2].replace("−", "-")) for one in parts.split(", ")]
        assert len(numbers) == 6
        assert "4 others " in parts
        total = float(start.replace("−", "-")) + sum(numbers)
        assert total == pytest.approx(float(predicted.replace("−", "-")), abs=0.005)
    both = [Added("hat", 0.5, 0.2, []), Added("shoe", -0.1, 0.2, [])]
    assert "from 0.000 to 1.000, and some of these predictions are not" in _outside(both, (0.0, 1.0), Units((0.0, 1.0)))
    assert _outside(both[:1], (0.0, 1.0), Units((0.0, 1.0))) == ""


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as one:
        yield one


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("pages")
    one = Service(Sqlite(folder / "journal", durability="process", serving=True))
    many = tuple(f"an action with a name of its own, {k}" for k in range(40))
    loops = {
        "none": Simulated(Settings()),
        "one": played(1, SHOP, ("hat",)),
        "hostile": played(60, SHOP, HOSTILE, HOSTILE),
        "long": played(60, SHOP, ("A" * 256, "B" * 256), ("C" * 256, "D" * 256)),
        "served": played(60, Settings(window=60.0, mode="Apprentice"), ("hat", "shoe")),
        "many": played(400, Settings(window=60.0, holdback=0.1, reward_range=(-1e6, 1e6)), many),
    }
    for name, made in loops.items():
        (folder / f"{name}.html").write_text(shown(one, made).text)
    one.set("shop", Settings(), Policy("LogisticTS", {"scale": 2.0}))
    (folder / "front.html").write_text(Web(one).get("/").text)
    yield folder
    one.close()


@pytest.mark.parametrize("width", [1200, 800, 400])
@pytest.mark.parametrize("name", ["none", "one", "hostile", "long", "served", "many", "front"])
def test_nothing_is_cut_and_nothing_is_said(name: str, width: int, browser: Browser, pages: Path) -> None:
    browser.open(pages / f"{name}.html", width)
    browser.ask("document.querySelectorAll('details').forEach(e => e.open = true)")
    fetched = [one for one in browser.requests if not one.startswith(("file:", "data:"))]
    assert browser.ask(FAULTS) + browser.messages + fetched == []


def test_dark_is_dark_and_can_be_read(browser: Browser, pages: Path) -> None:
    browser.open(pages / "many.html", 400)
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    light = browser.ask(colours)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = browser.ask(colours)
    browser.call("Emulation.setEmulatedMedia", features=[])
    assert light == ["rgb(255, 255, 255)", "rgb(27, 33, 41)"]
    assert dark == ["rgb(20, 24, 29)", "rgb(232, 235, 239)"]


@pytest.mark.soak
def test_the_demo_can_be_watched_and_ends(browser: Browser, tmp_path: Path) -> None:
    """Over HTTP, so that what the policy of the page forbids is forbidden: its own style is not."""
    with served(tmp_path, "--demo", "--durability", "process") as (web, process):
        for _ in range(200):
            if ">politics<" in (page := web.get("/page/demo").text):
                break
            time.sleep(0.1)
        assert "Last decisions" in page
        browser.messages.clear()
        browser.call("Page.navigate", url=str(web.base_url.join("/page/demo")))
        while browser.ask("document.readyState") != "complete" or browser.ask("location.protocol") != "http:":
            time.sleep(0.01)
        assert browser.ask("getComputedStyle(document.querySelector('.tile')).borderTopWidth") == "3px"
        assert browser.messages == []
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_users_stop_when_they_are_told(service: Service) -> None:
    with Demo(service, rate=1000.0) as demo:
        while service.loops[LOOP].watch.decisions < 20:
            time.sleep(0.01)
    assert not demo._thread.is_alive()
    service.settle()
    before = service.seen
    time.sleep(0.2)
    service.settle()
    assert service.seen - before <= 1  # a tick
