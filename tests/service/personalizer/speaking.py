"""A service with one loop and a key for it, and requests in each of Personalizer's dialects."""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from marginbandits.service.join import Closed, Joiner
from marginbandits.service.keys import Keys
from marginbandits.service.loop import read
from marginbandits.service.sqlite import Sqlite
from tests.service.running import served

__all__ = ["BASES", "V1_0", "V1_1", "V2022", "Shop", "actions", "shop"]

V1_0, V1_1, V2022 = "/personalizer/v1.0", "/personalizer/v1.1-preview.3", "/personalizer"
BASES = (V1_0, "/personalizer/v1.1-preview.1", "/personalizer/v1.1-preview.2", V1_1, V2022)


def actions(*ids: str | int) -> list[dict[str, Any]]:
    """Actions with a feature each."""
    return [{"id": one, "features": [{"place": place}]} for place, one in enumerate(ids)]


class Shop:
    """The loop `shop` of a running service."""

    def __init__(self, folder: Path, client: httpx.Client, key: str) -> None:
        self.folder, self.client, self.key = folder, client, key
        self.url = str(client.base_url).rstrip("/")

    def ask(self, base: str, method: str, path: str, json: Any = None, **more: Any) -> httpx.Response:
        """Whatever is answered."""
        query = "?api-version=2022-09-01-preview" if base == V2022 else ""
        more["headers"] = {"Ocp-Apim-Subscription-Key": self.key, **more.get("headers", {})}
        if more.get("params") is not None:
            query, more["params"] = "", {**dict([query[1:].split("=")] if query else []), **more["params"]}
        return self.client.request(method, f"{base}/{path}{query}", json=json, **more)

    def rank(self, base: str = V1_0, **asked: Any) -> Any:
        """What is answered to a rank that is accepted."""
        answer = self.ask(base, "POST", "rank", {"actions": actions("hat", "shoe", "bag")} | asked)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def reward(self, event: str, value: float) -> None:
        """Tell what an event was worth; its id may be anything."""
        assert self.ask(V1_0, "POST", f"events/{event}/reward", {"value": value}).status_code == 204

    def raw(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """A path as it is, which clients would put right."""
        connection = http.client.HTTPConnection(self.client.base_url.host, self.client.base_url.port or 80)
        connection.request(method, path, json.dumps(body), {"Ocp-Apim-Subscription-Key": self.key})
        answer = connection.getresponse()
        read = answer.read()
        connection.close()
        return answer.status, json.loads(read) if read else None

    def state(self) -> Any:
        """As the service itself tells it."""
        return self.client.get("/loops/shop", headers={"Authorization": f"Bearer {self.key}"}).json()

    def set(self, **settings: Any) -> None:
        """By the service's own interface; the reward's range is Personalizer's."""
        wanted = {"new": True, "settings": {"reward_range": [-1, 1], "exploration": 0.2, **settings}}
        put = self.client.put("/loops/shop", json=wanted, headers={"Authorization": f"Bearer {self.key}"})
        put.raise_for_status()
        self.until(lambda: all(self.state()["settings"][name] == value for name, value in settings.items()))

    def closed(self) -> dict[str, Closed]:
        """Every event as it will be when its window is over, if nothing more comes."""
        journal, joiner = Sqlite(self.folder, serving=False), Joiner("shop")
        done = [one for entry in read(journal) for one in joiner.observe(entry)] + joiner.advance(2**62)
        journal.close()
        return {one.id: one for one in done}

    def until(self, true: Any) -> None:
        """Wait for something that comes."""
        for _ in range(400):
            if true():
                return
            time.sleep(0.05)
        raise AssertionError("it did not come")


@contextmanager
def shop(folder: Path) -> Iterator[Shop]:
    """A service of its own."""
    journal = Sqlite(folder)
    key = Keys(journal).make("shop", ["decide", "reward", "read", "admin"], new=True)
    journal.close()
    with served(folder) as (client, _):
        one = Shop(folder, client, key)
        one.rank()  # the loop is there from its first use on
        yield one
