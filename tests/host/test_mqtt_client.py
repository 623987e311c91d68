# SPDX-License-Identifier: MIT
"""The small MQTT client against brokers that misbehave, over real sockets."""

import socket
import threading

import pytest

from acclimate.pull import Mqtt, MqttError

CONNACK = b"\x20\x02\x00\x00"


class Broker:
    """Answers the first packet with fixed bytes, then closes or keeps silent."""

    def __init__(self, answer, closes=True):
        self.answer, self.closes, self.seen = answer, closes, b""
        self._listen = socket.create_server(("127.0.0.1", 0))
        self.port = self._listen.getsockname()[1]
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._listen.close()
        self._thread.join(5)

    def _serve(self):
        line, _ = self._listen.accept()
        with line:
            self.seen = line.recv(4096)
            line.sendall(self.answer)
            if not self.closes:
                self._end.wait(10)


def client(broker, timeout_s=60, **options):
    return Mqtt("device", "127.0.0.1", broker.port, timeout_s=timeout_s, **options)


def test_the_connection_names_user_and_client():
    with Broker(CONNACK) as broker:
        client(broker, user="u", password="pw").connect()
    assert broker.seen == (
        b"\x10\x19\x00\x04MQTT\x04\xc2\x00\x3c\x00\x06device\x00\x01u\x00\x02pw"
    )


@pytest.mark.parametrize(
    "answer,text",
    [
        (b"", "closed the connection"),
        (b"\x20", "closed the connection"),
        (b"\x20\x02\x00\x05", "refuses the connection"),
        (b"HTTP/1.1 400 Bad", "closed|refuses"),
        (b"\x20\xff\xff\xff\xff\x01", "a length of more than 4 bytes"),
        (b"\x20\xff\xff\x7f", "a packet of 2097151 bytes, 4096 are taken"),
    ],
)
def test_bad_answers_are_one_error(answer, text):
    with Broker(answer) as broker:
        with pytest.raises(MqttError, match=text):
            client(broker).connect()


def test_silence_ends():
    with Broker(b"", closes=False) as broker:
        with pytest.raises(OSError):
            client(broker, 0.1).connect()


@pytest.mark.parametrize("body", [b"\x00\x09abc", b"\x32\x04\x00\x02ab"[2:]])
def test_a_message_without_a_whole_topic_is_refused(body):
    kind = b"\x32" if body == b"\x00\x02ab" else b"\x30"
    with Broker(CONNACK + kind + bytes([len(body)]) + body) as broker:
        one = client(broker)
        one.connect()
        with pytest.raises(MqttError, match="without a whole topic"):
            one.wait_msg()


def test_messages_and_their_acknowledgement():
    messages = []
    with Broker(CONNACK + b"\x32\x08\x00\x01t\x00\x07abc" + b"\xd0\x00", False) as broker:
        one = client(broker)
        one.set_callback(lambda topic, message: messages.append((topic, message)))
        one.connect()
        one.wait_msg()
        one.wait_msg()  # an answer to a ping
        one.check_msg()  # nothing is there
        one.disconnect()
    assert messages == [(b"t", b"abc")]
