from __future__ import annotations

import json

import pytest

from engram.catalogue import LISTS


@pytest.mark.parametrize("what", LISTS)
def test_rows_are_plain_named_once_and_explained(what):
    rows = LISTS[what]()
    assert len({row["name"] for row in rows}) == len(rows) > 0
    assert all(row.get("help") or row.get("source") for row in rows)
    json.dumps(rows, allow_nan=False)


def test_a_learner_is_explained_by_what_it_does():
    about = {row["name"]: row["help"] for row in LISTS["learners"]()}
    assert about["ewc"].startswith("Elastic weight consolidation (Kirkpatrick et al. 2017)")
