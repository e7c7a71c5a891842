"""The change log says what old results are worth: its newest part names the numbers that keys and stores have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engram.formats import VERSION
from engram.learners import learners
from engram.networks import NETWORKS
from engram.nodes import BITS

TEXT = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
NEWEST = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1]


def test_the_newest_part_names_the_bits_and_the_format_of_today():
    heading = NEWEST.splitlines()[0]
    assert heading.endswith(f": bits {BITS}, store format {VERSION}")


OF_THEIR_OWN = [
    (name, cls.bits) for kind in (learners(), NETWORKS.everything()) for name, cls in kind.items() if cls.bits
]


@pytest.mark.parametrize("name, bits", OF_THEIR_OWN)
def test_a_method_or_network_with_bits_of_its_own_is_named_with_them(name, bits):
    assert f"`{name}` (its own bits: {bits})" in TEXT


def test_every_store_format_before_todays_is_kept_as_an_asset():
    assets = Path(__file__).parent / "assets"
    assert all((assets / f"store-format-{version}.db.gz").is_file() for version in range(1, VERSION))
