"""The contract as other processors would see it: torch, and oneDNN below it, can be told to use less of this one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

PROGRAM = """
import sys

import torch

from engram.checks import check_learner
from engram.learners import learners

if torch.backends.cpu.get_cpu_capability() != sys.argv[1]:
    sys.exit(77)
for name in learners():
    for check in check_learner(name):
        if not check.passed:
            print(f"{name}: {check.name}: {check.detail}")
"""


@pytest.mark.parametrize(("capability", "instructions"), [("DEFAULT", "SSE41"), ("AVX2", "AVX2")])
def test_every_registered_learner_keeps_the_contract(capability, instructions):
    if torch.backends.cpu.get_cpu_capability() == capability:
        pytest.skip("that is what the other tests run with")
    less = {"ATEN_CPU_CAPABILITY": capability.lower(), "ONEDNN_MAX_CPU_ISA": instructions, "OMP_NUM_THREADS": "1"}
    environment = {**os.environ, **less}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, capability], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode == 77:
        pytest.skip(f"this processor has no {capability}")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
