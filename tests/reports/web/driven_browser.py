"""A real browser without a window, driven by the words of the WebDriver protocol over plain HTTP."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how the protocol names an element
KEYS = {"Tab": "\ue004", "Escape": "\ue00c", "End": "\ue010", "Home": "\ue011", "Right": "\ue014", "Space": " "}
ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-quic", "--window-size=1200,900",
]  # fmt: skip
STRAIGHT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever the environment says


def installed() -> tuple[str, str] | None:
    """The browser and its driver; None where one of them is missing."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class DrivenBrowser:
    def __init__(self, browser: str, driver: str, folder: Path):
        self._process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
        self._address = f"http://127.0.0.1:{self._port()}"
        options = {"binary": browser, "args": [*ARGUMENTS, f"--user-data-dir={folder}"]}
        logs = {"browser": "ALL", "performance": "ALL"}
        asked = {"goog:chromeOptions": options, "goog:loggingPrefs": logs}
        try:
            session = self._post("/session", {"capabilities": {"alwaysMatch": asked}})
        except BaseException:
            self._end()
            raise
        self._address += f"/session/{session['sessionId']}"

    def _port(self) -> str:
        for line in self._process.stdout or ():
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                return found[1]
        raise RuntimeError("the driver of the browser did not start")

    def _post(self, path: str, body: Any) -> Any:
        return self._ask(urllib.request.Request(self._address + path, json.dumps(body).encode(), method="POST"))

    def _ask(self, request: urllib.request.Request) -> Any:
        with STRAIGHT.open(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, path: Path) -> None:
        """Show a file, and forget what was logged before."""
        self.console()
        self.requests()
        self._post("/url", {"url": path.as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script in the page returns."""
        return self._post("/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector: str) -> None:
        found = self._post("/element", {"using": "css selector", "value": selector})
        self._post(f"/element/{found[ELEMENT]}/click", {})

    def press(self, *keys: str) -> None:
        """Keys on whatever has the focus."""
        moves = [{"type": kind, "value": KEYS[key]} for key in keys for kind in ("keyDown", "keyUp")]
        self._post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": moves}]})

    def point_at(self, x: float, y: float) -> None:
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y), "origin": "viewport"}
        self._post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [move]}]})

    def command(self, name: str, **parameters: Any) -> Any:
        """What the protocol has no word for: a command of the browser's own tools."""
        return self._post("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def console(self) -> list[str]:
        return [entry["message"] for entry in self._post("/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last look, but for those of the browser's own pages."""
        events = [json.loads(e["message"])["message"] for e in self._post("/se/log", {"type": "performance"})]
        asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [address for address in asked if not address.startswith("chrome:")]

    def close(self) -> None:
        try:
            self._ask(urllib.request.Request(self._address, method="DELETE"))
        finally:
            self._end()

    def _end(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=30)
