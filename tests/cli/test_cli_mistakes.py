"""A user's mistake: exit code 2, one line that names the value and the way out, no traceback, nothing trained."""

from __future__ import annotations

import os

import pytest

RUN = ("run", "split-digits", "--learner", "finetune", "--jobs", "1")
MISTAKES = [
    (("run", "split-digits", "--learner", "finetun"), "there is no learner 'finetun'; did you mean 'finetune'?"),
    (("run", "splitt-digits", "--learner", "ewc"), "there is no stream 'splitt-digits'; did you mean 'split-digits'?"),
    (("run", "split-digits", "--lerner", "ewc"), "did you mean --engine, --learner?"),
    (("rum",), "did you mean 'run'"),
    (("runs", "more"), "got unexpected extra argument(s) (more); see 'engram runs --help'"),
    (("runs", "--jsn"), "did you mean --json?"),
    (("frobnicate",), "see 'engram --help'"),
    (("run", "split-digits"), "missing option '--learner'; 'engram list learners' has their names"),
    (("list",), "see 'engram list --help'"),
    (("list", "learnrs"), "there is no list of 'learnrs'; did you mean 'learners'?"),
    ((*RUN, "--set", "epoch=3"), "'epoch'; did you mean 'epochs'?"),
    ((*RUN, "--set", "epochs"), "'epochs' is not key=value"),
    ((*RUN, "--precision", "bf16"), "precision is a setting of ctrl-alexnet, ctrl-resnet"),
    ((*RUN, "--set", "width=9"), "did you mean 'widths'?"),
    (("run", "ctrl-minus", "--learner", "finetune", "--tasks", "3"), "which tasks it has; middle=N leaves some out"),
    (("run", "ctrl-minus", "--learner", "finetune", "--set", "datasets="), "or say datasets=available"),
    (("run", "split-digits", "--learner", "hat", "--set", "activation=lwta"), "mlp with another activation than lwta"),
    (("paper", "veniat2021", "--only", ","), "--only ',' names no row"),
    (("paper", "veniat2021", "--only", ""), "--only '' names no row"),
    ((*RUN, "--set", "rate=0.1,0.2"), "choose --protocol task-level or stream-level"),
    ((*RUN, "--network", "mpl"), "there is no network 'mpl'; did you mean 'mlp'?"),
    ((*RUN, "--device", "gpu"), "there is no device 'gpu' on this machine; use one of: cpu"),
    ((*RUN, "--protocol", "task"), "there is no protocol 'task'"),
    ((*RUN, "--head", "both"), "there is no head 'both'; choose one of: multi, single"),
    (("run", "split", "--learner", "ewc"), "needs a dataset"),
    (("run", "split", "--learner", "ewc", "--dataset", "mnits"), "there is no dataset 'mnits'; did you mean 'mnist'?"),
    (("run", "split", "--learner", "ewc", "--dataset", "no.npz"), "there is no file no.npz"),
    (("run", "split-digits", "--learner", "new-head", "--head", "single"), "use --head multi"),
    ((*RUN, "--epochs", "0"), "epochs=0 is out of range"),
    ((*RUN, "--epochs", "many"), "epochs='many' is not a whole number"),
    ((*RUN, "--batch", "1.5"), "batch='1.5' is not a whole number"),
    ((*RUN, "--rate", "fast"), "rate='fast' is not a number"),
    ((*RUN, "--rate", "-1"), "rate=-1.0 is out of range"),
    ((*RUN, "--rate", "nan"), "rate='nan' is not a number"),
    ((*RUN, "--tasks", "many"), "--tasks 'many' is not a whole number"),
    ((*RUN, "--tasks", "99"), "tasks=99 is more than the 10 classes"),
    ((*RUN, "--seeds", "a,b"), "--seeds 'a,b' is not a list of whole numbers"),
    ((*RUN, "--seeds", "-1"), "seed=-1 is out of range"),
    ((*RUN, "--curve", "0-x"), "--curve '0-x' is not a list of whole numbers"),
    (("run", "split-digits", "--learner", "finetune", "--jobs", "-1"), "'--jobs'"),
    ((*RUN, "--jobs", "2"), "--jobs was given 2 times; give it once"),
    ((*RUN, "--learner", "ewc"), "--learner was given 2 times; give it once"),
    ((*RUN, "--set", "rate=1", "--set", "rate=2"), "rate is set twice; give it once, as rate=A,B where a protocol is"),
    ((*RUN, "--set", "tasks=1,2"), "tasks"),
    (("run", "ctrl-minus", "--learner", "ewc", "--set", "middle=1,2"), "middle=1,2 is not one value, which is a whole"),
    (("run", "ctrl-pl", "--learner", "ewc", "--set", "datasets=a++b"), "'a++b' has an empty name beside a +"),
    (("run", "concat-digits+", "--learner", "ewc"), "'digits+' has an empty name beside a +"),
    ((*RUN, "--rate", "1", "--set", "rate=2"), "rate is set twice"),
    ((*RUN, "--seeds", ""), "--seeds '' is not a list of whole numbers; write it as 0,1,2 or 0-4"),
    ((*RUN, "--seeds", "1,1"), "--seeds '1,1' has the seed 1 twice"),
    ((*RUN, "--seeds", "0-3,2"), "--seeds '0-3,2' has the seed 2 twice"),
    ((*RUN, "--seeds", "3-1"), "--seeds '3-1' is not a list of whole numbers"),
    ((*RUN, "--seeds", "0-99999999999"), "give at most 10000"),
    ((*RUN, "--rate", "inf"), "rate='inf' is not a number"),
    (("run", "split-digits", "--learner", "no.py:No"), "there is no file 'no.py'"),
    ((*RUN, "--network", "json:dumps"), "network 'dumps'"),
    (("run", "no_module:stream", "--learner", "ewc"), "'no_module' cannot be imported"),
    (("paper", "permuted-mnist", "--seeds", ""), "--seeds '' is not a list"),
    ((*RUN, "--figure", "figure.foo"), "end it in .png, .svg or .pdf"),
    ((*RUN, "--rate", "inf"), "rate='inf' is not a number"),
    ((*RUN, "--set", "widths=99999999999999999999"), "widths=99999999999999999999 is out of range"),
    ((*RUN, "--set", "batch=9223372036854775808"), "batch=9223372036854775808 is out of range"),
    ((*RUN, "--set", "widths=1000000000-1000000000"), "of memory and"),
    ((*RUN, "--set", "widths=1000000000-1000000000", "--plan"), "of memory and"),
    ((*RUN, "--network", "pfuelb-conv", "--set", "full_width=2147483648"), "full_width=2147483648 is out of range"),
    ((*RUN, "--network", "pfuelb-conv", "--set", "full_width=1000000000", "--plan"), "of memory and"),
    (("run", "split-digits", "--learner", "ridge", "--set", "features=2147483648"), "features=2147483648 is out of"),
    (("run", "split-digits", "--learner", "ridge", "--set", "features=1000000000"), "of memory and"),
    (("run", "split-digits", "--learner", "exemplars-only", "--set", f"copies={2**63 - 1}"), "is out of range"),
    (("run", "incremental-digits", "--learner", "pathnet"), "has 1 of at least 2 classes"),
    (("run", "incremental-digits", "--learner", "geppnet", "--set", "base=1"), "is the first and has 1 class"),
    (("run", "split", "--learner", "ewc", "--dataset", "/dev/zero"), "/dev/zero is not a file"),
    (("run", "split", "--learner", "ewc", "--dataset", "a" * 300), "there is no dataset 'aaa"),
    (("runs",), "there is no store in 'engram-store'"),
    (("resume", "--store", "nowhere"), "there is no store in 'nowhere'"),
    (("clean",), "there is no store"),
    (("show", "abc"), "there is no store"),
    (("check", "finetun"), "there is no learner 'finetun'"),
    (("paper", "permuted"), "there is no paper 'permuted'; did you mean 'permuted-mnist'?"),
    (("paper", "permuted-mnist", "--tier", "fast"), "there is no tier 'fast'"),
    (("data", "verify", "mnits"), "there is no dataset 'mnits'"),
    (("data", "fetch", "mnits"), "there is no dataset 'mnits'"),
]


@pytest.mark.parametrize("words, says", MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_one_line_and_exit_code_two(engram, words, says):
    said = engram(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert said.err.startswith("engram: ")
    assert says in said.err
    assert os.listdir() == []


def test_json_changes_nothing_about_a_mistake(engram):
    said = engram("run", "split-digits", "--learner", "finetun", "--json")
    assert (said.code, said.out) == (2, "")
    assert "did you mean" in said.err


def test_a_key_that_several_runs_begin_with(train, engram):
    train("split-digits", "finetune", "--tasks", "2", "--seeds", "0,1")
    said = engram("show", "")
    assert said.code == 2
    assert said.err == "engram: 2 runs in engram-store begin with ''; give more of the key that you want\n"
    said = engram("show", "nothing")
    assert (said.code, said.out) == (2, "")
    assert "no run in engram-store begins with 'nothing'" in said.err
