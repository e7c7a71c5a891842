"""No layer writes beyond its memory, on this processor or as one without AVX-512 would compute.

The C library is told to look at every block that is freed. It found a kernel of oneDNN that did, see
`engram.networks.resnet.Block`.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys

import pytest

LOOKS = "libc_malloc_debug.so.0"
NETWORKS = {
    "ctrl-resnet": {"width": 4},
    "resnet18-reduced": {"width": 3},
    "ctrl-alexnet": {"width": 2},
    "rwalk-cnn": {},
    "lenet5": {},
    "pfuelb-conv": {"full_width": 9},
}
PROGRAM = """
import json
import sys

import torch

from engram.networks import Blueprint, Outputs

torch.set_num_threads(1)
for name, settings in json.loads(sys.argv[1]).items():
    network = Blueprint.of(name, **settings).build((3, 32, 32), 0)
    network.append(torch.randn(2, network.row_size))
    for count in (5, 8):
        if network.trunk.draws:
            network.trunk.reseed(torch.Generator().manual_seed(0))
        scores = network.training_scores(torch.randn(count, 3, 32, 32), Outputs(0, 2))
        network.backward(scores.square().sum())
"""


@pytest.mark.parametrize("instructions", ["DEFAULT", "AVX2"])
def test_no_layer_writes_beyond_its_memory(instructions):
    try:
        ctypes.CDLL(LOOKS)
    except OSError:
        pytest.skip("this C library does not look at blocks")
    watched = {"LD_PRELOAD": LOOKS, "GLIBC_TUNABLES": "glibc.malloc.check=3"}
    environment = {**os.environ, **watched, "ONEDNN_MAX_CPU_ISA": instructions, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, json.dumps(NETWORKS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
