# SPDX-License-Identifier: MIT
"""The MQTT client alone, on a line that is no network: what it sends, takes, refuses and ends."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from refusal import raised

from acclimate.pull import Mqtt, MqttError, mqtt, receive, sockets

CONNACK = b"\x20\x02\x00\x00"


class Line:
    """A connected socket that gives `data`, at most `piece` bytes at a time, then ends."""

    def __init__(self, data=CONNACK, piece=9999):
        self.data, self.piece, self.sent, self.is_open = data, piece, b"", True
        self.now = 0

    def recv(self, n):
        n = min(n, self.piece)
        part, self.data = self.data[:n], self.data[n:]
        return part

    def sendall(self, data):
        self.sent += data

    def close(self):
        self.is_open = False


class On:
    """Connects to a Line while a test runs, and stands for the clock."""

    def __init__(self, line, step_s=0):
        self.line, self.step_s, self.asked, self.now = line, step_s, None, 0

    def __enter__(self):
        self.kept = sockets.connect, sockets.seconds

        def connect(*where):
            self.asked = where
            return self.line

        def seconds():
            self.now += self.step_s
            return self.now

        sockets.connect, sockets.seconds = connect, seconds
        return self

    def __exit__(self, *_):
        sockets.connect, sockets.seconds = self.kept


def connected(data=b"", **options):
    """(client, line) behind a greeting, and then data."""
    line = Line(CONNACK + data, **options)
    one = Mqtt("me", "host")
    with On(line):
        one.connect()
    line.sent = b""
    return one, line


# ---- connections -------------------------------------------------------------------------------


def test_a_second_connection_closes_the_first():
    one, first = connected()
    second = Line()
    with On(second):
        one.connect()
    assert not first.is_open and second.is_open and second.sent[0] == 0x10


def test_a_greeting_says_who_and_how():
    for options, flags, rest in (
        ({}, 2, b""),
        ({"user": "u"}, 0x82, b"\x00\x01u"),
        ({"user": "u", "password": "pw"}, 0xC2, b"\x00\x01u\x00\x02pw"),
    ):
        line = Line()
        with On(line) as on:
            Mqtt("me", "host", **options).connect()
        assert on.asked == ("host", 1883, 10)
        body = b"\x00\x04MQTT\x04" + bytes([flags]) + b"\x00\x3c\x00\x02me" + rest
        assert line.sent == b"\x10" + bytes([len(body)]) + body and line.is_open
    with On(Line()) as on:
        Mqtt("me", "host", 99, keepalive_s=258, timeout_s=3).connect()
    assert on.asked == ("host", 99, 3) and on.line.sent[10:12] == b"\x01\x02"


def test_tls_goes_to_its_own_port_and_nothing_is_sent_without_it():
    class Context:
        def __init__(self, error=None):
            self.error = error

        def wrap_socket(self, sock, server_hostname):
            assert server_hostname == "host" and not sock.sent
            if self.error:
                raise self.error
            return sock

    with On(Line()) as on:
        Mqtt("me", "host", context=Context()).connect()
    assert on.asked[1] == 8883 and on.line.sent
    for error in (OSError(5), ValueError("bad certificate")):
        with On(Line()) as on:
            one = Mqtt("me", "host", context=Context(error))
            assert "TLS: " in raised(MqttError, one.connect)
        assert not on.line.sent and not on.line.is_open


def test_a_broker_that_refuses_is_told_why_and_left():
    for code, word in (
        (1, "its protocol"),
        (2, "client_id"),
        (3, "not available"),
        (4, "user or password"),
        (5, "no right"),
        (6, "code 6"),
        (255, "code 255"),
    ):
        with On(Line(b"\x20\x02\x00" + bytes([code]))) as on:
            one = Mqtt("me", "host")
            assert word in raised(MqttError, one.connect)
            assert not on.line.is_open and "not connected" in repr(one)
    for answer, word in (
        (b"", "closed"),
        (b"\x20\x02\x00", "closed"),
        (b"\x20\x01\x00", "no answer"),
        (b"\x20\x03\x00\x00\x00", "no answer"),
        (b"\x30\x02\x00\x00", "no answer"),
        (b"HTTP/1.1 400 Bad Request" + bytes(80), "no answer"),
    ):
        with On(Line(answer)) as on:
            assert word in raised(MqttError, Mqtt("me", "host").connect), answer
            assert not on.line.is_open


def test_what_needs_a_connection_says_so():
    one, line = connected()
    assert "not connected" not in repr(one)
    for _ in range(2):
        one.disconnect()
    assert line.sent == b"\xe0\x00" and not line.is_open
    for call in (one.ping, one.wait_msg, one.check_msg, lambda: one.publish("t", b"x")):
        assert "not connected" in raised(MqttError, call)
    assert "not connected" in raised(MqttError, Mqtt("me", "host").subscribe, "t")

    class Broken(Line):
        def sendall(self, data):
            raise OSError(32)

    one._socket = line = Broken()
    raised(OSError, one.disconnect)
    assert not line.is_open and "not connected" in repr(one)


# ---- packets -----------------------------------------------------------------------------------


def test_messages_go_out_whole_with_their_length():
    for size in (0, 1, 124, 125, 16380, 16381):
        one, line = connected()
        one.publish("t", bytes(size))
        n = size + 3
        length = bytes([n]) if n < 128 else bytes([n & 127 | 128, n >> 7])
        if n >= 16384:
            length = bytes([n & 127 | 128, n >> 7 & 127 | 128, n >> 14])
        assert line.sent == b"\x30" + length + b"\x00\x01t" + bytes(size)
    one, line = connected()
    one.publish(b"t", "text", retain=True)
    assert line.sent == b"\x31\x07\x00\x01ttext"
    one, line = connected()
    one.ping()
    assert line.sent == b"\xc0\x00"


def test_a_message_of_qos_1_waits_for_its_own_answer():
    taken = []
    between = b"\x30\x04\x00\x01xy" + b"\x40\x02\x00\x09" + b"\xd0\x00"
    one, line = connected(between + b"\x40\x02\x00\x01" + b"\x40\x02\x00\x02" + b"rest")
    one.set_callback(lambda topic, message: taken.append((topic, message)))
    one.publish("t", b"x", qos=1)
    assert line.sent == b"\x32\x06\x00\x01t\x00\x01x" and taken == [(b"x", b"y")]
    one.publish("t", b"x", qos=1)
    assert line.sent[8:] == b"\x32\x06\x00\x01t\x00\x02x" and line.data == b"rest"


def test_numbers_of_packets_begin_anew_and_are_never_0():
    one, line = connected(b"\x40\x02\xff\xff\x40\x02\x00\x01")
    one._packet_id = 65534
    one.publish("t", b"", qos=1)
    one.publish("t", b"", qos=1)
    assert line.data == b""


def test_a_subscription_is_granted_or_refused():
    one, line = connected(b"\x90\x03\x00\x01\x01")
    one.subscribe("a/b")
    assert line.sent == b"\x82\x08\x00\x01\x00\x03a/b\x01"
    one, line = connected(b"\x90\x03\x00\x01\x80")
    assert "refuses the subscription" in raised(MqttError, one.subscribe, b"a", 0)
    assert line.sent == b"\x82\x06\x00\x01\x00\x01a\x00"


def test_messages_that_come_are_handed_on_and_acknowledged():
    taken = []
    for packet, found, answer in (
        (b"\x30\x06\x00\x01tabc", (b"t", b"abc"), b""),
        (b"\x32\x08\x00\x01t\x01\x07abc", (b"t", b"abc"), b"\x40\x02\x01\x07"),
        (b"\x3b\x05\x00\x01t\x01\x07", (b"t", b""), b"\x40\x02\x01\x07"),
        (b"\x30\x02\x00\x00", (b"", b""), b""),
        (b"\xd0\x00", None, b""),
    ):
        for piece in (1, 2, 99):
            one, line = connected(packet, piece=piece)
            one.wait_msg()  # without a callback it is passed over
            assert line.sent == answer
            one, line = connected(packet, piece=piece)
            del taken[:]
            one.set_callback(lambda topic, message: taken.append((topic, message)))
            one.wait_msg()
            assert taken == ([found] if found else []) and line.sent == answer


def test_what_is_not_mqtt_is_told_by_name():
    for packet, word in (
        (b"", "closed"),
        (b"\x30", "closed"),
        (b"\x30\x05\x00\x01t", "closed"),
        (b"\x30\x00", "without a topic"),
        (b"\x30\x01\x00", "without a topic"),
        (b"\x30\x02\x00\x01", "without a whole topic"),
        (b"\x32\x03\x00\x01t", "without a whole topic"),
        (b"\x32\x04\x00\x01t\x00", "without a whole topic"),
        (b"\x30\x80\x80\x80\x80\x01", "more than 4 bytes"),
        (b"\x30\x81\x20" + bytes(4097), "a packet of 4097 bytes, 4096 are taken"),
    ):
        one, line = connected(packet)
        assert word in raised(MqttError, one.wait_msg), packet
    one, line = connected(b"\xd0\x80\x20" + bytes(4096) + b"\xd0\x80\x80\x00")
    one.wait_msg()
    one.wait_msg()
    assert line.data == b""


def test_noise_ends_in_an_error_of_the_broker():
    seed = 1
    for _ in range(60):
        noise = bytearray(300)
        for i in range(300):
            seed = (seed * 1103515 + 12345) & 0x3FFFFFFF
            noise[i] = seed >> 11 & 255
        one, line = connected(bytes(noise))
        try:
            for _ in range(301):
                one.wait_msg()
        except MqttError:
            continue
        raise AssertionError("301 packets in 300 bytes")


def test_what_takes_too_long_ends():
    for step_s, is_good in ((1, True), (6, False)):
        one, line = connected(b"\x30\x06\x00\x01tabc", piece=2)
        with On(line, step_s):
            if is_good:
                one.wait_msg()
            else:
                assert "too slow" in raised(MqttError, one.wait_msg)
    one, line = connected(b"\xd0\x00" * 50)
    with On(line, 1):
        assert "too slow" in raised(MqttError, one.subscribe, "t")
    assert line.data  # it did not read all of them


# ---- a transfer --------------------------------------------------------------------------------


class Broker:
    """A client as `receive` wants one: gives a packet, or None, at each look."""

    def __init__(self, packets):
        self.packets, self.published, self.pings, self.topic = list(packets), [], 0, None

    def set_callback(self, callback):
        self.callback = callback

    def subscribe(self, topic):
        self.topic = topic

    def check_msg(self):
        packet = self.packets.pop(0) if self.packets else None
        if packet is not None:
            self.callback(b"t", packet)

    def publish(self, topic, message):
        self.published.append((topic, message))

    def ping(self):
        self.pings += 1


class Receiver:
    """Says what it took, and is at its end, ready or refused, with b"ready" and b"no"."""

    state = 1

    def take(self, packet, n):
        assert n == len(packet)
        self.state = {b"ready": 2, b"no": 3}.get(packet, 1)
        return bytearray(b"took ") + packet if packet != b"?" else None


def test_blocks_are_answered_until_the_model_is_verified_or_refused():
    for last, is_good in ((b"ready", True), (b"no", False)):
        client = Broker([b"one", None, b"?", last, b"never"])
        assert receive(client, Receiver(), "a") is is_good
        assert client.topic == "a/down" and client.packets == [b"never"] and client.pings == 0
        assert client.published == [("a/up", b"took one"), ("a/up", b"took " + last)]


def test_a_transfer_has_a_limit_and_the_broker_is_pinged_meanwhile():
    for step_s, limit_s in ((1, 600), (7, 600), (1, 40), (1, 15)):
        client = Broker([])
        with On(None, step_s) as on:
            assert "no model in %d s" % limit_s in raised(
                MqttError, receive, client, Receiver(), "a", limit_s
            )
        assert limit_s < on.now <= limit_s + 5 * step_s
        assert limit_s // (15 + 4 * step_s) <= client.pings <= limit_s // 15
    assert mqtt.receive is receive
