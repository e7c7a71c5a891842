"""Workers that die cost one task; those that always die are given up; none outlives its parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from forking import facts, is_alive, wait_until, workers_of

from engram.errors import DiskFull, StoreTrouble
from engram.execute import execute
from engram.request import prepare
from engram.store import Store

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
    pytest.mark.timeout(1200),  # starting a dozen processes takes its time where others work too
]
SMALL = {"widths": "12-10", "batch": 96}
SLOW = {**SMALL, "epochs": 100}


def locks_of(pid):
    """Keys of the nodes that a process grows now."""
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []
    return [os.path.basename(link) for link in links if os.path.dirname(link).endswith("/locks")]


def busy_workers(folder, key=None):
    """Workers that grow something, or this node."""
    return [pid for pid in workers_of(folder) if (key in locks_of(pid) if key else locks_of(pid))]


class Killer(threading.Thread):
    """Kills the worker that grows a node, `times` times, and then lets it learn."""

    def __init__(self, folder, key, times, go):
        super().__init__(daemon=True)
        self.folder, self.key, self.times, self.go, self.killed = folder, key, times, go, set()
        self.stop = threading.Event()

    def run(self):
        while len(self.killed) < self.times and not self.stop.wait(0.05):
            for pid in set(busy_workers(self.folder, self.key)) - self.killed:
                os.kill(pid, signal.SIGKILL)
                self.killed.add(pid)
        self.go.touch()

    def __exit__(self, *_):
        self.stop.set()
        self.join()

    def __enter__(self):
        self.start()
        return self


@pytest.fixture
def hesitant(tmp_path):
    """A learner that waits for a file before it learns: no clock decides whether it is killed before it is done."""
    (tmp_path / "hesitant.py").write_text(
        "import os, time\n"
        "from engram.learners.finetune import Finetune\n"
        "class Hesitant(Finetune):\n"
        "    name = 'hesitant'\n"
        "    def learn(self, lesson):\n"
        f"        while not os.path.exists({str(tmp_path / 'go')!r}):\n"
        "            time.sleep(0.02)\n"
        "        yield from super().learn(lesson)\n"
    )
    return f"{tmp_path / 'hesitant.py'}:Hesitant"


def first_key(run):
    return run.root.child([0], run.grid[0]).key


def test_a_killed_worker_costs_one_task_which_is_tried_again(store, hesitant, tmp_path):
    runs = [prepare("split-digits", hesitant, tasks=2, seed=seed, settings=SMALL) for seed in (0, 1)]
    with Killer(store.folder, first_key(runs[0]), times=1, go=tmp_path / "go") as killer:
        execute(runs, store, jobs=2)
    assert len(killer.killed) == 1
    alone = Store(tmp_path / "alone")
    execute(runs, alone)
    alone.close()
    for run in runs:
        assert facts(run, store.folder) == facts(run, tmp_path / "alone")
    assert workers_of(store.folder) == []


def test_a_task_that_kills_every_worker_fails_after_three_and_others_go_on(store, hesitant, tmp_path):
    poison, fine = (prepare("split-digits", name, tasks=2, settings=SMALL) for name in (hesitant, "finetune"))
    with Killer(store.folder, first_key(poison), times=10, go=tmp_path / "go") as killer:
        execute([poison, fine], store, jobs=2)
    assert len(killer.killed) == 3
    failed, done = store.runs()
    assert failed["status"] == "failed"
    assert "the worker died 3 times on this task (exit code -9); 'engram resume' tries again" in failed["error"]
    assert done["status"] == "done"
    execute([poison], store)
    assert [run["status"] for run in store.runs()] == ["done", "done"]


def test_what_is_printed_in_a_worker_does_not_disturb_its_answers(store, tmp_path, monkeypatch):
    """A learner that prints, here while it is imported."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, importlib.abc\n"
        "class Noise(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'engram.learners.finetune': print('{not an answer', flush=True)\n"
        "sys.meta_path.insert(0, Noise())\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    runs = [prepare("split-digits", "finetune", tasks=2, seed=seed, settings=SMALL) for seed in (0, 1)]
    execute(runs, store, jobs=2)
    assert [run["status"] for run in store.runs()] == ["done", "done"]
    assert "{not an answer" in (store.folder / "workers.log").read_text()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/null")])
