# SPDX-License-Identifier: MIT
"""Send blocks to a device by way of an MQTT broker. Needs the extra "mqtt" (paho-mqtt)."""

import queue
import ssl
import time

from acclimate_host.capsules.blocks import Sender
from acclimate_host.errors import AcclimateError, Missing

_TOPIC_BYTES = 65535 - len("/down")  # MQTT counts the bytes of a topic in 16 bits


def send(
    data,
    topic,
    host="127.0.0.1",
    port=1883,
    *,
    block_bytes=240,
    user=None,
    password=None,
    tls=False,
    cafile=None,
    timeout_s=2,
    tries=30,
    progress=None,
    drop=lambda packet: False,
):
    """Send a file to the device that listens at a topic; return (packets, seconds).

    :param tls: nothing is sent without it; :param cafile: of certificates that count, else the
        system's. :param drop: tells which packets are lost on the way; for trials of a bad line.
    :raises Refused: the device refuses it. AcclimateError: no broker, or no answer, or a topic
        that no message can be sent to.
    """
    if not topic or set(topic) & set("+#\0") or len(topic.encode()) > _TOPIC_BYTES:
        raise AcclimateError(
            f"topic: expected 1 to {_TOPIC_BYTES} bytes without + and #, got {topic[:60]!r}"
        )
    try:
        import paho.mqtt.client as paho
    except ImportError:
        raise Missing("MQTT needs paho-mqtt: pip install 'acclimate[mqtt]'") from None
    packets = queue.Queue()
    subscribed = queue.Queue()
    client = paho.Client(paho.CallbackAPIVersion.VERSION2)
    client.on_connect = lambda c, *_: c.subscribe(topic + "/up", qos=1)
    client.on_subscribe = lambda *_: subscribed.put(True)
    client.on_message = lambda _c, _u, message: packets.put(message.payload)
    if user is not None:
        client.username_pw_set(user, password)
    if tls:
        client.tls_set_context(ssl.create_default_context(cafile=cafile))
    try:
        client.connect(host, port)
    except OSError as error:
        raise AcclimateError(f"broker {host}:{port}: {error}") from None

    def put(packet):
        if not drop(packet):
            client.publish(topic + "/down", packet, qos=0)

    def get(wait_s):
        try:
            packet = packets.get(timeout=wait_s) if wait_s else packets.get_nowait()
        except queue.Empty:
            return None
        return None if drop(packet) else packet

    client.loop_start()
    try:
        try:
            subscribed.get(timeout=10)
        except queue.Empty:
            raise AcclimateError(f"broker {host}:{port}: no subscription in 10 s") from None
        sender, started = Sender(data, block_bytes), time.monotonic()
        sender.run(put, get, timeout_s, tries, progress)
        return sender.sent, time.monotonic() - started
    finally:
        client.loop_stop()
        client.disconnect()
