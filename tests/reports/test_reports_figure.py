from __future__ import annotations

import pytest

from engram.errors import BadSetting
from engram.reports.figure import draw_progress


def test_a_panel_for_every_method(record, failed, tmp_path):
    records = [record(seed=0), record(seed=1), record(learner="si"), failed(seed=2), record(stream="pair-digits@1")]
    path = draw_progress(records, tmp_path / "new" / "f.svg")
    assert path.read_text().startswith("<?xml")


def test_nothing_to_draw(failed, tmp_path):
    with pytest.raises(BadSetting, match="no finished run"):
        draw_progress([failed()], tmp_path / "f.png")


def test_a_place_that_cannot_be_written(record, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadSetting, match="cannot be written"):
        draw_progress([record()], tmp_path / "file" / "f.png")