def test_a_log_that_is_no_file_is_a_sentence_and_not_waited_for(make, store):
    make(store.folder / "workers.log")
    runs = [prepare("split-digits", "finetune", tasks=2, seed=seed, settings=SMALL) for seed in (0, 1)]
    with pytest.raises(StoreTrouble, match=r"workers\.log is not a regular file; remove it"):
        execute(runs, store, jobs=2)
    assert workers_of(store.folder) == []


def test_a_disk_that_fills_up_in_a_worker_is_a_full_disk_here(store, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import errno, os, sys\n"
        "def full(*_): raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "if 'engram.execute.worker' in ' '.join(sys.orig_argv): os.fsync = full\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    runs = [prepare("split-digits", "finetune", tasks=2, seed=seed, settings=SMALL) for seed in (0, 1)]
    with pytest.raises(DiskFull, match="the disk is full: .+ needs [0-9]+ bytes; free some space") as found:
        execute(runs, store, jobs=2)
    assert found.value.exit_code == 1
    assert [run["status"] for run in store.runs()] == ["pending", "pending"]


RUN = [
    "run", "split-digits", "--learner", "ewc", "--tasks", "2", "--seeds", "0,1", "--epochs", "250", "--batch", "96",
    "--set", "widths=12-10",
]  # fmt: skip


@pytest.fixture
def start():
    """Start a process that is gone when the test ends, however it ends."""
    started = []

    def start(*command):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen([sys.executable, "-m", *command], text=True, start_new_session=True, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for_learning(process, folder):
    """Until a worker grows a node; what the command said where it ended before."""
    assert wait_until(lambda: bool(busy_workers(folder)) or process.poll() is not None, 600), "neither works nor ends"
    assert process.poll() is None, process.communicate()


def test_interrupted_then_killed_then_resumed(start, tmp_path):
    """Ctrl-C saves and leaves with 130; kill -9 of the parent takes the workers along; resume gives the same bits."""
    folder = tmp_path / "store"
    where = ("--store", str(folder), "--jobs", "2", "--json")
    began = time.monotonic()
    process = start("engram.cli", *RUN, *where)
    wait_for_learning(process, folder)
    time.sleep(0.3)
    interrupted, workers = time.monotonic(), workers_of(folder)
    pace = interrupted - began  # the busier the machine is, the longer everything takes
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate()
    assert process.returncode == 130, errors
    assert time.monotonic() - interrupted < 10 + pace
    assert "resume" in errors
    assert output == ""
    assert not any(map(is_alive, workers))
    assert len({path.name.split(".")[0] for path in (folder / "partial").iterdir()}) >= 1

    process = start("engram.cli", "resume", *where)
    wait_for_learning(process, folder)
    workers = workers_of(folder)
    process.kill()
    process.communicate()
    assert wait_until(lambda: not any(map(is_alive, workers)), 5 + pace)

    process = start("engram.cli", "resume", *where)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    settings = {**SMALL, "epochs": 250}
    runs = [prepare("split-digits", "ewc", tasks=2, seed=seed, settings=settings) for seed in (0, 1)]
    alone = Store(tmp_path / "alone")
    execute(runs, alone)
    alone.close()
    for run, shown in zip(runs, json.loads(output)["runs"], strict=True):
        assert shown["key"] == run.key
        assert facts(run, folder) == facts(run, tmp_path / "alone")


def test_a_worker_that_is_asked_to_stop_saves_its_position_and_leaves(start, store):
    run = prepare("split-digits", "finetune", tasks=2, settings=SLOW)
    node = run.root.child([0], {**run.grid[0], "epochs": 10_000})
    worker = start("engram.execute.worker", str(store.folder), str(os.getpid()))
    worker.stdin.write(json.dumps([node.to_json(), []]) + "\n")
    worker.stdin.flush()
    assert json.loads(worker.stdout.readline())["event"] == "step"
    worker.terminate()
    worker.communicate(timeout=20)
    assert worker.returncode == 0
    assert store.partial(node.key).plain["learner"]["step"] > 0
