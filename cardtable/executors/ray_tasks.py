"""Work on the machines of a ray cluster, or on this one through ray.

Stateless tasks, not actors: when a node dies, its items go to whoever is left. Scheduling, retries and transport are
ray's. ray does an item at least once; it is answered once, because answers are taken by the number of the item.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cardtable.executors.base import WINDOW, Executor, Item, Result, Shared, in_order
from cardtable.executors.nodes import Node, Seen, refusal, this_node
from cardtable.executors.pieces import Call, make_call, open_answer, pack, perform
from cardtable.parameters import UserError

LOCAL = "local"
PATIENCE = 30.0  # seconds without any node before the work is given up
CONNECT_SECONDS = 10.0
BETWEEN_LOOKS = 5.0  # seconds between two looks at the cluster
PROXY, NOWHERE = "http_proxy", "http://127.0.0.1:9"  # nobody listens at that port


class Ray(Executor):
    """ray tasks: `address` is that of a cluster, or `local` for one on this machine that ends with `close()`."""

    def __init__(self, address: str = LOCAL, allow_mixed_nodes: bool = False, folder: Path | None = None) -> None:
        self.address = address
        self.allow_mixed_nodes = allow_mixed_nodes
        self._folder, self._seen = folder, Seen(None)
        self._ray: Any = None
        self._is_ours = False
        self._cpus, self._looked, self._last_seen = 0, -math.inf, 0.0

    def map(self, work: Callable[[Shared, Item], Result], items: Iterable[Item], shared: Shared) -> Iterator[Result]:
        call = make_call(work, shared)
        self._start()
        # Bytes in an array are read where they are; as bytes they would be copied for each task.
        there = self._ray.put(np.frombuffer(call.shared, np.uint8))
        asked = (call._replace(shared=b""), there, this_node(), self.allow_mixed_nodes)
        return in_order(lambda item: _Piece(self, self._task.remote(*asked, pack(item))), items, self._window)

    def _start(self) -> None:
        if self._ray is None:
            self._seen = Seen(self._folder)
            self._ray = _imported(self.address)
            self._is_ours = not self._ray.is_initialized()
            if self._is_ours:
                self._join()
            self._head = self._ray.get_runtime_context().gcs_address
            # An exception of an item is an answer, so ray never retries it.
            self._task = self._ray.remote(num_cpus=1, max_retries=-1)(run_piece)

    def _join(self) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address == LOCAL:
            options["include_dashboard"] = False
        try:
            if "://" not in self.address and self.address.rpartition(":")[2].isdecimal():
                _reach(self.address)  # ray would try for ten minutes
            # Without an address ray would join any cluster that it finds.
            with _asking_nobody() if self.address == LOCAL else contextlib.nullcontext():
                self._ray.init(address=self.address, **options)
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"there is no ray cluster to join at {self.address}: {reason}") from None

    def _window(self) -> int:
        self.look()
        return WINDOW * max(self._cpus, 1)

    def look(self) -> None:
        """Counts the CPUs of the cluster from time to time; UserError if there have been none for too long."""
        now = time.monotonic()
        if now < self._looked + BETWEEN_LOOKS:
            return
        try:
            _reach(self._head)  # ray would wait for a minute and then end this process
        except OSError:
            message = f"the head of the ray cluster at {self.address} is gone; what was saved can go on"
            raise UserError(message) from None
        self._cpus, self._looked = int(self._ray.cluster_resources().get("CPU", 0)), now
        if self._cpus or self._last_seen == 0.0:
            self._last_seen = now
        elif now > self._last_seen + PATIENCE:
            raise UserError(f"the ray cluster at {self.address} has no node left that works; what was saved can go on")

    def answer(self, reference: Any) -> bytes:
        try:
            while not self._ray.wait([reference], timeout=BETWEEN_LOOKS)[0]:
                self.look()
            node, answer = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"the ray cluster at {self.address} gave up: {reason}") from error
        if node is not None:
            self._seen.add(node)
        return answer

    def cancel(self, reference: Any) -> None:
        if self._ray is not None and self._ray.is_initialized():
            self._ray.cancel(reference, force=True)

    def close(self) -> None:
        if self._ray is not None and self._is_ours:
            self._ray.shutdown()
        self._ray = None


class _Piece:
    """An item under way."""

    def __init__(self, executor: Ray, reference: Any) -> None:
        self._executor, self._reference = executor, reference

    def result(self) -> Any:
        return open_answer(self._executor.answer(self._reference))

    def cancel(self) -> None:
        self._executor.cancel(self._reference)


def run_piece(
    call: Call, shared: np.ndarray, wanted: Node, allow_mixed_nodes: bool, item: bytes
) -> tuple[Node | None, bytes]:
    """The node that did a piece, and its answer. One that is not like the machine that asks does nothing."""
    if os.environ.get(PROXY) == NOWHERE:
        del os.environ[PROXY]  # was meant for ray, not for the work
    node = this_node()
    why = refusal(wanted, node, allow_mixed_nodes)
    if why:
        return None, pack((None, UserError(why), ""))
    return node, perform(call._replace(shared=shared), item)  # type: ignore[arg-type]


@contextlib.contextmanager
def _asking_nobody() -> Iterator[None]:
    """ray's processes that are started inside find no way to the web.

    With usage statistics switched off, ray still asks two addresses on the net in which cloud it is.
    """
    if PROXY in os.environ:  # whoever has one decides what passes
        yield
        return
    os.environ[PROXY] = NOWHERE
    try:
        yield
    finally:
        del os.environ[PROXY]


def _reach(address: str) -> None:
    """OSError if nobody listens there."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


def _imported(address: str) -> Any:
    """ray, told to keep to itself before it is imported."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address == LOCAL:  # what ray does on other systems: nothing listens beyond loopback
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray

    return ray
