import pytest


@pytest.fixture
def weeks(engram, tmp_path):
    """Three classes on a line, the third new in the second week."""
    for week, kinds in (("week1.csv", "ao"), ("week2.csv", "aoe")):
        lines = ["size,colour,species"]
        for row in range(20):
            lines += [f"{10 * 'aoe'.index(k) + row / 20},{'red' if row % 2 else 'blue'},{k}" for k in kinds]
        (tmp_path / week).write_text("\n".join(lines) + "\n")
    return tmp_path


def test_advice_as_json_with_a_report_beside_it(engram, weeks):
    asked = ("week1.csv", "week2.csv", "--label", "species")
    found = engram("advise", *asked, "--no-exemplars", "--seeds", "0", "--json").json
    assert found["recommended"]["learner"] in ("slda", "ridge")
    labels = {each["label"]: each for each in found["candidates"]}
    assert {"slda", "ridge", "online-ewc", "finetune", "joint"} <= set(labels)
    assert labels["joint"]["floor"]
    assert not any("exemplars" in each["parameters"] for each in labels.values())
    assert [each["session"] for each in found["past_choices"]] == [1]
    assert (weeks / "advice.html").stat().st_size > 1000
    assert engram(*found["command"].split()[1:]).code == 0


@pytest.mark.parametrize(
    "words, said",
    [
        (["week1.csv", "--label", "species"], "give at least two"),
        (["week1.csv", "week2.csv", "--label", "specis"], "did you mean 'species'"),
        (["week1.csv", "week2.csv", "--label", "species", "--latency", "fast"], "is no time"),
        (["week1.csv", "week2.csv", "--label", "species", "--memory", "much"], "is not a number of bytes"),
        (["week1.csv", "none.csv", "--label", "species"], "none.csv"),
    ],
)
def test_mistakes_are_said_in_a_sentence_before_anything_is_tried(engram, weeks, words, said):
    result = engram("advise", *words)
    assert result.code == 2
    assert said in result.err
    assert len(result.err.splitlines()) == 1
