"""A loop's page without a port, and what is shown on it."""

import asyncio
from typing import Any

import httpx

from marginbandits.service.app import application
from marginbandits.service.core import Service
from marginbandits.service.records import Settings
from tests.service.simulated import Simulated


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
