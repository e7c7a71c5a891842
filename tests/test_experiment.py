"""Experiment files: the same study there and back, the digest, and mistakes."""

from __future__ import annotations

import hashlib

import pytest

from engram.errors import EngramError
from engram.experiment import WrittenStudy, is_writable, read, text_of
from engram.streams import stream
from engram.study import Study

WHOLE = """
# what others may want to know
streams = ["split-digits", "permuted-digits"]
learners = ["ewc", "si", "ewc++"]
seeds = "1-3"
by = "forgetting_rwalk"
floors = true
protocol = "sequential"     # which is the default
head = "single"
network = "mlp"
tasks = 3
stream_seed = 7
curve = [0, 1, 5]
references = true
offline = "no"
evaluate = "every 2"
device = "cpu"

[settings]
epochs = 2
widths = "16-16"
normalised = true

[settings.ewc]
strength = [10, 1e2]
rate = 0.5

[settings."ewc++"]
strength = "7"
"""


@pytest.fixture
def written(tmp_path):
    def written(text):
        path = tmp_path / "x.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def keys(study):
    return [(row.label, row.floor, [run.key for run in row.runs]) for row in study.rows]


def test_everything_that_can_be_asked_for_is_read(written):
    study = read(written(WHOLE)).study
    assert (study.by, study.floors, list(study.seeds)) == ("forgetting_rwalk", True, [1, 2, 3])
    assert study.own == {"ewc": {"strength": [10, 100.0], "rate": 0.5}, "ewc++": {"strength": "7"}}
    first = study.rows[0]
    assert first.label == "ewc strength=10"
    run = first.runs[0]
    assert (run.seed, len(run.stream), run.stream.spec["seed"], run.curve, run.evaluate) == (
        1,
        3,
        7,
        (0, 1, 5),
        "every 2",
    )
    assert run.grid[0]["rate"] == 0.5


def test_what_is_written_asks_for_the_same_runs(written):
    first = read(written(WHOLE))
    again = read(written(text_of(first.study)))
    assert keys(again.study) == keys(first.study)
    assert text_of(again.study) == text_of(first.study) == again.text


def test_the_digest_is_that_of_the_file_as_it_is_written_and_layout_does_not_count(written):
    plain = read(written(text_of(read(written(WHOLE)).study)))
    assert plain.digest == hashlib.sha256(plain.text.encode()).hexdigest()
    assert read(written(WHOLE)).digest == plain.digest
    assert (
        read(written(WHOLE.replace("1e2", "100").replace('"7"', "7.0").replace('"1-3"', "[1, 2, 3]"))).digest
        == plain.digest
    )
    assert read(written(WHOLE.replace("tasks = 3", "tasks = 4"))).digest != plain.digest


def test_the_shortest_file(written):
    study = read(written('streams = "split-digits"\nlearners = "ridge"')).study
    assert (study.streams, study.learners, list(study.seeds)) == (["split-digits"], ["ridge"], [0])
    assert text_of(study) == 'streams = ["split-digits"]\nlearners = ["ridge"]\nseeds = [0]\n'


def test_objects_of_a_program_cannot_be_written():
    study = Study([stream("split-digits")], ["ridge"])
    assert not is_writable(study)
    with pytest.raises(
        EngramError, match="the stream Stream is an object of a running program, which no file can have"
    ):
        text_of(study)
    assert is_writable(Study(["split-digits"], ["ridge"]))


def test_it_is_kept_with_the_keys_of_its_runs(store):
    experiment = WrittenStudy.of(Study(["split-digits"], ["ridge", "slda"], seeds=[0, 1]), "the text of a file")
    experiment.keep(store)
    experiment.keep(store)  # once, however often it is asked for
    (kept,) = store.experiments()
    assert (kept["key"], kept["text"], kept["by"]) == (experiment.digest, "the text of a file", "average_accuracy")
    assert [(row["label"], row["floor"], row["runs"]) for row in kept["rows"]] == keys(experiment.study)
    assert store.experiments(experiment.digest[:8]) == [kept]
    assert store.experiments("nothing") == []


BEGIN = 'streams = ["split-digits"]\nlearners = ["ewc", "si"]\n'


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", 'streams names none; write streams = ["…"]'),
        ('streams = ["split-digits"]', 'learners names none; write learners = ["…"]'),
        ('streams = []\nlearners = ["ewc"]', "streams names none"),
        ('learner = "ewc"', "there is no key of an experiment called 'learner'; did you mean 'learners'?"),
        ('streams = ["split-digits"]\nlearners = ["ewcc"]', "there is no learner 'ewcc'; did you mean 'ewc'?"),
        ('streams = ["split-digits"]\nlearners = ["ewc", "ewc"]', "the learner 'ewc' is named twice"),
        ('streams = 3\nlearners = ["ewc"]', "streams = 3 is not a list of names; write streams = "),
        ('streams = ["a", 1]\nlearners = ["ewc"]', "streams = ['a', 1] is not a list of names"),
        (BEGIN + "epochs = 5", "epochs is a setting and no key of an experiment; write it under [settings]"),
        (BEGIN + "widths = 5", "widths is a setting and no key of an experiment; write it under [settings]"),
        (BEGIN + "seeds = 5", "seeds = 5 is not text as '0-4' or a list of whole numbers; write seeds = \"0-4\""),
        (BEGIN + 'seeds = "0-x"', "seeds = '0-x' is not a list of whole numbers"),
        (BEGIN + "seeds = [0, 0]", "has the seed 0 twice"),
        (BEGIN + "seeds = []", "is not a list of whole numbers"),
        (BEGIN + "seeds = [true]", "is not text as '0-4' or a list of whole numbers"),
        (BEGIN + "tasks = true", "tasks = True is not a whole number; write tasks = 5"),
        (BEGIN + "tasks = 1979-05-27", "tasks = datetime.date(1979, 5, 27) is not a whole number"),
        (BEGIN + 'floors = "yes"', "floors = 'yes' is not true or false; write floors = true"),
        (BEGIN + "head = 3", "head = 3 is not text"),
        (BEGIN + "curve = 3", "curve = 3 is not a list of whole numbers; write curve = [0, 1, 2]"),
        (BEGIN + "settings = 3", "settings = 3 is not a table of settings; write [settings] and a line for each"),
        (BEGIN + 'by = "acuracy"', "there is no metric 'acuracy'; did you mean"),
        (BEGIN + 'protocol = "task_level"', "there is no protocol 'task_level'; did you mean 'task-level'?"),
        (BEGIN + "[settings]\nrat = 1", "called 'rat'; did you mean 'rate'?"),
        (BEGIN + "[settings]\nrate = 'x'", "rate='x' is not a number"),
        (BEGIN + "[settings]\nrate = nan", "rate=nan is not a number"),
        (BEGIN + "[settings.sii]\nrate = 1", "there is no learner in this comparison called 'sii'; did you mean 'si'?"),
        (BEGIN + "[settings.ewc]\nstrength = {a = 1}", "strength={'a': 1} is not a number"),
        (BEGIN + "[settings.ewc]\nstrength = -1", "strength=-1.0 is out of range"),
        (BEGIN + "[settings.ewc]\nrate = 1\nrate = 2", "is not an experiment file"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence_with_the_file_and_the_key(written, text, sentence):
    path = written(text)
    with pytest.raises(EngramError) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert sentence in said
    assert "\n" not in said
