"""One flipped bit in a store's database: the same results, or a sentence, or grown again with a word about it.

ENGRAM_FLIPS=2000 flips more bits than the 100 that are flipped by default.
"""

from __future__ import annotations

import os
import random
import shutil

import pytest

FLIPS, CHUNK = int(os.environ.get("ENGRAM_FLIPS", "100")), 20
RUN = ("split-digits", "finetune", "--tasks", "3", "--seeds", "0,1", "--json")


def flip_a_bit(path, chance):
    content = bytearray(path.read_bytes())
    bit = chance.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    return f"bit {bit % 8} of byte {bit // 8}"


def untimed(value):
    """Without the seconds, which are others when a node is grown again."""
    if isinstance(value, dict):
        return {name: untimed(inner) for name, inner in value.items() if name != "seconds"}
    return [untimed(inner) for inner in value] if isinstance(value, list) else value


def is_a_sentence(said):
    lines = said.err.splitlines()
    return said.out == "" and bool(lines) and all(line.startswith("engram: ") for line in lines)


def check(said, where, is_right):
    """Exit code 2 and a sentence, or the right answer."""
    if said.code == 2:
        assert is_a_sentence(said), (where, said)
    else:
        assert said.code == 0, (where, said)
        assert is_right(said), (where, said)


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("chunk", range(FLIPS // CHUNK))
def test_a_flipped_bit_never_gives_other_numbers_nor_a_traceback(chunk, train, engram, tmp_path):
    run = train(*RUN).json
    key = run["runs"][0]["key"]
    listed, shown = (engram(*words, "--json").json for words in (("runs",), ("show", key)))
    store, whole, chance = tmp_path / "engram-store", tmp_path / "whole", random.Random(chunk)
    store.rename(whole)
    for _ in range(CHUNK):
        shutil.copytree(whole, store)
        where = flip_a_bit(store / "store.db", chance)

        def lists(said):
            found = said.json["runs"]
            return found == listed["runs"] or ("damaged" in said.err and all(row in listed["runs"] for row in found))

        def trains(said):
            return said.json == run or ("damaged" in said.err and untimed(said.json) == untimed(run))

        check(engram("runs", "--json"), where, lists)
        check(engram("show", key, "--json"), where, lambda said: said.json == shown)
        again = train(*RUN)
        check(again, where, trains)
        if again.code == 0:
            healed = engram("show", key, "--json")
            assert untimed(healed.json) == untimed(shown), (where, healed)
        shutil.rmtree(store)
