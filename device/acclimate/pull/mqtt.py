# SPDX-License-Identifier: MIT
"""Blocks of a model over MQTT 3.1.1, with a client that has what this needs and no more.

    client = Mqtt("device-17", "192.168.1.5")
    client.connect()
    if receive(client, Receiver(store), "acclimate/7/17"):
        store.trial()

Blocks come on TOPIC/down, answers go to TOPIC/up. The methods have the names of umqtt.simple,
so that its client serves ``receive`` as well.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Callable

    from circuitpython_typing import ReadableBuffer
except ImportError:
    pass

import time

from acclimate.pull import sockets

_CONNECT, _CONNACK, _PUBLISH, _PUBACK = b"\x10", 0x20, 0x30, 0x40
_SUBSCRIBE, _SUBACK, _PINGREQ = b"\x82", 0x90, b"\xc0\x00"
_PACKET_MAX = 4096
# MQTT 3.1.1, 3.2.2.3: what a broker has against a connection, from 1 on.
_WHY = ("its protocol", "client_id", "not available now", "user or password", "no right to it")


class MqttError(OSError):
    """The broker refuses, or says what is not MQTT."""


class Mqtt:
    """A connection to a broker.

    :param client_id: unlike that of every other client. :param keepalive_s: ping at least so
        often, see ``ping``. :param timeout_s: for each answer of the broker.
    :param port: None: 1883, with TLS 8883.
    :param context: an SSLContext: the connection is TLS, and nothing is sent without it.
    """

    def __init__(
        self,
        client_id: str,
        server: str,
        port: int | None = None,
        user: str | None = None,
        password: str | None = None,
        keepalive_s: int = 60,
        timeout_s: float = 10,
        context: "Any" = None,
    ) -> None:
        self._id = client_id
        self._address = server, port or (8883 if context else 1883)
        self._context = context
        self._login = user, password
        self._keepalive_s = keepalive_s
        self._timeout_s = timeout_s
        self._callback = None
        self._packet_id = 0
        self._socket: "Any" = None
        self._awaited = None

    def __repr__(self):
        state = "connected" if self._socket else "not connected"
        return "Mqtt(%r, %r, %d): %s" % ((self._id,) + self._address + (state,))

    def set_callback(self, callback: "Callable[[bytes, bytes], Any]") -> None:
        """callback(topic, message), both bytes."""
        self._callback = callback

    def connect(self) -> None:
        user, password = self._login
        flags = 2 | (0x80 if user else 0) | (0x40 if password else 0)
        body = b"\x00\x04MQTT\x04" + bytes((flags,)) + _two(self._keepalive_s)
        for text in (self._id, user, password):
            if text is not None:
                body += _text(text)
        if self._socket:
            self._closed()
        self._socket = sockets.connect(*self._address, self._timeout_s)
        try:
            if self._context:
                self._socket = self._wrapped(self._socket)
            self._send(_CONNECT, body)
            kind, answer = self._read()
            if kind != _CONNACK or len(answer) != 2:
                raise MqttError("broker: no answer to a connection: %r" % answer[:20])
            if answer[1]:
                why = _WHY[answer[1] - 1] if answer[1] <= len(_WHY) else "code %d" % answer[1]
                raise MqttError("broker refuses the connection: " + why)
        except BaseException:
            self._closed()
            raise

    def _closed(self):
        sock, self._socket = self._socket, None
        sock.close()

    def _wrapped(self, sock):
        try:
            return self._context.wrap_socket(sock, server_hostname=self._address[0])
        except (OSError, ValueError) as error:  # so MicroPython says that a certificate is wrong
            raise MqttError("TLS: %s" % error) from None

    def subscribe(self, topic: str | bytes, qos: int = 1) -> None:
        self._packet_id = self._packet_id % 65535 + 1
        self._send(_SUBSCRIBE, _two(self._packet_id) + _text(topic) + bytes((qos,)))
        answer = self._await(_SUBACK)
        if answer[2:3] == b"\x80":
            raise MqttError("broker refuses the subscription")

    def publish(
        self,
        topic: str | bytes,
        message: "str | ReadableBuffer",
        retain: bool = False,
        qos: int = 0,
    ) -> None:
        """Send a message; with qos 1 wait until the broker has it."""
        head = _text(topic)
        if isinstance(message, str):
            message = message.encode()
        if qos:
            self._packet_id = self._packet_id % 65535 + 1
            head += _two(self._packet_id)
        self._send(bytes((_PUBLISH | qos << 1 | (1 if retain else 0),)), head + message)
        if qos:
            self._await(_PUBACK)

    def ping(self) -> None:
        self._socket_write(_PINGREQ)

    def wait_msg(self) -> None:
        """Wait for one packet and handle it."""
        self._is_there()
        self._handle(*self._read())

    def check_msg(self) -> None:
        """Handle a packet if one is there; return at once otherwise."""
        import select

        self._is_there()
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        # TLS of CPython may hold what it has read already.
        if poll.poll(0) or (hasattr(self._socket, "pending") and self._socket.pending()):
            self.wait_msg()

    def disconnect(self) -> None:
        if self._socket is None:
            return
        try:
            self._socket_write(b"\xe0\x00")
        finally:
            self._closed()

    def _await(self, kind):
        start_s = sockets.seconds()
        while True:
            found, body = self._read()
            if found == kind and body[:2] == _two(self._packet_id):
                return body
            self._handle(found, body)
            self._in_time(start_s, 0)

    def _in_time(self, start_s, n):
        """Raise when what began at start_s takes too long; n bytes that came give more time."""
        if sockets.since(start_s) > self._timeout_s + n // 16:
            raise MqttError("broker: too slow")

    def _handle(self, kind, body):
        if kind & 0xF0 != _PUBLISH:
            return
        if len(body) < 2:
            raise MqttError("broker: a message without a topic")
        size = body[0] << 8 | body[1]
        at = 2 + size
        if kind & 6:
            at += 2
        if at > len(body):
            raise MqttError("broker: a message without a whole topic")
        if kind & 6:
            self._send(bytes((_PUBACK,)), body[at - 2 : at])
        if self._callback:
            self._callback(body[2 : 2 + size], body[at:])

    def _send(self, head, body):
        size, length = len(body), b""
        while True:
            length += bytes((size & 127 | (0x80 if size > 127 else 0),))
            size >>= 7
            if not size:
                break
        self._socket_write(head + length + body)

    def _is_there(self):
        if self._socket is None:
            raise MqttError("broker: not connected")

    def _socket_write(self, data):
        self._is_there()
        (getattr(self._socket, "sendall", None) or self._socket.write)(data)

    def _read(self):
        kind = self._exactly(1, sockets.seconds())[0]
        start_s = sockets.seconds()
        size = shift = 0
        while True:
            byte = self._exactly(1, start_s)[0]
            size |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                break
            if shift > 21:
                raise MqttError("broker: a length of more than 4 bytes")
        if size > _PACKET_MAX:
            raise MqttError("broker: a packet of %d bytes, %d are taken" % (size, _PACKET_MAX))
        return kind, self._exactly(size, start_s)

    def _exactly(self, n, start_s):
        data = b""
        while len(data) < n:
            self._in_time(start_s, len(data))
            part = (getattr(self._socket, "recv", None) or self._socket.read)(n - len(data))
            if not part:
                raise MqttError("broker closed the connection")
            data += part
        return data


def _two(number):
    return bytes((number >> 8, number & 255))


def _text(text):
    data = text if isinstance(text, bytes) else text.encode()
    return _two(len(data)) + data


def receive(client: "Any", receiver: "Any", topic: str, limit_s: float = 600) -> bool:
    """Take blocks until a model is verified (True), refused (False; ``receiver.reason``).

    :param client: a connected Mqtt, or a client of umqtt.simple.
    :raises OSError: the broker was lost, or ``limit_s`` passed.
    """
    from acclimate.pull.blocks import READY, REFUSED

    up = topic + "/up"

    def come(_, packet):
        answer = receiver.take(packet, len(packet))
        if answer:
            client.publish(up, bytes(answer))

    client.set_callback(come)
    client.subscribe(topic + "/down")
    start_s = pinged_s = sockets.seconds()  # a clock that is set meanwhile changes nothing
    while receiver.state not in (READY, REFUSED):
        client.check_msg()
        if sockets.since(start_s) > limit_s:
            raise MqttError("no model in %d s" % limit_s)
        if sockets.since(pinged_s) > 15:
            client.ping()
            pinged_s = sockets.seconds()
        time.sleep(0.002)
    return receiver.state == READY
