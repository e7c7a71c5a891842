"""Records that somebody made up, as fixtures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_up_records import made_up, made_up_failure

from engram.record import Record


@pytest.fixture
def record() -> Callable[..., Record]:
    return made_up


@pytest.fixture
def failed() -> Callable[..., Record]:
    return made_up_failure
