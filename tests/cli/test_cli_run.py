from __future__ import annotations

import numpy as np
import pytest

import engram as library
from engram.learners import learner_settings


def sha(said):
    assert said.code == 0, said.err
    return [run["parameters_sha256"] for run in said.json["runs"]]


def test_json_is_one_object_with_everything_that_scripts_rely_on(train):
    said = train("split-digits", "finetune", "--seeds", "0,1", "--json")
    assert (said.code, said.err) == (0, "")
    assert said.out.count("\n") == 1
    found = said.json
    expected = {"stream", "learner", "settings", "protocol", "head", "seeds", "runs", "metrics"}
    assert expected <= found.keys()
    assert (found["learner"], found["protocol"], found["head"]) == ("finetune", "sequential", "single")
    assert found["seeds"] == [run["seed"] for run in found["runs"]] == [0, 1]
    for run in found["runs"]:
        assert run["status"] == "done"
        assert [len(row) for row in run["accuracy"]] == [1, 2, 3, 4, 5]
        assert run["bytes"]["total"] == sum(size for name, size in run["bytes"].items() if name != "total")
        assert run["flops"] > 0
        assert run["seconds"] > 0
        assert len(run["parameters_sha256"]) == 64
    final = [sum(run["accuracy"][-1]) / 5 for run in found["runs"]]
    spread = {"mean": np.mean(final), "std": np.std(final, ddof=1), "n": 2}
    assert found["metrics"]["average_accuracy"] == pytest.approx(spread)


def test_precision_is_a_setting_of_convolutional_networks(engram, train):
    network = ("--network", "resnet18-reduced", "--set", "width=2")
    asked = ("run", "split-digits", "--learner", "finetune", "--tasks", "1", "--jobs", "1", "--json", *network)
    plain, half, again = (engram(*asked, *more) for more in ((), ("--precision", "bf16"), ("--set", "precision=bf16")))
    assert sha(half) == sha(again) != sha(plain)
    assert half.json["settings"]["precision"] == "bf16"
    refused = train("split-digits", "finetune", "--precision", "bf16")
    assert refused.code == 2
    assert "precision" in refused.err


def test_a_single_run_has_no_deviation_and_json_stays_strict(train):
    found = train("split-digits", "finetune", "--json").json
    assert found["metrics"]["average_accuracy"]["std"] is None
    assert found["metrics"]["average_accuracy"]["n"] == 1


def test_the_same_command_gives_the_same_bits_in_another_store(train):
    first, second = (train("split-digits", "si", "--json", "--store", store) for store in ("a", "b"))
    assert sha(first) == sha(second)
    assert first.json["runs"][0]["key"] == second.json["runs"][0]["key"]
    assert first.json["runs"][0]["accuracy"] == second.json["runs"][0]["accuracy"]


def test_seeds_differ(train):
    said = train("permuted-digits", "finetune", "--tasks", "2", "--seeds", "0,1,2", "--json")
    assert len(set(sha(said))) == 3


def test_seeds_may_be_a_range(train):
    found = train("split-digits", "finetune", "--tasks", "2", "--seeds", "0-2,5", "--json").json
    assert found["seeds"] == [0, 1, 2, 5]
    assert found["metrics"]["average_accuracy"]["n"] == 4


def test_a_value_that_is_not_given_is_the_learners_own_default_on_every_road(train):
    said = train("split-digits", "gem", "--tasks", "2", "--json").json
    record = library.run("split-digits", "gem", tasks=2, widths="12")
    assert record.settings["rate"] == said["settings"]["rate"] == learner_settings("gem")["rate"].default
    assert record.parameters_sha256 == said["runs"][0]["parameters_sha256"]


@pytest.mark.parametrize("learner", ["ewc", "online-ewc", "si"])
def test_strength_zero_is_finetune(train, learner):
    plain = sha(train("split-digits", "finetune", "--tasks", "2", "--json"))
    assert sha(train("split-digits", learner, "--tasks", "2", "--set", "strength=0", "--json")) == plain
    assert sha(train("split-digits", learner, "--tasks", "2", "--set", "strength=1e5", "--json")) != plain


def test_python_gives_the_same_bits(train):
    said = train("split-digits", "ewc", "--epochs", "2", "--batch", "32", "--rate", "0.01", "--json")
    record = library.run("split-digits", "ewc", epochs=2, batch=32, rate=0.01, widths="12")
    (run,) = said.json["runs"]
    assert run["parameters_sha256"] == record.parameters_sha256
    assert run["accuracy"] == record.accuracy
    assert run["key"] == record.key
    assert (run["bytes"], run["flops"]) == (dict(record.bytes), record.flops)


def test_multi_head_trains_over_the_tasks_own_labels(train):
    found = train("split-digits", "finetune", "--tasks", "2", "--head", "multi", "--json").json
    assert found["head"] == "multi"
    assert found["settings"]["loss_over"] == "task"


def test_multi_head_can_still_be_trained_over_labels_seen(train):
    said = train("split-digits", "finetune", "--tasks", "2", "--head", "multi", "--set", "loss_over=seen", "--json")
    assert said.json["settings"]["loss_over"] == "seen"


def test_a_learner_that_needs_the_task_is_read_multi_head(train):
    assert train("split-digits", "new-head", "--tasks", "2", "--json").json["head"] == "multi"


def test_short_and_long_names_of_a_stream_are_the_same_run(train):
    short = train("split-digits", "finetune", "--tasks", "2", "--json")
    long = train("split", "finetune", "--dataset", "digits", "--tasks", "2", "--json")
    assert sha(short) == sha(long)
    assert short.json["runs"][0]["key"] == long.json["runs"][0]["key"]


