"""The name of a processor, by which results of two kinds are told apart."""

from __future__ import annotations

import platform

import pytest

from engram import processor as module
from engram.core import Machine
from engram.tree import this_machine

INTEL = (
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\nmodel name\t: A\n\nprocessor\t: 1\n"
)
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\nprocessor\t: 1\n"


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """The processor as the kernel of some machine lists it."""
    for name in module._LIMITS:
        monkeypatch.delenv(name, raising=False)

    def listed(text):
        place = tmp_path / "cpuinfo"
        if text is not None:
            place.write_text(text)
        monkeypatch.setattr(module, "_LISTED", place)
        return module.processor.__wrapped__()

    return listed


def test_it_is_named_by_maker_family_and_model(listed):
    assert listed(INTEL) == "GenuineIntel 6 106"
    assert listed(ARM) == "0x41 0xd0c"


@pytest.mark.parametrize("text", [None, "", "nothing that is known\n", "a: b\n"])
def test_where_the_kernel_lists_none_the_platform_names_it(text, listed, monkeypatch):
    monkeypatch.setattr(platform, "processor", lambda: "another")
    assert listed(text) == "another"


def test_a_limit_of_onednn_makes_it_another(listed, monkeypatch):
    plain = listed(INTEL)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert listed(INTEL) == f"{plain}, oneDNN up to AVX2"


def test_machines_with_other_processors_are_of_other_kinds():
    old, here = Machine("AVX512", "2.13.0", "x86_64"), this_machine()
    assert here.processor == module.processor()
    assert here != here._replace(processor="another")
    assert str(old) == "x86_64 AVX512 with torch 2.13.0"
    assert str(old._replace(processor="GenuineIntel 6 106")) == "x86_64 AVX512 (GenuineIntel 6 106) with torch 2.13.0"
