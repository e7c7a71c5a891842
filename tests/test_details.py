"""One thing in full: everything that is listed explains itself, and its example can be typed."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from engram.catalogue import LISTS
from engram.cli.options import pairs
from engram.details import detail
from engram.errors import DataUnavailable, UnknownName
from engram.learners import LEARNERS, learners
from engram.parts.gradient import GradientLearner
from engram.request import Request
from engram.settings import setting

NAMES = {what: [row["name"] for row in rows()] for what, rows in LISTS.items()}


@pytest.mark.parametrize("name", learners())
def test_every_learner_has_a_line_three_sentences_a_paper_and_what_it_keeps(name):
    about = detail("learners", name)
    assert len(about["line"]) <= 48
    assert len(about["keeps"].split()) in range(1, 6)
    assert re.fullmatch(r".+: .+, (.+ )?(19|20)\d\d", about["paper"])
    sentences = re.findall(r"[^.]+[.:](?:\s|$)", " ".join(about["about"][0].split()) + " ")
    assert 3 <= len(sentences) <= 6
    assert len(about["about"][0]) > 150


@pytest.mark.parametrize("what", LISTS)
def test_everything_can_be_shown_in_full(what):
    for name in NAMES[what]:
        about = detail(what, name)
        assert about["example"].startswith(("engram run ", "engram paper "))
        assert name in about["example"] or what == "metrics"
        json.dumps(about, allow_nan=False)


@pytest.mark.parametrize("what, name", [(w, n) for w in ("learners", "streams", "protocols") for n in NAMES[w]])
def test_examples_ask_for_something_that_there_is(what, name):
    words = shlex.split(detail(what, name)["example"])
    given = [(words[place], words[place + 1]) for place in range(3, len(words), 2)]
    options = {option[2:]: value for option, value in given if option != "--set"}
    settings = pairs([value for option, value in given if option == "--set"])
    try:
        assert Request(words[2], options.pop("learner"), settings=settings, **options).runs([0])
    except DataUnavailable:
        assert name.startswith("ctrl-")


def test_a_learner_of_ones_own_explains_itself_by_its_class():
    class Sluggish(GradientLearner):
        """Fine-tuning with small steps (me 2026): slow.

        It takes small steps. They are small. That is all.
        """

        name = "sluggish"
        norm = setting(0.5, "largest step", above=0)

    LEARNERS.name_of(Sluggish)
    about = detail("learners", "sluggish")
    assert (about["line"], about["about"]) == (
        "Fine-tuning with small steps", ["It takes small steps. They are small. That is all."]
    )  # fmt: skip
    assert next(iter(about["settings"])) == "norm"
    assert about["example"].endswith("--set norm=0.5")


def test_an_unknown_name_is_refused():
    with pytest.raises(UnknownName, match="there is no protocol 'task'; did you mean 'task-level'?"):
        detail("protocols", "task")
