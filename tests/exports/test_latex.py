from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_records import made_up, made_up_failure
from strict_latex import read, shown

from engram.exports.latex import escaped, latex, number, p_value
from engram.exports.means import means
from engram.exports.writing import latex_of, write_files

HOSTILE = r"[50%] *a_b* & \input{/etc/passwd} $x^2$ ~#{} <b> | -- \\"


def test_a_table_of_methods_has_a_row_each_and_what_they_share_above_it():
    records = [made_up((0.4, 0.8), seed=0), made_up((0.6, 1.0), seed=1), made_up(learner="si", key="b" * 40)]
    text = latex(means(records, ["average_accuracy", "forgetting_rwalk", "bytes"]))
    assert text.splitlines()[1] == (
        "% split-digits@1 · mlp · sequential · single · mean and standard deviation over 1–2 seeds"
    )
    header, ewc, si = read(text)
    assert header == ["learner", "accuracy", "forgetting", "memory (kB)"]
    assert ewc == ["ewc", r"$0.700 \pm 0.141$", r"$0.500 \pm 0.141$", "$1.0$"]
    assert si == ["si", "$0.700$", "$0.500$", "$1.0$"]


def test_hostile_names_stay_text():
    text = latex(means([made_up(learner=HOSTILE), made_up(learner="ewc", key="b" * 40)], ["lca"]), [HOSTILE])
    rows = read(text)
    assert shown(rows[1][0]) == HOSTILE
    assert rows[1][1] == "not defined"


@given(st.text(st.characters(codec="latin-1"), min_size=1))
def test_whatever_a_name_is_the_table_can_be_read(name):
    assert len(read(latex(means([made_up(learner=name), made_up(key="b" * 40)], ["bytes"]), [name]))) == 4


@pytest.mark.parametrize("broken", ["a_b", "{", "$1", "50%x", r"\input{a}", "#", "a < b"])
def test_the_strict_reader_refuses_what_tex_would(broken):
    table = latex(means([made_up(learner="HERE"), made_up(key="b" * 40)]))
    read(table)
    with pytest.raises(AssertionError):
        read(table.replace("HERE", broken))
    with pytest.raises(AssertionError):
        read(table.replace("HERE", "a & b"))


def test_settings_that_differ_tell_methods_of_one_learner_apart():
    weak, strong = ({"rate": 0.1, "strength": value} for value in (1.0, 10.0))
    rows = read(latex(means([made_up(settings=weak), made_up(settings=strong, key="b" * 40)])))
    assert [row[:2] for row in rows] == [["learner", "settings"], ["ewc", "strength=1.0"], ["ewc", "strength=10.0"]]


def test_a_method_that_failed_says_so_and_one_that_is_not_done_is_no_result(tmp_path):
    records = [
        made_up(), made_up_failure(seed=1), made_up_failure(learner="si", key="b" * 40),
        made_up(learner="er", status="pending", key="c" * 40), made_up(head="multi", warning="it looked", key="d" * 40),
    ]  # fmt: skip
    write_files({"latex": str(tmp_path / "t.tex")}, [], lambda: latex_of(records, ["average_accuracy"]))
    rows = read((tmp_path / "t.tex").read_text())
    assert [row[-1] for row in rows[1:4]] == ["$0.700$", "failed", "$0.700$"]
    assert "ewc: 1 of 2 runs failed" in rows[4][0]
    assert "er: 1 of 1 runs not finished" in rows[5][0]
    assert r"{*} sequential: it looked" in rows[6][0]
    assert "er" not in {row[0] for row in rows}


def test_numbers_are_math_and_no_probability_is_zero():
    assert [number(text) for text in ("-0.5", "1e-05", "12", "–", "0.1 / 0.2")] == [
        "$-0.5$", "$1e-05$", "$12$", r"\textendash{}", "0.1 / 0.2"
    ]  # fmt: skip
    assert [p_value(p) for p in (0.0, 0.00099, 0.001, 1.0)] == ["$<0.001$", "$<0.001$", "$0.001$", "$1.000$"]
    assert escaped("a\nb\x1b") == r"a\textbackslash{}nb\textbackslash{}x1b"
