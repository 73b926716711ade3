"""What a hostile request, disk or clock must not do."""

from collections.abc import Callable

import pytest

from marginbandits.service.journal import DECISION, REWARD, Draft
from marginbandits.service.records import Settings
from marginbandits.service.requests import Ask
from tests.service.made import Shop, web

Opened = Callable[..., Shop]


def test_what_could_not_be_read_again_is_refused_whoever_asks(opened: Opened) -> None:
    shop = opened(Settings(window=5))
    with pytest.raises(ValueError, match="actions"):
        shop.run(shop.service.decide("shop", Ask(actions=["a\0"])))
    rank = {"actions": [{"id": "a\0", "features": [{"p": 1}]}]}
    shop.service.set("default", {"reward_range": (-1, 1)})
    before = shop.service.journal.last()
    assert web(shop).post("/personalizer/v1.0/rank", json=rank).status_code == 400
    assert shop.service.journal.last() == before


@pytest.mark.parametrize("kind", [DECISION, REWARD])
def test_an_event_that_cannot_be_read_stops_nobody(kind: str, opened: Opened) -> None:
    shop = opened(Settings(window=5))
    answer = shop.decide()
    event = answer.event_id if kind == REWARD else "odd"
    shop.service.writer.put(Draft("shop", kind, event, b'{"unit":"me"}')).result()
    shop.decide()
    shop.pass_by(10.0)
    assert shop.service.failure is None
    assert (shop.loop.joiner.counts["unreadable"], shop.loop.model.learnt) == (1, 2)
    if kind == DECISION:
        assert shop.service.erase("shop", "me").events == 1
