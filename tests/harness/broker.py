# SPDX-License-Identifier: MIT
"""A real MQTT broker (mosquitto) on this machine."""

import contextlib
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from harness.clock import HANG_S, wait_until

_MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"


def need(reason):
    """Skip for a reason, or fail where everything has to run."""
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@contextlib.contextmanager
def mosquitto(configured=None):
    """Yield the port of a broker; configured: writes its settings for a port, gives the file."""
    need(None if Path(_MOSQUITTO).exists() else "mosquitto is not installed")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    arguments = ["-c", str(configured(port))] if configured else ["-p", str(port)]
    process = subprocess.Popen([_MOSQUITTO, *arguments], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: process.poll() is not None or _listens(port))
        assert process.poll() is None
        yield port
    finally:
        process.terminate()
        process.wait(HANG_S)


def _listens(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
