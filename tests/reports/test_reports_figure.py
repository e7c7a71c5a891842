from __future__ import annotations

from dataclasses import replace

import pytest

from engram.errors import BadSetting
from engram.reports.figure import draw_progress


def test_a_panel_for_every_method(record, failed, tmp_path):
    records = [record(seed=0), record(seed=1), record(learner="si"), failed(seed=2), record(stream="pair-digits@1")]
    path = draw_progress(records, tmp_path / "new" / "f.svg")
    assert path.read_text().startswith("<?xml")


@pytest.mark.parametrize("seeds", [1, 2])
def test_what_was_not_measured_is_a_gap(record, tmp_path, seeds):
    whole = record().rows[-1]
    nothing = replace(whole, single=(), multi=(), places=())
    rows = (nothing, replace(whole, single=(0.25,), multi=(0.25,), places=(1,)), replace(whole, single=(0.5, 0.5, 0.5)))
    records = [record(seed=seed, rows=rows, evaluate="every 3") for seed in range(seeds)]
    assert draw_progress(records, tmp_path / "f.svg").read_text().startswith("<?xml")


def test_nothing_to_draw(failed, tmp_path):
    with pytest.raises(BadSetting, match="no finished run"):
        draw_progress([failed()], tmp_path / "f.png")


def test_a_place_that_cannot_be_written(record, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadSetting, match="cannot be written"):
        draw_progress([record()], tmp_path / "file" / "f.png")


def test_a_figure_that_cannot_be_drawn_leaves_the_old_one(record, tmp_path, monkeypatch):
    path = draw_progress([record()], tmp_path / "f.svg")
    before = path.read_bytes()

    def half(figure, file, **_):
        file.write(b"half")
        raise ValueError("no such colour")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", half)
    with pytest.raises(BadSetting, match="cannot be written"):
        draw_progress([record()], path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
