"""One browser for all tests of pages, and one page that they look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from driven_browser import DrivenBrowser, installed
from web_records import FORMULA, HOSTILE, records

from engram.reports.web.page import page


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engram.reports.web.classes.class_names", lambda spec: (HOSTILE, FORMULA, "plain"))
        place.write_text(page(records(), {}), encoding="utf-8")
    return place


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenBrowser]:
    found = installed()
    if found is None:
        pytest.skip(
            "there is no chromium with its chromedriver here; on Debian: apt-get install chromium chromium-driver"
        )
    browser = DrivenBrowser(*found, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(started: DrivenBrowser, page_file: Path) -> DrivenBrowser:
    """The browser with a freshly loaded page."""
    started.open(page_file)
    return started
