"""The page of one decision: what it was worth, and why it was made."""

import re
import time
from collections.abc import Callable

import pytest

from marginbandits.learners.adding import Added
from marginbandits.service.core import Service
from marginbandits.service.page_event import _outside
from marginbandits.service.records import Settings
from marginbandits.service.wording import Units
from tests.service.made import Shop
from tests.service.paged import Web


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
