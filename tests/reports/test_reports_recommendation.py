import io

import pytest
from rich.console import Console

from engram.advising import Advice, Budget
from engram.advising.candidates import NOTHING, Tryout
from engram.advising.trials import Trial
from engram.advising.verdict import Evidence
from engram.reports.recommendation import as_records, command, print_advice


def advised(*scores):
    """Two tryouts and a floor, each with one score for every seed."""
    tried = (
        Tryout("slda features=500", {"learner": "slda", "features": 500}),
        Tryout("ridge", {"learner": "ridge"}),
        NOTHING,
    )
    evidence = [
        Evidence(one, tuple(Trial(k, ((s,), (s, s)), ((s,), (s, s)), (9, 9), (1, 1), 1e-3) for k, s in enumerate(own)))
        for one, own in zip(tried, scores, strict=True)
    ]
    return Advice(tuple(evidence), ("week 1.csv", "week2.csv"), Budget())


FOUND = advised((0.9, 0.91, 0.92), (0.8, 0.81, 0.83), (0.1, 0.12, 0.1))


@pytest.mark.parametrize("width", [60, 100])
def test_no_word_is_broken_however_narrow_the_screen(width):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_advice(console, FOUND)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert {"recommended", "floor", "finetune"} <= set(text.replace(",", " ").split())


def test_the_command_makes_what_is_recommended_out_of_the_sessions():
    assert command(FOUND, ["--label", "y"]) == (
        "engram learn model.engram 'week 1.csv' week2.csv --label y --learner slda --set features=500"
    )


def test_records_have_the_accuracies_that_judge():
    records, labels = as_records(FOUND)
    assert [labels[record.key] for record in records[::3]] == ["slda features=500", "ridge", "finetune"]
    assert records[1].accuracy == [[0.91], [0.91, 0.91]]
