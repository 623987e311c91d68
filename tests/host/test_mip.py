# SPDX-License-Identifier: MIT
"""What mip installs: real ``mpremote mip`` from a local server into an emulated board."""

import functools
import json
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from acclimate_host import boards
from acclimate_host.connect import merge, mip, package, why_not
from acclimate_host.connect.emulator import Emulator
from acclimate_host.connect.room import ROLES, SMALL_ROLES
from acclimate_host.connect.serial_board import SerialBoard
from harness.clock import HANG_S
from harness.runtimes import ARCHS


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """A web server of a folder, which is given with its address."""
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("arch", [mip.PURE, *boards.ARCHS])
def test_each_set_names_files_that_lie_beside_it(arch, tmp_path):
    found = mip.write(tmp_path, arch)
    roles = SMALL_ROLES if arch == "armv6m" else ROLES
    assert {"package", *roles, "pager", "mqtt", "drift"} <= found.keys()
    for name, files in found.items():
        text = json.loads((tmp_path / arch / (name + ".json")).read_text())
        assert [place for place, _ in text["urls"]] == ["acclimate/" + file for file in files]
        assert all((tmp_path / arch / file).is_file() for _, file in text["urls"])


def test_the_sets_are_what_the_installer_would_copy(tmp_path):
    if not package.natives("armv7emsp"):
        pytest.skip("no native modules for armv7emsp: make native")
    found = mip.write(tmp_path, "armv7emsp")
    without = package.natives_left_out()
    copied = package.build("armv7emsp", ROLES, without=without)
    assert set(found["package"]) == copied.keys()
    for name in set(found["package"]) - {"_manifest.mpy"}:
        assert (tmp_path / "armv7emsp" / name).read_bytes() == copied[name]
    float32 = {name + ".mpy" for name in ("_net_float32", *merge.EXTRA_NATIVES["float32"])}
    assert set(found["float32"]) - set(found["net"]) == float32


CODE = """
from acclimate import _native
from acclimate.svm import SVM
print(SVM(kernel="linear", C=1).fit([[20, 0], [70, 9]], [0, 1]).predict([66, 9]))
print(_native.reason("svm"))
"""


@pytest.mark.parametrize("name", ["esp32", pytest.param("nrf52840", marks=pytest.mark.slow)])
def test_real_mip_brings_a_room_to_an_emulated_board(server, name):
    if why_not(name):
        pytest.skip(why_not(name))
    folder, address = server
    mip.write(folder / "mip", ARCHS[name])
    board = Emulator(name)
    try:
        pty = board.start()
        command = [sys.executable, "-m", "mpremote", "connect", pty, "mip", "install"]
        for room in ("svm", "loop"):
            done = subprocess.run(
                [*command, f"{address}/mip/{ARCHS[name]}/{room}.json"],
                capture_output=True,
                text=True,
                timeout=HANG_S,
            )
            assert done.returncode == 0 and done.stdout.endswith("Done\n"), done.stdout
        with SerialBoard(pty, timeout_s=HANG_S) as opened:
            assert opened.exec(CODE, HANG_S) == "1\nloaded\n"
            assert opened.exec("from acclimate.loop import Loop", HANG_S) == ""
    finally:
        board.close()
