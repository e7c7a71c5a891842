"""The page as text: what is in it, and what could leave it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from web_records import HOSTILE, records, run

from engram.errors import BadSetting
from engram.reports.web.page import page


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside, self.open = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.open = tag in ("script", "style")
        if self.open:
            self.inside.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag):
        self.open = False

    def handle_data(self, data):
        if self.open:
            tag, attributes, before = self.inside[-1]
            self.inside[-1] = tag, attributes, before + data


@pytest.fixture(scope="module")
def text():
    return page(records(), {})


@pytest.fixture(scope="module")
def elements(text):
    return Elements(text)


def test_the_policy_names_the_style_and_the_script_that_are_there(elements):
    policy = next(a["content"] for _, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    for tag, attributes, data in elements.inside:
        digest = base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()
        assert (f"'sha256-{digest}'" in policy) == (attributes.get("type") != "application/json"), tag
    assert len(elements.inside) == 3


def test_nothing_in_it_leads_anywhere_else(elements):
    addresses = [a[name] for _, a in elements.found for name in ("src", "href", "action", "srcset") if a.get(name)]
    assert addresses
    assert [address for address in addresses if not address.startswith(("#", "data:"))] == []
    assert not any(name.startswith("on") or name == "style" for _, a in elements.found for name in a)
    assert "url(" not in next(data for tag, _, data in elements.inside if tag == "style")


def test_hostile_names_are_text(text, elements):
    assert "<img" not in text
    assert [tag for tag, _ in elements.found].count("script") == 2
    data = json.loads(next(d for _, a, d in elements.inside if a.get("type") == "application/json"))
    assert data["1"]["tasks"] == [1, 2, 3]


def test_names_are_unique_and_links_lead_to_them(elements):
    names = [a["id"] for _, a in elements.found if "id" in a]
    assert len(names) == len(set(names))
    assert {a["href"][1:] for _, a in elements.found if a.get("href", "").startswith("#")} <= set(names)


def test_figures_say_the_same_in_words(text):
    described = re.findall(r'<svg class="(?:chart|heat)".*?<desc>(.+?)</desc>', text, re.S)
    assert len(described) == 12
    assert any("ewc: average accuracy over the tasks seen 0.960 after task 1" in words for words in described)


def test_a_failed_run_is_shown_as_failed(text):
    assert "1 of 1 failed" in text
    assert "the loss became nan" in text


def test_the_same_runs_give_the_same_page(text):
    assert page(records(), {}) == text


def test_without_a_finished_run_there_is_no_page():
    with pytest.raises(BadSetting, match="no finished run to report"):
        page([run("ewc", 0, 0.1, 1, status="failed", error="x", rows=())], {})


def test_one_run_without_curves_references_or_classes_is_a_page():
    plain = run("ewc", 0, 0.1, 1000, joint=None)
    bare = [type(r)(r.single, r.multi, {}, {}, {}, r.cost, r.parameters_sha256) for r in plain.rows[:1]]
    text = page([run("ewc", 0, 0.1, 1000, joint=None, rows=tuple(bare))], {})
    assert "Learning curves" not in text
    assert "Accuracy by class" not in text
    assert "against intransigence" not in text
    assert "there are no intervals" in text


def test_writing_direction_cannot_be_turned():
    assert "\u202e" not in page([run("ewc\u202e", 0, 0.1, 1000)], {})
    assert HOSTILE not in page(records(), {})


def test_a_page_of_many_runs_is_small_enough_to_send():
    """48 runs of 24 tasks with 100 classes: at most 1.5 MB and 5 kB a run, and next to nothing for each more seed."""
    few, many = ([long_run(learner, seed) for learner in range(4) for seed in range(seeds)] for seeds in (2, 12))
    small, large = len(page(few, {})), len(page(many, {}))
    assert (large - small) / 40 < 5_000
    assert small < 1_500_000


def long_run(learner, seed):
    whole = run(f"learner {learner}", seed, 0.1, 1000)
    classes = {"single": {str(number): 0.123456 for number in range(100)}}
    lines = [tuple(0.87654 for _ in range(k + 1)) for k in range(24)]
    rows = [replace(whole.rows[0], single=line, multi=line, per_class=classes) for line in lines]
    return replace(whole, rows=tuple(rows), joint=(0.9,) * 24)
