# SPDX-License-Identifier: MIT
"""Runs on a board: a socket that replays replies from flash, and the search for the least heap.

A board of 32 KB drives `Pull` itself, as its serial line does; larger ones the client.

``channel`` is a memoryview that holds a capsule and the replies; a scenario is ((start, end) of
the manifest's reply, the same of the object's).
"""

import gc
import sys


class Socket:
    channel = None
    files = None
    at = end = 0

    def connect(self, address):
        pass

    def settimeout(self, timeout_s):
        pass

    def close(self):
        pass

    def sendall(self, data):
        Socket.at, Socket.end = Socket.files[0 if b"/models/" in data else 1]

    def recv_into(self, buffer):
        n = min(len(buffer), Socket.end - Socket.at)
        buffer[:n] = Socket.channel[Socket.at : Socket.at + n]
        Socket.at += n
        return n


class Sockets:
    socket = Socket

    @staticmethod
    def getaddrinfo(host, port):
        return ((0, 0, 0, "", (host, port)),)


def imported(is_small):
    """Import what pulls; return the heap that it keeps."""
    sys.modules["socket"] = Sockets
    gc.collect()
    free = gc.mem_free()
    if is_small:
        from acclimate.pull import exchange as pull  # noqa: F401
    else:
        from acclimate.pull import Client  # noqa: F401

    gc.collect()
    return free - gc.mem_free()


def by_client(store, buffer_bytes):
    from acclimate.pull import Client

    return Client(store, "http://10.0.0.1", buffer_bytes=buffer_bytes).pull(True)


def by_pieces(store, buffer_bytes):
    from acclimate.pull.exchange import Pull

    pull = Pull(store, "http://10.0.0.1/models/7/all.man", any_version=True, whole_only=True)
    buffer, sock = memoryview(bytearray(buffer_bytes)), Socket()
    request = pull.request()
    while request:
        sock.sendall(request[3])
        request = None
        while not pull.feed(buffer, sock.recv_into(buffer)):
            pass
        request = pull.request()
    return pull.is_ready


def fits(store, base, free, buffer_bytes, pull):
    """Whether the pull succeeds when only so many bytes are free, the highest of the heap."""
    store.swap_capsule(Socket.channel[:base], True)
    gc.collect()
    ballast, size = None, 512
    while size >= 16 and gc.mem_free() > free + size + 64:
        try:
            ballast = (ballast, bytearray(size))
        except MemoryError:
            size //= 2
        if gc.mem_free() <= free + size + 64:
            size //= 2
    done = False
    try:
        done = pull(store, buffer_bytes)
    except (MemoryError, OSError, ValueError):  # the whole capsule was asked for instead
        pass
    while ballast:
        ballast = ballast[0]
    gc.collect()
    store.rollback()
    return done


def need(store, base, files, buffer_bytes, most, is_small):
    """Return the least bytes with which it succeeds, in steps of 64; -1: there is too little."""
    Socket.files = files
    gc.collect()
    low, high = 0, min(most, gc.mem_free()) // 64
    pull = by_pieces if is_small else by_client
    if not fits(store, base, high * 64, buffer_bytes, pull):
        return -1
    while high - low > 1:
        middle = (low + high) // 2
        if fits(store, base, middle * 64, buffer_bytes, pull):
            high = middle
        else:
            low = middle
    return high * 64
