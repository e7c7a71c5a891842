"""The documentation: its code runs, its pictures are drawn, its site is built without a warning and asks nobody."""

from __future__ import annotations

import doctest
import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from engram.metrics import METRICS

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if ">>>" in path.read_text(encoding="utf-8"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_on_a_page_runs(page, tmp_path, monkeypatch):
    if page.stem == "results":
        pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8", verbose=False)
    assert (failed, tried > 1) == (0, True)


def test_there_are_pages_with_code_for_everything_that_can_be_added():
    assert {"method", "network", "stream", "dataset"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_run_without_any_dataset(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENGRAM_DATA", str(tmp_path))
    runpy.run_path(str(example), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) > 3
    assert len(example.read_text().splitlines()) < 60


def test_there_are_three_examples():
    assert len(EXAMPLES) == 3


def test_every_metric_is_explained_and_every_picture_is_drawn(tmp_path):
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert [name for name in METRICS if f"**`{name}`**" not in text] == []
    shown = set(re.findall(r"\(pictures/(\w+\.svg)\)", text))
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures.py"))["draw"](tmp_path)
    assert {path.name for path in drawn} == shown == {path.name for path in (ROOT / "docs" / "pictures").glob("*.svg")}


@pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="mkdocs-material is not installed")
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 15
    fetched = re.compile(
        r"<(?:script|img|iframe)[^>]*\ssrc=\"?(?:https?:)?//|<link[^>]*rel=\"?(?:stylesheet|preconnect)[^>]*//"
    )
    assert [page.name for page in pages if fetched.search(page.read_text(encoding="utf-8"))] == []
    assert fetched.search('<link rel="stylesheet" href="https://fonts.example/x.css">')
