# SPDX-License-Identifier: MIT
"""MQTT over TLS through a real broker: the certificate counts, and nothing goes without it."""

import os
import shutil
import ssl
import threading

import capsule_cases as cases
import pytest

from acclimate.pull import Mqtt, MqttError, Receiver, receive
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError

pytest.importorskip("paho.mqtt.client")
from test_client_tls import certificates  # noqa: E402, F401

from acclimate_host.capsules.mqtt import send  # noqa: E402
from harness.broker import mosquitto, need  # noqa: E402
from harness.clock import HANG_S  # noqa: E402

TOPIC = "acclimate/7/18"


@pytest.fixture(scope="module")
def broker(certificates, tmp_path_factory):  # noqa: F811
    need(None if shutil.which("openssl") else "openssl is needed")
    certificate, key = certificates[0]
    os.chmod(key, 0o644)  # the broker may give up its rights before it reads
    for folder in (key.parent, *list(key.parents)[:3]):
        os.chmod(folder, 0o755)

    def configured(port):
        file = tmp_path_factory.mktemp("broker") / "mosquitto.conf"
        file.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n"
            f"certfile {certificate}\nkeyfile {key}\n"
        )
        return file

    with mosquitto(configured) as port:
        yield port


def context(certificate):
    return ssl.create_default_context(cafile=str(certificate))


def test_a_model_arrives_over_tls(broker, certificates):  # noqa: F811
    certificate = certificates[0][0]
    store = cases.store(cases.flash(16))
    client = Mqtt("device-18", "localhost", broker, context=context(certificate))
    client.connect()
    taken = []
    device = threading.Thread(
        target=lambda: taken.append(receive(client, Receiver(store, 8, 128), TOPIC, HANG_S)),
        daemon=True,
    )
    device.start()
    new = cases.capsule(2, cases.weights(2000, 2))
    send(new, TOPIC, "localhost", broker, tls=True, cafile=certificate, block_bytes=128)
    device.join(HANG_S)
    assert taken == [True] and store.state == "verified"
    client.disconnect()


def test_a_broker_with_another_certificate_gets_nothing(broker, certificates):  # noqa: F811
    other = certificates[1][0]
    with pytest.raises(MqttError, match="TLS"):
        Mqtt("device-18", "localhost", broker, context=context(other)).connect()
    with pytest.raises(AcclimateError, match="certificate"):
        send(b"x" * 200, TOPIC, "localhost", broker, tls=True, cafile=other)


def test_a_client_without_tls_does_not_reach_a_broker_with_it(broker):
    with pytest.raises(OSError):
        Mqtt("device-18", "localhost", broker, timeout_s=2).connect()


_ON_DESKTOP = """
import ssl
from acclimate.pull import Mqtt
c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
c.verify_mode = ssl.CERT_REQUIRED
c.load_verify_locations(cadata={der!r})
m = Mqtt("device-19", "localhost", {port}, context=c)
try:
    m.connect()
    got = []
    m.set_callback(lambda t, b: got.append(bytes(b)))
    m.subscribe("echo")
    m.publish("echo", b"hello", qos=1)
    while not got:
        m.check_msg()
    print(got[0])
    m.disconnect()
except OSError as error:
    print("refused", type(error).__name__)
"""


def test_micropython_speaks_tls_and_checks_the_certificate(broker, certificates):  # noqa: F811
    reason = why_not("desktop")
    if reason:
        pytest.skip(reason)
    with open_board("desktop") as board:
        install(board, only=["pull", "pull.mqtt"], yes=True)
        board.soft_reset()
        for (certificate, _), wanted in zip(
            certificates, ("b'hello'", "refused MqttError"), strict=True
        ):
            der = ssl.PEM_cert_to_DER_cert(certificate.read_text())
            answer = board.exec(_ON_DESKTOP.format(der=der, port=broker), HANG_S)
            assert answer.strip() == wanted
