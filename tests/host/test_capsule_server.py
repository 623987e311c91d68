# SPDX-License-Identifier: MIT
"""From a trained model to devices: the four lines, the web server, the cable."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

import capsule_cases as cases
import pytest

from acclimate.pull import Client
from acclimate.store import WEIGHTS, Store, Wanted
from acclimate.svm import SVM
from acclimate_host.capsules.build import read
from acclimate_host.capsules.push import push
from acclimate_host.capsules.server import CapsuleServer
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.install import install
from acclimate_host.errors import Refused
from acclimate_host.testing.nor import NorFlash
from harness.runtimes import copy_model

X = [[20, 0], [22, 1], [25, 0], [60, 9], [64, 8], [70, 9]]
Y = [0, 0, 0, 1, 1, 1]


@pytest.fixture
def server(tmp_path):
    return CapsuleServer(SVM().fit(X, Y), tmp_path / "repository", 7, cases.KEY)


@pytest.fixture
def served(server):
    """The repository behind ``acclimate serve`` in a process of its own."""
    command = [sys.executable, "-m", "acclimate_host.cli", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, str(server.repository.folder)], stdout=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    yield re.search(r"http://\S+", line).group()
    process.terminate()
    process.wait(10)


def device():
    return Store(NorFlash(34 * 256, 256), Wanted(model=7, key=cases.KEY), chunk_bytes=64)


def test_a_trained_machine_reaches_a_device_and_predicts_there(server, served):
    import io

    server.save()
    server.export()
    store = device()
    assert Client(store, served).pull()
    store.trial()
    offset, size = store.section(WEIGHTS)
    machine = SVM.load(io.BytesIO(store.flash.data[offset : offset + size]))
    assert [machine.predict(row) for row in X] == Y


def test_web_server_gives_etags_parts_and_caching(server, served):
    server.export()
    manifest = server.repository.manifest(7)
    url = f"{served}/objects/{manifest.entries[0].name}"
    whole = urllib.request.urlopen(url)
    assert "immutable" in whole.headers["Cache-Control"]
    body = whole.read()
    asked = urllib.request.Request(url, headers={"Range": "bytes=100-"})
    part = urllib.request.urlopen(asked)
    assert part.status == 206 and part.read() == body[100:]
    url = f"{served}/models/7/all.man"
    first = urllib.request.urlopen(url)
    assert first.headers["Cache-Control"] == "no-cache"
    asked = urllib.request.Request(url, headers={"If-None-Match": first.headers["ETag"]})
    with pytest.raises(urllib.error.HTTPError, match="304"):
        urllib.request.urlopen(asked)
    for path in ("/", "/models/", "/objects/../../etc/passwd", "/models/7/none.man"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(served + path)


def test_versions_rise_and_scikit_learn_is_imported(server):
    from sklearn.svm import SVC

    assert read(server.save()).version == 1
    server.export()
    server.model = SVC(kernel="linear").fit(X, Y)
    capsule = read(server.save())
    assert (
        capsule.version == 2
        and capsule.kind == "SVM"
        and capsule.authentic(cases.KEY, server.capsule)
    )
    assert len(server.export().entries) >= 1


def test_devices_with_a_new_key_are_served_when_it_is_said(server):
    server.save()
    server.export()
    key = b"another key, of 32 bytes as well"
    other = CapsuleServer(server.model, server.repository.folder, 7, key)
    with pytest.raises(Refused, match="new-key"):
        other.export()
    assert len(other.export(new_key=True).entries) == 1


PULL = """
import json, sys
sys.path.insert(0, {device!r})
from acclimate.store import WEIGHTS, Wanted
from acclimate.pull import Client
from nor import NorFlash
from acclimate.store import Store
store = Store(NorFlash(34 * 256, 256), Wanted(model=7, key={key!r}), chunk_bytes=64)
client = Client(store, {url!r}, wait_s=0)
if {is_async}:
    import asyncio
    found = asyncio.run(client.apull())
else:
    found = client.pull()
store.trial()
store.confirm()
again = client.pull()
offset, size = store.section(WEIGHTS)
print(json.dumps([found, again, client.reason, sum(store.flash.data[offset:offset + size])]))
"""


@pytest.mark.parametrize("is_async", [False, True])
def test_micropython_pulls_over_its_own_sockets(server, served, is_async, tmp_path):
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    server.save()
    server.export()
    weights = dict(read(server.capsule).sections)["WEIGHTS"]
    with open_board("desktop", root=tmp_path / "board") as board:
        install(board, only=["pull"], yes=True)
        copy_model(board)
        text = PULL.format(device="lib", key=cases.KEY, url=served, is_async=is_async)
        found = json.loads(board.exec(text))
    assert found == [True, False, "unchanged", sum(weights)]


SETUP = """
import qboard
from acclimate.store import Wanted
from acclimate.flash import BlockFlash
from acclimate.store import Store
flash = BlockFlash(qboard.Flash(qboard.RAW_START, 10 * qboard.PAGE_BYTES))
store = Store(flash, Wanted(model=7, key={key!r}))
"""


def test_a_board_takes_it_over_the_cable_and_later_only_the_difference(tmp_path):
    if why_not("nrf52840"):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why_not("nrf52840"))
    content = cases.weights(6000, 1)
    sections = {"PROGRAM": b"p" * 64, "WEIGHTS": content}
    server = CapsuleServer(sections, tmp_path / "repository", 7, cases.KEY)
    setup = SETUP.format(key=cases.KEY)
    with open_board("nrf52840") as board:
        install(board, only=["store"], yes=True)
        server.save()
        server.export()
        first = server.deploy([board], setup)[board.name]
        assert first == len(server.capsule)
        assert server.deploy([board], setup)[board.name] == 0
        server.model = {**sections, "WEIGHTS": cases.tuned(content, 3, 1)}
        server.save()
        second = server.deploy([board], setup)[board.name]
        assert second < first / 2
        board.soft_reset()
        board.exec(setup)
        want = dict(read(server.capsule).sections)["WEIGHTS"]
        found = board.exec(
            "from acclimate.store import WEIGHTS; v=store.view(WEIGHTS)\n"
            "print(store.state, bytes(v[:8]).hex(), len(v))"
        )
        assert found.split() == ["confirmed", want[:8].hex(), "6000"]
        with pytest.raises(Refused, match="new region layout"):
            push(board, cases.capsule(9, bytes(20000)), setup=setup)
