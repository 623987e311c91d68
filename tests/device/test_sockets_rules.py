# SPDX-License-Identifier: MIT
"""Connections: each address of a name is tried, what fails is closed, and clocks begin anew."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

import sys

from refusal import raised

from acclimate.pull import sockets

PLACES = [(10, 1, 6, "", ("::1", 80, 0, 0)), (2, 1, 6, "", ("1.2.3.4", 80))]


class Net:
    """Stands for the module socket.

    :param places: what a name leads to, or the error that it raises.
    :param bad: {place: error of its connection}, {family: error of its sockets}.
    """

    SOCK_STREAM = 1

    def __init__(self, places, bad=()):
        self.places, self.bad, self.made = places, dict(bad), []
        self.now = 0.0  # a connection that fails has waited as long as it might

    def getaddrinfo(self, host, port):  # some firmware takes no more
        self.asked = host, port
        if isinstance(self.places, BaseException):
            raise self.places
        return self.places

    def socket(self, *how):
        if how[0] in self.bad:
            raise self.bad[how[0]]
        self.made.append(Socket(self, how))
        return self.made[-1]


class Socket:
    def __init__(self, net, how):
        self.net, self.how, self.is_open, self.timeout_s = net, how, True, None

    def settimeout(self, timeout_s):
        self.timeout_s = timeout_s

    def connect(self, place):
        self.place, self.waited_s = place, self.timeout_s
        self.net.now += self.timeout_s if place in self.net.bad else 0
        if place in self.net.bad:
            raise self.net.bad[place]

    def close(self):
        self.is_open = False


class StandIn:
    """Imports within it find these instead of the modules of their names."""

    def __init__(self, **modules):
        self.modules = modules
        self.kept = {name: sys.modules[name] for name in modules if name in sys.modules}

    def __enter__(self):
        sys.modules.update(self.modules)

    def __exit__(self, *_):
        for name in self.modules:
            del sys.modules[name]
        sys.modules.update(self.kept)


def connect(net, host="host"):
    with StandIn(socket=net):
        return sockets.connect(host, 80, 9)


def test_the_first_address_that_answers_is_taken():
    net = Net(PLACES)
    sock = connect(net)
    assert net.asked == ("host", 80) and sock.how == (10, 1) and sock.timeout_s == 9
    assert sock.place == PLACES[0][4] and sock.is_open and len(net.made) == 1
    net = Net(PLACES, {PLACES[0][4]: OSError(111)})
    sock = connect(net)
    assert sock.how == (2, 1) and sock.place == PLACES[1][4] and sock.timeout_s == 9
    assert [one.is_open for one in net.made] == [False, True]


def test_where_no_address_answers_the_last_error_is_told_and_all_are_closed():
    net = Net(PLACES, {PLACES[0][4]: OSError(1), PLACES[1][4]: OSError(111)})
    assert "111" in raised(OSError, connect, net)
    assert [one.is_open for one in net.made] == [False, False]
    assert "no address of 'host'" in raised(OSError, connect, Net([]))


def timed(net):
    """Connect, with a clock that runs on where an address is silent."""
    kept, sockets.seconds = sockets.seconds, lambda: net.now
    try:
        return connect(net)
    finally:
        sockets.seconds = kept


def test_addresses_share_the_time():
    places = [(2, 1, 6, "", (name, 80)) for name in ("a", "b", "c")]
    silent = [((name, 80), OSError(110)) for name in ("a", "b", "c")]
    for count in range(3):
        net = Net(places, silent[:count])
        assert timed(net).timeout_s == 9  # for what is read and written
        assert [one.waited_s for one in net.made] == [3] * (count + 1)
    lacking = [(10, 1, 6, "", ("::1", 80, 0, 0))]  # fails at once: its time is for the others
    assert timed(Net(lacking + places[:1], [(10, OSError(97))])).waited_s == 9
    net = Net(places * 9, silent)
    raised(OSError, timed, net)
    assert [one.waited_s for one in net.made] == [1] * 27  # each has a second at least


def test_a_family_that_a_machine_lacks_is_passed_over():
    net = Net(PLACES, {10: OSError(97)})
    assert connect(net).place == PLACES[1][4] and len(net.made) == 1
    assert "97" in raised(OSError, connect, Net(PLACES[:1], {10: OSError(97)}))


def test_only_addresses_for_streams_are_tried_or_such_as_say_nothing():
    datagrams = (10, 2, 17, "", ("::1", 80, 0, 0))
    for kind in (0, 1):
        sock = connect(Net([datagrams, (2, kind, 0, "", ("1.2.3.4", 80))]))
        assert sock.how == (2, 1) and sock.place == ("1.2.3.4", 80)
    net = Net([datagrams])
    assert "no address" in raised(OSError, connect, net) and net.made == []


def test_a_name_that_is_none_is_an_error_of_the_network():
    assert "-2" in raised(OSError, connect, Net(OSError(-2)))
    told = raised(OSError, connect, Net(ValueError("label too long")), "x" * 99)
    assert told == "no host is called %r" % ("x" * 60)


def test_seconds_of_a_board_that_begin_anew():
    kept, now = sockets.seconds, [100]
    sockets.seconds = lambda: now[0]
    try:
        for start, then, passed in ((40, 100, 60), (9, 9, 0), (1073700, 8, 50), (10, 9, 1073741)):
            now[0] = then
            assert sockets.since(start) == passed
    finally:
        sockets.seconds = kept


def test_seconds_are_those_of_a_clock_that_nobody_sets():
    class Board:
        def __init__(self):
            self.ticks_ms = lambda: 12999

    class Computer(Board):
        def __init__(self):
            super().__init__()
            self.monotonic = lambda: 4.5

    for clock, seconds in ((Board(), 12), (Computer(), 4.5)):
        with StandIn(time=clock):
            assert sockets.seconds() == seconds


def test_sockets_and_streams_are_written_and_read_by_what_they_have():
    class Plain:
        def sendall(self, data):
            self.sent = data

        def recv_into(self, buffer):
            return "recv_into"

    class Stream:
        def write(self, data):
            self.sent = data
            return 2

        def readinto(self, buffer):
            return "readinto"

    plain, stream = Plain(), Stream()
    assert sockets.send(plain, b"abc") == 3 and plain.sent == b"abc"
    assert sockets.send(stream, b"abc") == 2 and stream.sent == b"abc"
    assert sockets.reader(plain)(b"") == "recv_into" and sockets.reader(stream)(b"") == "readinto"


def test_certificates_are_checked_where_the_firmware_knows_any():
    class Small:
        PROTOCOL_TLS_CLIENT = 16

        def SSLContext(self, protocol):
            return "plain", protocol

    class Large(Small):
        def create_default_context(self):
            return "checks"

    for module, made in ((Small(), ("plain", 16)), (Large(), "checks")):
        with StandIn(ssl=module):
            assert sockets.default_context() == made


def test_what_a_stream_says_that_has_nothing_yet():
    assert sockets.EARLY == (2, 3, 11)
    if sys.implementation.name == "cpython":
        import errno
        import ssl

        assert (ssl.SSL_ERROR_WANT_READ, ssl.SSL_ERROR_WANT_WRITE, errno.EAGAIN) == sockets.EARLY
        with StandIn(ssl=None, socket=None):  # an import of these fails
            assert "no ssl module" in raised(OSError, sockets.default_context)
            assert "no socket module" in raised(OSError, sockets.connect, "host", 80, 9)
