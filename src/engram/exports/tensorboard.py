"""Runs for TensorBoard: a folder a run, written by its own event writer, without TensorFlow."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engram.exports.tracking import defined_points, plain_name, title
from engram.extras import need
from engram.record import Record
from engram.reports.summary import done
from engram.reports.tables import written


def to_tensorboard(records: Sequence[Record], folder: Path) -> str:
    """Put every finished run that is not there yet into the folder, whole or not at all."""
    need("tensorboard", "tracking")
    writer = need("torch.utils.tensorboard", "tracking").SummaryWriter
    new = 0
    for record in done(records):
        place = folder / plain_name(record.stream) / title(record)
        if not place.exists():
            beside = place.with_name(f".writing-{place.name}")
            shutil.rmtree(beside, ignore_errors=True)
            _write(record, writer(log_dir=os.fspath(beside)))
            os.replace(beside, place)
            new += 1
    return f"{new} runs to {folder} ({len(done(records)) - new} were there); look with: tensorboard --logdir {folder}"


def _write(record: Record, writer: Any) -> None:
    with writer:
        for name, value, step in defined_points(record):
            writer.add_scalar(name, value, step)
        settings = {"protocol": record.marked_protocol, "head": record.head, **record.settings}
        writer.add_text("settings", "\n".join(f"    {name}={written(value)}" for name, value in settings.items()))
        if record.warning:
            writer.add_text("warning", record.warning)
