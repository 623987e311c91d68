# SPDX-License-Identifier: MIT
"""Blocks through a real broker (mosquitto) to the MicroPython desktop binary, with losses."""

import random
import threading

import capsule_cases as cases
import pytest

from acclimate_host.capsules.encryption import seal
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, Refused
from acclimate_host.paths import device_package, repository

pytest.importorskip("paho.mqtt.client")
from acclimate_host.capsules.mqtt import send  # noqa: E402
from harness import prose  # noqa: E402
from harness.broker import mosquitto, need  # noqa: E402
from harness.clock import HANG_S  # noqa: E402
from harness.runtimes import copy_model  # noqa: E402

TOPIC = "acclimate/7/17"


@pytest.fixture(scope="module")
def broker():
    with mosquitto() as port:
        yield port


DEVICE = """
from acclimate.pull import Receiver
from acclimate.store import Wanted
from acclimate.pull import Mqtt, receive
from nor import NorFlash
from acclimate.store import Store
store = Store(NorFlash(34 * 256, 256), Wanted(model=7, key={key!r}), chunk_bytes=64)
client = Mqtt("device-17", "127.0.0.1", {port})
client.connect()
receiver = Receiver(store, 8, 128, object_key={object_key!r})
print(receive(client, receiver, "{topic}", 600), receiver.reason)
client.disconnect()
"""


class Device(threading.Thread):
    """The desktop binary, which takes a transfer in another thread."""

    def __init__(self, board, port, object_key=None):
        super().__init__(daemon=True)
        self.board = board
        names = {"key": cases.KEY, "port": port, "topic": TOPIC, "object_key": object_key}
        self.code = DEVICE.format(**names)
        self.output, self.error = "", None

    def run(self):
        try:
            self.output = self.board.exec(self.code, HANG_S)
        except AcclimateError as error:
            self.error = error

    def loses(self, _packet):
        """No packet; but nobody waits for a device that has failed."""
        if self.error:
            raise self.error
        return False


@pytest.fixture(scope="module")
def board():
    need(why_not("desktop"))
    with open_board("desktop") as opened:
        install(opened, only=["pull", "pull.mqtt"], yes=True, extras=("encrypted",))
        copy_model(opened)
        opened.soft_reset()
        yield opened


@pytest.mark.case("C5")
@pytest.mark.parametrize("loss,object_key", [(0, None), (0.2, None), (0, bytes(range(32)))])
def test_a_model_arrives_over_a_real_broker(broker, board, loss, object_key):
    new = cases.capsule(2, cases.weights(3000, 2))
    device = Device(board, broker, object_key)
    device.start()
    draw = random.Random(4)
    packets, _ = send(
        seal(new, object_key) if object_key else new,
        TOPIC,
        port=broker,
        block_bytes=128,
        timeout_s=0.4,
        tries=1000,
        drop=lambda packet: device.loses(packet) or draw.random() < loss,
    )
    device.join(HANG_S)
    assert device.output.split() == ["True"]
    assert packets >= len(new) // 128
    board.exec("store.confirm()")
    text = board.exec(
        f"_d = bytearray({len(new)})\nstore.flash.readinto(store.slots.start(store.active), _d)\n"
        "from binascii import hexlify\nprint(hexlify(_d).decode())"
    )
    assert bytes.fromhex(text) == new


def test_the_block_of_the_page_takes_a_model(broker, tmp_path):
    need(why_not("desktop"))
    text = (repository() / "docs" / "serving.md").read_text(encoding="utf-8")
    code = next(code for code in prose.programs(text) if "Mqtt(" in code)
    code = code.replace('"192.168.1.5"', f'"127.0.0.1", {broker}').replace("acclimate/7/17", TOPIC)
    (tmp_path / "fleet.key").write_bytes(cases.KEY)
    with open_board("desktop", root=tmp_path, path=[device_package().parent]) as opened:
        device = Device(opened, broker)
        device.code = code + "\nprint(store.state)"
        device.start()
        new = cases.capsule(2, cases.weights(3000, 2))
        how = {"port": broker, "block_bytes": 240, "timeout_s": 0.4, "tries": 1000}
        send(new, TOPIC, **how, drop=device.loses)
        device.join(HANG_S)
        assert device.output.split() == ["trial"]


def test_a_refusal_reaches_the_sender(broker, board):
    device = Device(board, broker)
    device.start()
    with pytest.raises(Refused, match="authenticity"):
        send(
            cases.capsule(2, key=bytes(32)),
            TOPIC,
            port=broker,
            block_bytes=128,
            timeout_s=0.4,
            tries=1000,
            drop=device.loses,
        )
    device.join(HANG_S)
    assert device.output.split() == ["False", "authenticity"]


def test_no_broker_and_no_device_are_named(broker):
    with pytest.raises(AcclimateError, match="no answer from the device"):
        send(cases.capsule(2), "acclimate/nobody", port=broker, timeout_s=0.05, tries=2)
    with pytest.raises(AcclimateError, match="broker 127.0.0.1:1"):
        send(cases.capsule(2), TOPIC, port=1)
