"""Ray, as far as Engram needs it: joining a cluster or starting one here, quietly, and sentences where that fails."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engram.errors import BadSetting, ClusterTrouble

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 20.0
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to anywhere
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # without it Ray warns of what it will do about GPUs one day
}
_PROBE = "import sys, ray; ray.init(sys.argv[1], log_to_driver=False)"


class Cluster:
    """A connection to Ray. What was started for it is stopped with it; what was there before stays."""

    def __init__(self, address: str | None, cpus: int):
        """Without an address, that of the environment; without one there, a Ray of this machine's own."""
        self.ray = _imported()
        self.is_ours = not self.ray.is_initialized()
        if self.is_ours:
            self._join(address or os.environ.get("RAY_ADDRESS"), cpus)
        self.cpus = int(self.ray.cluster_resources().get("CPU", 0))

    def _join(self, address: str | None, cpus: int) -> None:
        logging.getLogger("ray").setLevel(logging.ERROR)
        self._be_quiet()
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
        if address is None or address == "local":
            options |= {"address": "local", "num_cpus": cpus, "include_dashboard": False}
            options |= {"_node_ip_address": "127.0.0.1"}
        else:
            _require_answer(address)
            options |= {"address": address}
        try:
            with _signals_kept():
                self.ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError, OSError, self.ray.exceptions.RayError) as error:
            where = f"at {address}" if address else "on this machine"
            raise ClusterTrouble(f"Ray {where} cannot be used ({_short(error)}); see docs/cluster.md") from error

    def _be_quiet(self) -> None:
        """Ray writes a long paragraph to standard output about every worker that dies, and no option prevents it."""
        inside: Any = getattr(getattr(self.ray, "_private", None), "worker", None)
        if hasattr(inside, "print_to_stdstream"):
            inside.print_to_stdstream = lambda *_, **__: None

    def leave(self) -> None:
        if self.is_ours:
            self.ray.shutdown()


def _imported() -> Any:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise BadSetting("the engine 'ray' needs Ray, which is not here; pip install 'engram[cluster]'") from error
    return ray


def _require_answer(address: str) -> None:
    """Ray itself would try for minutes. Another process asks, because a call into Ray cannot be interrupted."""
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if "://" in address or not colon or not host or not port.isdigit():
        raise BadSetting(
            f"the Ray address '{address}' is not host:port; give the cluster's head, as in 10.0.0.1:6379, or auto"
        )
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        subprocess.run([sys.executable, "-c", _PROBE, address], capture_output=True, timeout=ANSWER_SECONDS)
    except (OSError, OverflowError, subprocess.TimeoutExpired) as error:
        why = "no word from Ray" if isinstance(error, subprocess.TimeoutExpired) else _short(error)
        raise ClusterTrouble(
            f"no Ray cluster answers at {address} ({why}); start one with 'ray start --head', or give another "
            "--ray-address"
        ) from error


def _short(error: Exception) -> str:
    """The first line of what somebody else's error says."""
    lines = str(getattr(error, "strerror", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray puts a handler of its own in the place of ours, which saves what there is."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
