"""A real browser, driven through a pipe: what a page logs, loads and does when somebody clicks."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update"),
)
PATIENCE = 60.0  # seconds for an answer; it comes at once, but the machine may be busy


def executable() -> str | None:
    """The browser of this machine, if it has one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One tab. `events` are what the page told since it was opened."""

    def __init__(self, asked: int, answered: int):
        self.asked, self.answered = asked, answered
        self.buffer, self.ids = b"", itertools.count(1)
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> Any:
        """One command of the DevTools protocol, and its answer."""
        id = next(self.ids)
        message = {"id": id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.asked, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == id:
                assert "error" not in told, f"{method}: {told['error']}"
                return told["result"]
            self.events.append(told)

    def open(self, page: Path | str) -> None:
        """Load a file or an address, until the page says that it is there."""
        self.events.clear()
        self.ask("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def click(self, element: str) -> None:
        """With the mouse, in the middle of what an expression gives."""
        self.run(f"{element}.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}})")
        box = self.run(f"{element}.getBoundingClientRect().toJSON()")
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def press_enter(self) -> None:
        """On whatever has the focus."""
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text="\r", **enter)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **enter)

    def width(self, pixels: int) -> None:
        """Of the window."""
        self.ask("Emulation.setDeviceMetricsOverride", width=pixels, height=900, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path: Path) -> None:
        """The whole page as a PNG file."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def complaints(self) -> list[dict[str, Any]]:
        """Errors and whatever was written to the console."""
        self.run("0")  # so that all that was told before has come
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [event for event in self.events if event["method"] in kinds]

    def loaded(self) -> set[str]:
        """The kinds of addresses that the page asked for."""
        requests = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return {request["request"]["url"].partition(":")[0] for request in requests}

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answered], [], [], PATIENCE)
            read = os.read(self.answered, 1 << 20) if ready else b""
            assert read, "the browser does not answer"
            self.buffer += read
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Started with a profile of its own in a folder, and ended with the block."""
    program = executable()
    assert program, f"none of {', '.join(NAMES)} is installed"
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    looked_for = f'exec "$@" 3<&{their_in} 4>&{their_out}'  # the browser reads from 3 and writes to 4
    arguments = [program, *FLAGS, f"--user-data-dir={folder}", "--remote-debugging-pipe"]
    process = subprocess.Popen(
        ["bash", "-c", looked_for, "bash", *arguments], pass_fds=(their_in, their_out), stderr=subprocess.DEVNULL
    )
    os.close(their_in)
    os.close(their_out)
    try:
        tab = Browser(our_out, our_in)
        yield tab
        tab.session = None
        tab.ask("Browser.close")
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(our_out)
        os.close(our_in)
