"""Chromium without a window, told what to do by the DevTools protocol over two pipes."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
_ABOVE_PIPES = 10
_PHONE = 600  # pixels; narrower windows are those of phones
_LAUNCHER = (
    "import os, sys; [os.dup2(int(sys.argv[n + 1]), n + 3) for n in range(2)]; os.execv(sys.argv[3], sys.argv[3:])"
)
"""Starts Chromium with the two pipes as its files 3 and 4, where it expects them."""
KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
    "End": (35, ""),
}
"""The codes and the texts of keys."""


class BrowserError(Exception):
    """Chromium does not do what it was told; the message says what."""


class Browser:
    """A page of Chromium; *folder* is a new folder for what it keeps."""

    def __init__(self, program: str, folder: Path) -> None:
        read_commands, write_commands = os.pipe()
        read_answers, write_answers = os.pipe()
        ends = [fcntl.fcntl(one, fcntl.F_DUPFD, _ABOVE_PIPES) for one in (read_commands, write_answers)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCHER, *map(str, ends), program, *_FLAGS, f"--user-data-dir={folder}"],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for one in (read_commands, write_answers, *ends):
            os.close(one)
        self._commands = os.fdopen(write_commands, "wb", 0)
        self._answers = os.fdopen(read_answers, "rb", 0)
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._commands.close()
        self._process.terminate()
        self._process.wait(10)
        self._answers.close()

    def open(self, page: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a file, and wait until its script has drawn everything."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < _PHONE
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self._call("Page.navigate", url=page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._receive()
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, expression: str) -> Any:
        """The value of an expression of JavaScript; of a promise what it gives."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            code, text = KEYS[key]
            more = {"text": text} if text else {}
            self._call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **more)
            self._call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def click(self, x: float, y: float) -> None:
        """Click at a place of the window."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = "none" if kind == "mouseMoved" else "left"
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Save the picture of the window, or of the whole page, as PNG."""
        answer = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def errors(self) -> list[str]:
        """What went wrong in the page since it was opened: exceptions, and what the browser has logged."""
        found = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(event["params"]["exceptionDetails"])[:500])
            elif event["method"] == "Log.entryAdded":
                found.append(str(event["params"]["entry"]["text"]))
            elif event["method"] == "Page.javascriptDialogOpening":
                found.append(f"a dialog: {event['params']['message']}")
        return found

    def requests(self) -> list[str]:
        """The URLs that the page has asked for since it was opened."""
        sent = (event for event in self.events if event["method"] == "Network.requestWillBeSent")
        return [str(event["params"]["request"]["url"]) for event in sent]

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        session = {} if self._session is None else {"sessionId": self._session}
        message = {"id": self._number, "method": method, "params": parameters, **session}
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        """The next message; events are kept."""
        while b"\0" not in self._rest:
            more = self._answers.read(1 << 20)
            if not more:
                raise BrowserError("Chromium has ended")
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message
