"""Being connected to a Ray cluster, somebody's or a small one of this machine; what goes wrong there is a sentence.

Ray is imported when it is needed, and not before.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from attunebench.errors import ConfigurationError, UsageError


def ray_package() -> Any:
    """The package. Raises UsageError where it is missing."""
    try:
        import ray
    except ImportError as error:
        raise UsageError('--executor ray needs Ray: pip install ".[ray]" in the checkout of attunebench.') from error
    return ray


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[Any]:
    """Ray, connected to the cluster at the address, or to a new one on this machine; left again afterwards."""
    ray = ray_package()
    if ray.is_initialized():  # a program of the user's that has its own connection keeps it
        yield ray
        return
    if address:
        check_somebody_listens(address)
    quiet: Mapping[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address and address != "local":
            ray.init(address, **quiet)
        else:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init("local", num_cpus=workers, include_dashboard=False, object_store_memory=200 * 2**20, **quiet)
    except Exception as error:
        raise _no_cluster(address, first_line(error)) from error
    try:
        # Ray prints long messages of its own to stdout when a worker dies, whatever it is told of logging.
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            yield ray
    finally:
        ray.shutdown()


def check_somebody_listens(address: str) -> None:
    """Raises ConfigurationError where nobody does: Ray's own client would end this process."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not (host and colon and port.isdigit()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, str(error)) from error


def _no_cluster(address: str | None, why: str) -> ConfigurationError:
    where = f"at {address}" if address else "on this machine"
    return ConfigurationError(
        f"There is no Ray cluster to be had {where} ({why}); see `ray status`, or give another address with "
        "--ray-address."
    )


def machines(ray: Any) -> int:
    """Machines of the cluster that have CPUs."""
    return sum(bool(node["Alive"] and node["Resources"].get("CPU")) for node in ray.nodes())


def first_line(error: BaseException) -> str:
    """Of an error's text, without its full stop; its class where it says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")
