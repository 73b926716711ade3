"""The page as people meet it: in a browser, at every width, and while a demo runs."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from marginbandits.service.core import Service
from marginbandits.service.demo import LOOP, Demo
from marginbandits.service.records import Policy, Settings
from marginbandits.service.sqlite import Sqlite
from tests.browser import FAULTS, Browser
from tests.service.paged import SHOP, Web, played, shown
from tests.service.running import served
from tests.service.simulated import Simulated

HOSTILE = ("<script>alert(1)</script>", "\"onload='x' &amp; </td>", "A" * 256, "\u202ebackwards", "π é 漢字")


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
