"""A real Ray cluster of three nodes on this machine: the same bits as here, whatever dies in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from forking import facts, wait_until

from engram.execute import execute
from engram.request import prepare
from engram.store import Store
from engram.streams import from_arrays

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
    pytest.mark.filterwarnings("ignore:no worker of the cluster has begun yet"),
    pytest.mark.timeout(900),  # starting a dozen processes takes its time where others work too
]
SMALL = {"widths": "12-10", "batch": 96}
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "0123456789abcdef" * 4,  # nothing is written into anybody's home
}


@pytest.fixture(scope="module")
def cluster():
    """A head without CPUs, and two machines of one each; the second test takes one of them away."""
    os.environ.update(ENVIRONMENT)
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'engram[cluster]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
        arguments = {"num_cpus": 0, "include_dashboard": False, "_system_config": quick}
        try:
            made = Cluster(initialize_head=True, head_node_args=arguments)
            for _ in range(2):
                made.add_node(num_cpus=1)
        except Exception as error:  # it gives up after half a minute of a very busy machine
            pytest.skip(f"Ray does not start here now: {error}")
    yield made
    made.shutdown()
    for name in ENVIRONMENT:
        del os.environ[name]


@pytest.fixture
def engine(cluster):
    """How to ask for it."""
    return {"engine": "ray", "ray_address": cluster.address}


WAITING = """
import os, time, ray
from engram.learners.finetune import Finetune
from beside import FOLDER

class Waiting(Finetune):
    '''Says where it begins, and waits for a file.'''
    name = 'waiting'

    def learn(self, lesson):
        number = len(os.listdir(FOLDER + '/began'))
        with open(f'{FOLDER}/began/{number}-{os.getpid()}', 'w') as file:
            file.write(ray.get_runtime_context().get_node_id() if ray.is_initialized() else 'here')
        while not os.path.exists(FOLDER + '/go'):
            time.sleep(0.02)
        yield from super().learn(lesson)
"""


@pytest.fixture
def waiting(tmp_path):
    """A learner in a file that imports one beside it."""
    (tmp_path / "began").mkdir()
    (tmp_path / "beside.py").write_text(f"FOLDER = {str(tmp_path)!r}\n")
    (tmp_path / "waiting.py").write_text(WAITING)
    return f"{tmp_path / 'waiting.py'}:Waiting"


def began(tmp_path):
    """The processes that have begun a lesson, and their machines."""
    found = sorted((tmp_path / "began").iterdir())
    return [(int(path.name.partition("-")[2]), path.read_text()) for path in found]


def arrays():
    draw = np.random.default_rng(0)
    tasks = []
    for classes in ([0, 1], [2, 3]):
        y = np.repeat(classes, 20)
        tasks.append((draw.normal(size=(40, 6)) + y[:, None], y, draw.normal(size=(40, 6)) + y[:, None], y))
    return from_arrays(tasks)


def grown(store, run):
    return {store.times_grown(key) for key in store.runs(run.key)[0]["result"]["grown"]}


def test_a_cluster_gives_the_same_bits_as_this_process(engine, store, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from engram.learners.finetune import Finetune\n"
        "class Mine(Finetune):\n"
        "    name = 'mine'\n"
        "class Broken(Finetune):\n"
        "    name = 'broken'\n"
        "    def after_step(self): raise ZeroDivisionError('a bug')\n"
    )
    grid = {**SMALL, "rate": [0.1, 0.01]}
    runs = [
        prepare("split-digits", "ewc", tasks=2, protocol="task-level", settings=grid),
        prepare("permuted-digits", f"{tmp_path}/mine.py:Mine", tasks=2, settings=SMALL),
        prepare(arrays(), "si", settings=SMALL),
    ]
    broken = prepare("split-digits", f"{tmp_path}/mine.py:Broken", tasks=2, settings=SMALL)
    diverging = prepare("split-digits", "finetune", tasks=2, settings={**SMALL, "rate": 1e30})
    execute([*runs, broken, diverging], store, jobs=2, **engine)
    alone = Store(tmp_path / "alone")
    execute(runs, alone)
    alone.close()
    for run in runs:
        assert facts(run, store.folder) == facts(run, tmp_path / "alone")
        assert grown(store, run) == {1}
    failed = store.runs()[-2:]
    assert [entry["status"] for entry in failed] == ["failed", "failed"]
    assert failed[0]["error"] == "ZeroDivisionError: a bug (details in the store's workers.log)"
    assert "in after_step" in (store.folder / "workers.log").read_text()
    assert "task 1 (digits 0-4)" in failed[1]["error"]
    assert failed[1]["kind"] == "Diverged"


def test_a_worker_and_then_a_machine_that_die_cost_one_node_each(engine, cluster, waiting, store, tmp_path):
    runs = [prepare("split-digits", waiting, tasks=2, seed=seed, settings=SMALL) for seed in (0, 1)]

    def disturb():
        assert wait_until(lambda: len(began(tmp_path)) == 2, 300)
        os.kill(began(tmp_path)[0][0], signal.SIGKILL)
        assert wait_until(lambda: len(began(tmp_path)) == 3, 300)
        machine = began(tmp_path)[1][1]
        cluster.remove_node(next(node for node in cluster.worker_nodes if node.node_id == machine))
        (tmp_path / "go").touch()

    disturbing = threading.Thread(target=disturb, daemon=True)
    disturbing.start()
    execute(runs, store, jobs=2, **engine)
    disturbing.join(10)
    assert len(began(tmp_path)) == 4 + 2  # two nodes twice, two once
    alone = Store(tmp_path / "alone")
    execute(runs, alone)
    alone.close()
    for run in runs:
        assert facts(run, store.folder) == facts(run, tmp_path / "alone")
        assert grown(store, run) == {1}


@pytest.fixture
def start(cluster, tmp_path):
    """Start a command on a store that is gone when the test ends, however it ends."""
    started = []

    def start(*words):
        command = [sys.executable, "-m", "engram.cli", *words, "--store", str(tmp_path / "store"), "--json"]
        command += ["--engine", "ray", "--ray-address", cluster.address]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "ENGRAM_CHECKPOINT_SECONDS": "0.1"}
        started.append(subprocess.Popen(command, text=True, start_new_session=True, env=environment, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_asking_process_is_killed_then_interrupted_then_resumed(engine, start, tmp_path):
    """After kill -9 positions that workers sent are there; Ctrl-C leaves with 130; resuming gives the same bits."""
    folder = tmp_path / "store"
    settings = {**SMALL, "epochs": 800}
    run = prepare("split-digits", "finetune", tasks=2, settings=settings)
    asked = ["run", "split-digits", "--learner", "finetune", "--tasks", "2", "--epochs", "800", "--batch", "96"]

    def positions():
        return {path.stat().st_mtime_ns for path in (folder / "partial").glob("*.engram")}

    process = start(*asked, "--set", "widths=12-10")
    assert wait_until(lambda: len(positions()) == 2 or process.poll() is not None, 300)
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()
    before = positions()

    process = start("resume")
    assert wait_until(lambda: bool(positions() - before) or process.poll() is not None, 300)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert (process.returncode, output) == (130, ""), errors
    goes_on = f"'engram resume --store {folder}' goes on"
    assert errors == f"engram: stopped; everything so far is saved, {goes_on}\n"

    store, alone = Store(folder), Store(tmp_path / "alone")
    execute([run], store, jobs=1, **engine)
    execute([run], alone)
    for one in (store, alone):
        one.close()
    assert facts(run, folder) == facts(run, tmp_path / "alone")