def test_a_file_of_ones_own(train, tmp_path):
    generator = np.random.default_rng(0)
    y = np.arange(80) % 4
    x = generator.normal(size=(80, 6)).astype("float32") + 3 * y[:, None]
    np.savez(tmp_path / "mine.npz", x_train=x[20:], y_train=y[20:], x_test=x[:20], y_test=y[:20])
    said = train("split", "finetune", "--dataset", str(tmp_path / "mine.npz"), "--tasks", "2", "--json")
    assert said.code == 0, said.err
    assert [len(row) for row in said.json["runs"][0]["accuracy"]] == [1, 2]


@pytest.mark.parametrize("protocol", ["task-level", "stream-level"])
def test_a_protocol_selects_from_a_grid(train, protocol):
    words = ("--tasks", "2", "--protocol", protocol, "--set", "rate=1e-7,0.01", "--json")
    said = train("split-digits", "finetune", *words)
    assert said.code == 0, said.err
    found = said.json
    assert found["settings"]["rate"] == [1e-7, 0.01]
    assert [chosen["rate"] for chosen in found["runs"][0]["chosen"]][-1] == 0.01


def test_rate_takes_a_grid_as_well(train):
    words = ("--tasks", "2", "--protocol", "task-level", "--json")
    short = train("split-digits", "finetune", *words, "--rate", "1,0.1")
    long = train("split-digits", "finetune", *words, "--set", "rate=1,0.1")
    assert short.json["runs"][0]["key"] == long.json["runs"][0]["key"]


def test_curve_and_references_give_their_metrics(train, brief_offline):
    plain = train("split-digits", "finetune", "--tasks", "2", "--json").json["metrics"]
    more = train("split-digits", "finetune", "--tasks", "2", "--curve", "0-1-2-3-4-5", "--references", "--json").json
    added = {"lca", "intransigence", "transfer"}
    assert not added & plain.keys()
    assert added <= more["metrics"].keys()
    assert all(more["metrics"][name]["mean"] is not None for name in added)
    assert more["runs"][0]["curves"][0]["steps"] == [0, 1, 2, 3, 4, 5]


def test_a_multi_head_learning_curve_is_read_multi_head(train):
    words = ("split-digits", "ewc", "--curve", "0-1-2-3-4-5", "--set", "loss_over=seen", "--json")
    single, multi = (train(*words, "--head", head).json for head in ("single", "multi"))
    (first,), (second,) = single["runs"], multi["runs"]
    assert first["parameters_sha256"] == second["parameters_sha256"]  # one training, two readings
    assert multi["metrics"]["lca"]["mean"] > single["metrics"]["lca"]["mean"] + 0.1
    for run in (first, second):
        assert sum(run["per_class"][-1].values()) / 10 == pytest.approx(sum(run["accuracy"][-1]) / 5, abs=0.03)


def test_evaluate_measures_less(train, tmp_path):
    words = ("split-digits", "finetune", "--tasks", "3", "--evaluate", "last")
    found = train(*words, "--json").json
    assert found["runs"][0]["evaluate"] == "last"
    assert found["runs"][0]["accuracy"][:2] == [[None], [None, None]]
    assert all(value is not None for value in found["runs"][0]["accuracy"][2])
    assert found["metrics"]["average_accuracy"]["mean"] is not None
    assert found["metrics"]["forgetting_rwalk"]["mean"] is None
    said = train(*words, "--figure", "figure.svg")
    assert said.code == 0, said.err
    for words in ("evaluated: last", "forgetting rwalk not defined"):
        assert words in " ".join(said.out.split())
    assert train("split-digits", "finetune", "--evaluate", "often").code == 2


@pytest.mark.parametrize("ending, begins", [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_figure(train, tmp_path, ending, begins):
    said = train("split-digits", "finetune", "--tasks", "2", "--figure", f"new/figure.{ending}")
    assert said.code == 0, said.err
    path = tmp_path / "new" / f"figure.{ending}"
    assert said.out.splitlines()[-1] == f"figure: {path}"
    assert path.read_bytes().startswith(begins)


@pytest.mark.parametrize("tasks", ["2", "12"])
def test_text_fits_eighty_columns(train, tasks, brief_offline):
    said = train("permuted-digits", "ewc", "--tasks", tasks, "--seeds", "0,1", "--references", "--curve", "0-1-2-3-4-5")
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("permuted-digits@1 · ewc · mlp · protocol sequential")
    assert "average accuracy" in said.out
    assert "±" in said.out
    assert said.err == ""


@pytest.mark.filterwarnings("default")
def test_what_is_hardly_meant_is_said_in_a_line_and_done(train):
    said = train("split-digits", "ewc", "--tasks", "2", "--set", "strength=1e30", "--set", "penalty_step=implicit")
    assert said.code == 0
    large, advice = said.err.splitlines()
    assert large == "engram: strength=1e+30 is very large; its default is 100"
    assert advice.startswith("engram: penalties alone rarely help")


PRINTS = """
from engram.learners.finetune import Finetune
print("imported")
class Mine(Finetune):
    name = "prints"
    def learn(self, lesson):
        print("learning")
        return super().learn(lesson)
"""


def test_what_a_users_code_prints_is_not_on_standard_output(train, tmp_path):
    (tmp_path / "prints.py").write_text(PRINTS)
    said = train("split-digits", f"{tmp_path}/prints.py:Mine", "--tasks", "2", "--json")
    assert said.json["runs"][0]["status"] == "done"
    assert said.err.splitlines() == ["imported", "learning", "learning"]
