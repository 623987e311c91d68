# SPDX-License-Identifier: MIT
"""Connections with the sockets that the firmware has."""

EARLY = (2, 3, 11)  # errors of a stream that never waits: ssl's want read, want write; EAGAIN


def seconds():
    """Return seconds that only rise; never turned by a clock that is set."""
    import time

    if hasattr(time, "monotonic"):
        return time.monotonic()
    return time.ticks_ms() // 1000


_ROUND_S = 1073742  # ticks of a board begin anew after so many seconds, 12 days


def since(start_s):
    """Return how many seconds have passed since a moment that ``seconds`` gave."""
    passed = seconds() - start_s
    return passed if passed >= 0 else passed + _ROUND_S


def connect(host, port, timeout_s):
    """Return a connected socket. All addresses of a name share the time.

    :raises OSError: nobody answers, or this firmware has no sockets (CircuitPython): then
        drive Pull, or acclimate.pull.blocks, with the transport that there is.
    """
    try:
        import socket
    except ImportError:
        raise OSError("this firmware has no socket module") from None
    try:
        places = socket.getaddrinfo(host, port)  # some firmware takes no more
    except ValueError:  # so CPython refuses the letters of a name, which a redirect may have given
        raise OSError("no host is called %r" % host[:60]) from None
    places = [place for place in places if place[1] in (0, socket.SOCK_STREAM)]
    error, start_s, left = OSError("no address of %r" % host[:60]), seconds(), len(places)
    for family, _, _, _, place in places:  # of IPv6 and IPv4 one may lead nowhere
        sock, share_s = None, (timeout_s - since(start_s)) / left
        left -= 1
        try:
            sock = socket.socket(family, socket.SOCK_STREAM)  # IPv6 may be off here
            sock.settimeout(max(1, share_s))
            sock.connect(place)
            sock.settimeout(timeout_s)
            return sock
        except OSError as raised:
            error = raised
            if sock:
                sock.close()
    raise error


def send(sock, data):
    """Send all of it; sockets and TLS streams name this differently.

    A stream that never waits takes a request whole, as it is shorter than a TLS record, or
    returns None.
    """
    if hasattr(sock, "write"):
        return sock.write(data)
    sock.sendall(data)
    return len(data)


def reader(sock):
    """Return the function that reads into a buffer and returns how many bytes came."""
    return getattr(sock, "recv_into", None) or sock.readinto


def default_context():
    """Return an SSLContext that checks certificates where the firmware knows any."""
    try:
        import ssl
    except ImportError:
        raise OSError("this firmware has no ssl module") from None
    if hasattr(ssl, "create_default_context"):
        return ssl.create_default_context()
    # A board without certificates: the manifest's tag is what protects it.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
