"""TensorBoard events, written at once: what was added is in the file, and a disk that is full is an OSError here.

TensorBoard's own writer leaves the work to a thread, which nobody hears when it fails.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

PATTERN = "events.out.tfevents.*"


class Events:
    """A new file of events in a folder."""

    def __init__(self, folder: Path) -> None:
        now = time.time()
        self._file = (folder / f"events.out.tfevents.{now:.6f}.{os.getpid()}").open("wb")
        self._records = RecordWriter(self._file)
        self._write(Event(wall_time=now, file_version="brain.Event:2"))

    def add(self, step: int, values: Mapping[str, float]) -> None:
        summary = Summary(value=[Summary.Value(tag=name, simple_value=value) for name, value in values.items()])
        self._write(Event(wall_time=time.time(), step=step, summary=summary))

    def _write(self, event: Event) -> None:
        self._records.write(event.SerializeToString())
        self._file.flush()

    def close(self) -> None:
        self._file.close()
