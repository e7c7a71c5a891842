"""check, data, paper."""

from __future__ import annotations

from engram.datasets.catalogue import ENTRIES


def test_check(engram):
    said = engram("check", "finetune")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[-1] == f"{len(lines) - 1} of {len(lines) - 1} checks passed"
    assert all(line.startswith("ok ") for line in lines[:-1])


def test_check_json_of_a_class_that_breaks_a_promise(engram, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from engram.learners.finetune import Finetune\n\n\n"
        "class Mine(Finetune):\n    name = 'mine'\n\n    def flops(self):\n        return -1\n"
    )
    said = engram("check", "mine.py:Mine", "--json")
    found = said.json
    assert (said.code, found["passed"]) == (1, False)
    assert any(not check["passed"] and check["detail"] for check in found["checks"])


def test_verify(engram):
    said = engram("data", "verify", "mnist", "--json")
    files = said.json["files"]
    assert [row["name"] for row in files] == ["mnist"] * 4
    assert {row["status"] for row in files} <= {"ok", "missing"}
    assert all(len(row["expected"]) > 40 for row in files)
    assert max(map(len, engram("data", "verify", "mnist").out.splitlines())) <= 80


def test_verify_of_a_dataset_that_is_not_here(engram, tmp_path, monkeypatch):
    """Asked for by name, a missing dataset is not verified; among all of them it is only listed."""
    monkeypatch.setenv("ENGRAM_DATA", str(tmp_path))
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path))
    said = engram("data", "verify", "dtd37")
    assert said.code == 1
    assert "missing" in said.out
    assert engram("data", "verify", "digits", "dtd37", "--json").code == 1
    assert engram("data", "verify", "digits").code == 0
    monkeypatch.setattr("engram.datasets.api.ENTRIES", [entry for entry in ENTRIES if entry.kind == "npz"])
    assert engram("data", "verify").code == 0


def test_verify_sees_a_damaged_file(engram, tmp_path, monkeypatch):
    monkeypatch.setenv("ENGRAM_DATA", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte").write_bytes(b"not these")
    said = engram("data", "verify", "mnist", "--json")
    damaged = [row for row in said.json["files"] if row["status"] == "damaged"]
    assert said.code == 1
    assert [row["file"] for row in damaged] == ["t10k-labels-idx1-ubyte"]
    assert damaged[0]["found"] != damaged[0]["expected"]


def test_verify_of_what_is_not_here(engram, tmp_path, monkeypatch):
    monkeypatch.setenv("ENGRAM_DATA", str(tmp_path))
    said = engram("data", "verify", "cifar100")
    assert said.code == 1
    assert "missing" in said.out
    assert said.err == "engram: cifar100 is not here; 'engram data fetch cifar100' gets it\n"
    assert engram("data", "verify", "cifar100", "--json").code == 1
    assert engram("data", "verify", "digits").code == 0
    assert engram("data", "verify").code == 0  # nobody asked for those that are missing


def test_fetch_of_what_needs_no_fetching(engram):
    assert engram("data", "fetch", "digits").out == "digits is here (nothing to fetch)\n"
    assert engram("data", "fetch", "digits", "--json").json == {"name": "digits", "path": None}


def test_paper_writes_page_table_and_figure(engram, tmp_path):
    words = ("paper", "permuted-mnist", "--tier", "quick", "--seeds", "0", "--jobs", "1")
    said = engram(*words, "--write", "pages")
    assert said.code == 0, said.err
    names = ["permuted-mnist.md", "permuted-mnist-table.csv", "permuted-mnist-table.png"]
    assert [line for line in said.out.splitlines() if line.startswith("wrote")] == [f"wrote pages/{n}" for n in names]
    assert max(map(len, said.out.splitlines())) <= 80
    page = (tmp_path / "pages" / names[0]).read_text()
    assert "engram paper permuted-mnist --tier quick --seeds 0 --write pages" in page
    found = engram(*words, "--json").json
    (table,) = found["experiments"]
    assert [line["learner"] for line in table["lines"]] == ["online-ewc", "si"]
    assert table["claims"] == []
    assert engram(*words[:2], "table", *words[2:], "--json").json == found


def test_paper_shows_what_is_known_and_trains_nothing(engram, monkeypatch, tmp_path):
    words = ("paper", "permuted-mnist", "--tier", "quick", "--seeds", "0", "--jobs", "1")
    assert engram(*words, "--known").code == 2  # there is no store
    engram(*words, "--only", "SI")
    monkeypatch.setattr("engram.tree._learn", None)  # which would fail
    whole = engram(*words, "--known", "--write", "pages", "--json").json
    assert [line["method"] for line in whole["experiments"][0]["lines"]] == ["SI"]
    page = (tmp_path / "pages/permuted-mnist.md").read_text(encoding="utf-8")
    assert "engram paper permuted-mnist --tier quick --known --seeds 0" in page
    monkeypatch.setattr("engram.memory.WORTH_A_WORD", 0)  # what workers would need, of which there are none
    said = engram("paper", "permuted-mnist", "--seeds", "7", "--known")
    assert (said.code, said.err) == (
        2,
        "engram: none of these runs is in engram-store; leave --known out to train them, or see in 'engram report' "
        "whether it has them on other datasets: asked for was permuted-digits@1\n",
    )


def test_paper_tells_what_stands_in(engram, monkeypatch):
    monkeypatch.setattr("engram.cli.training.show_plan", lambda *_: None)
    words = ("paper", "veniat2021", "table13", "--tier", "quick", "--only", "Independent", "--plan")
    said = engram(*words)
    assert said.code == 0
    assert "digits stands in for cifar10" in said.err or "dtd37 stands in for dtd" in said.err
    engram("run", "split-digits", "--learner", "ridge")
    said_of_none = engram(*words[:-1], "--known")
    assert said_of_none.err.startswith(said.err)
    assert "none of these runs is in engram-store" in said_of_none.err
    assert engram("paper", "permuted-mnist", "--plan").err == ""
