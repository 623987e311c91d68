# SPDX-License-Identifier: MIT
"""The small MQTT client against brokers that misbehave, over real sockets."""

import socket
import threading

import pytest

from acclimate.pull import Mqtt, MqttError, receive, sockets

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


def ticking(monkeypatch, step_s):
    """Let so many seconds pass at each look at the clock."""
    now = [0]

    def seconds():
        now[0] += step_s
        return now[0]

    monkeypatch.setattr(sockets, "seconds", seconds)


def test_a_packet_that_comes_byte_by_byte_has_an_end(monkeypatch):
    with Broker(CONNACK + b"\x30\xff\x1f" + b"x" * 64, closes=False) as broker:
        one = client(broker)
        one.connect()
        ticking(monkeypatch, 9)
        one._socket = Bytewise(one._socket)
        with pytest.raises(MqttError, match="too slow"):
            one.wait_msg()


class Bytewise:
    """A line that gives one byte at a time."""

    def __init__(self, line):
        self.line = line

    def recv(self, n):
        return self.line.recv(1)


def test_a_broker_that_talks_of_something_else_is_not_listened_to_for_ever(monkeypatch):
    with Broker(CONNACK + b"\x30\x04\x00\x01tx" * 100, closes=False) as broker:
        one = client(broker)
        one.connect()
        ticking(monkeypatch, 5)
        with pytest.raises(MqttError, match="too slow"):
            one.subscribe("t")


class Nobody:
    """A client to whom no message comes; the board's clock is set again and again."""

    def __init__(self, monkeypatch):
        self.pings = self.looks = 0
        monkeypatch.setattr("time.time", lambda: -1e9 * self.looks)

    def set_callback(self, callback):
        pass

    def subscribe(self, topic):
        pass

    def check_msg(self):
        self.looks += 1
        assert self.looks < 1000

    def ping(self):
        self.pings += 1


def test_a_clock_that_is_set_does_not_move_the_deadline(monkeypatch):
    ticking(monkeypatch, 1)
    monkeypatch.setattr("time.sleep", lambda s: None)
    one = Nobody(monkeypatch)
    with pytest.raises(MqttError, match="no model in 100 s"):
        receive(one, type("Receiver", (), {"state": 0})(), "t", 100)
    assert 2 <= one.pings <= 7 and one.looks <= 100


def test_seconds_of_a_board_that_began_anew_are_counted_on(monkeypatch):
    monkeypatch.setattr(sockets, "seconds", lambda: 8)
    assert sockets.since(5) == 3 and sockets.since((1 << 30) // 1000 - 1) == 10
