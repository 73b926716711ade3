"""A browser that tests look with: Chromium, spoken to through a pipe, so that nothing needs to be installed beside it.

    python -m tests.browser demo/report.html docs/images/report.png 832

takes the picture that the README shows: the uppermost 832 pixels of the report of `make demo`.
"""

import base64
import functools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["FAULTS", "Browser", "chromium"]

NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

# Chromium reads commands from descriptor 3 and answers on 4; `sys.argv` is our two ends of the pipes and its command.
START = """
import os, sys
for end, between in zip(sys.argv[1:3], (50, 51)):
    os.dup2(int(end), between)
for between, theirs in ((50, 3), (51, 4)):
    os.dup2(between, theirs)
os.execv(sys.argv[3], sys.argv[3:])
"""

PATIENCE = 60

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--hide-scrollbars", "--remote-debugging-pipe", "about:blank"),
)

FAULTS = """(() => {
  const found = [], root = document.documentElement, near = 0.6;
  const name = e => `${e.tagName.toLowerCase()}.${e.getAttribute("class") || ""} ${(e.textContent || "").slice(0, 40)}`;
  const box = e => e.getBoundingClientRect();
  if (root.scrollWidth > root.clientWidth) found.push(`page: ${root.scrollWidth} px in ${root.clientWidth}`);
  for (const e of document.querySelectorAll("body *")) {
    if (e.ownerSVGElement || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    if (e.matches(".scroll")) {
      if (style.overflowX !== "visible" && e.scrollWidth > e.clientWidth) {
        if (innerWidth >= 1200) found.push("needs scrolling: " + e.getAttribute("aria-label"));
        e.scrollLeft = 1e6;
        const moves = row => Math.abs(box(row.firstElementChild).left - box(e).left) > 2;
        for (const row of e.querySelectorAll("tr")) if (moves(row)) found.push("first column moves: " + name(row));
        e.scrollLeft = 0;
      }
    } else if (style.display !== "inline" && e.tagName !== "svg" && e.scrollWidth > e.clientWidth + 1)
      found.push(`cut: ${name(e)}: ${e.scrollWidth} px in ${e.clientWidth}`);
    if (!e.closest(".scroll") && box(e).right > innerWidth + near) found.push("beyond the screen: " + name(e));
    if (e.childElementCount === 0 && e.textContent.trim() && parseFloat(style.fontSize) < 11)
      found.push(`small: ${name(e)}: ${style.fontSize}`);
  }
  for (const svg of document.querySelectorAll("svg")) {
    if (svg.ownerSVGElement || !svg.getClientRects().length) continue;
    const frame = box(svg), words = [...svg.querySelectorAll("text")].map(e => [e, box(e)]);
    for (const [e, at] of words) {
      const beside = at.left < frame.left - near || at.right > frame.right + near;
      const above = at.top < frame.top - 2 || at.bottom > frame.bottom + 2;
      if (beside || above) found.push("outside its picture: " + name(e));
      const size = parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a;
      if (size < 10) found.push(`small: ${name(e)}: ${size} px`);
    }
    words.forEach(([e, a], i) => words.slice(0, i).forEach(([f, b]) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 4) found.push(`on top of each other: ${name(e)} and ${name(f)}`);
    }));
  }
  return found;
})()"""
"""What is wrong with the page, in words: wider than the screen, cut, too small to read, one word on another."""


@functools.cache
def chromium() -> str:
    """Where it is."""
    found = [where for name in NAMES if (where := shutil.which(name))]
    assert found, "no Chromium or Chrome on this machine: `make browser` installs one, or put one on the PATH"
    return found[0]


class Browser:
    """One page at a time, at an exact width; `messages` is whatever the console said, `requests` what was fetched."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs, self._write = os.pipe()
        self._read, answers = os.pipe()
        command = [chromium(), f"--user-data-dir={self._profile.name}", *OPTIONS]
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(theirs), str(answers), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs, answers),
        )
        os.close(theirs)
        os.close(answers)
        self._buffer, self._count, self._session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait(30)
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def call(self, method: str, **parameters: object) -> Any:
        """One command of the DevTools protocol, and its answer."""
        self._count += 1
        order = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            order["sessionId"] = self._session
        os.write(self._write, json.dumps(order).encode() + b"\0")
        while (answer := self._message()).get("id") != self._count:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, page: Path, width: int, *, height: int = 900, media: str = "screen") -> None:
        """Load a page in a window of this width, or on paper (media "print"), and wait until all of it is there."""
        self.messages.clear()
        self.requests.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media)
        self.call("Page.navigate", url=page.resolve().as_uri())
        while self.ask("document.readyState") != "complete":
            time.sleep(0.01)
        assert self.ask("innerWidth") == width

    def ask(self, script: str) -> Any:
        """The value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, file: Path, height: int | None = None) -> None:
        """The page from its top as a PNG, whole unless a height is given."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        data = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        file.write_bytes(base64.b64decode(data))

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            assert select.select([self._read], [], [], PATIENCE)[0], f"{chromium()} said nothing for {PATIENCE} s"
            more = os.read(self._read, 1 << 20)
            assert more, f"{chromium()} ended with status {self._process.wait()}"
            self._buffer += more
        one, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(one)
        if message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.messages.append(json.dumps(message["params"]))
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message


if __name__ == "__main__":
    with Browser() as browser:
        browser.open(Path(sys.argv[1]), 1200)
        browser.picture(Path(sys.argv[2]), int(sys.argv[3]))
