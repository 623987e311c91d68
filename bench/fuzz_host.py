# SPDX-License-Identifier: MIT
"""Targets for the parsers of the host, and for MQTT: reports, partition tables, whole files.

As in ``fuzz_targets``: the first byte says how an input is dressed, and any exception but those
that the parser documents is a crash.
"""

import hashlib
import hmac
import struct

from acclimate.pull import Mqtt, MqttError
from acclimate_host.capsules import blocks, build, manifest, partitions, reports
from acclimate_host.errors import Refused
from bench.fuzz_targets import BASE, KEY, TARGET, capsule, check, manifest_of, signed
from bench.powercut_oracle import total_of

_FLASH_BYTES = 0x400000

_TAG = 96  # where a report's begins


def _dressed(data):
    return (data[0] if data else 0), bytes(data[1:])


def of_report(data):
    form, data = _dressed(data)
    if form > 63 and len(data) == _TAG + 32:
        data = data[:_TAG] + hmac.new(KEY, data[:_TAG], "sha256").digest()
    good = (
        len(data) == _TAG + 32
        and data[:5] == b"AREP\x02"
        and 1 <= data[5] <= 6
        and data[6] <= 4
        and max(struct.unpack_from("<7I", data, 8)) < 1 << 30
        and not data[7]
        and not data[95] & 0x40  # the bits beside are the epoch
        and data[80] <= 3
        and max(struct.unpack_from("<2I", data, 84)) < 1 << 30
        and data[_TAG:] == hmac.new(KEY, data[:_TAG], "sha256").digest()
    )
    try:
        found = reports.parse(data, KEY)
    except Refused:
        check(not good, "a good report was refused")
        return
    check(good, "a report was taken")
    names = ("device", "model", "version", "floor", "erases", "slot_bytes", "count")
    wanted = struct.unpack_from("<7I", data, 8)
    check(tuple(found[name] for name in names) == wanted, "other numbers than the report's")
    check(found["reason"].isprintable(), "letters that a terminal would act on")


def of_partitions(data):
    form, data = _dressed(data)
    if form > 63:
        at = len(data) // 32 * 32
        data = data[:at] + b"\xeb\xeb" + b"\xff" * 14 + hashlib.md5(data[:at]).digest()
    wanted = _table(data)
    try:
        found = partitions.read(data)
    except Refused:
        check(wanted is None, "a good table was refused")
        return
    check(wanted is not None, "a bad table was taken")
    check([(p.type, p.subtype, p.offset, p.size) for p in found] == wanted, "other entries")
    try:
        partitions.check(found, _FLASH_BYTES)
    except Refused:
        return
    try:
        made = partitions.with_capsule(found, 0x10000, _FLASH_BYTES)
    except Refused:
        return
    places = sorted((p.offset, p.end) for p in made)
    for (_, end), (start, _) in zip(places, places[1:], strict=False):
        check(end <= start, "partitions that overlap")


def _table(data):
    """Return [(type, subtype, offset, size)], or None where it is no table."""
    entries = []
    for at in range(0, min(len(data), 0xC00) - 31, 32):
        entry = data[at : at + 32]
        if entry[:2] == b"\xeb\xeb":
            return entries if hashlib.md5(data[:at]).digest() == entry[16:] else None
        if entry == b"\xff" * 32:
            return entries or None
        if entry[:2] != b"\xaa\x50":
            return None
        entries.append(struct.unpack_from("<2xBBII", entry))
    return None


class _Line:
    """A socket that gives the data in pieces and takes anything."""

    def __init__(self, data, piece):
        self.data, self.piece, self.sent = data, piece, b""

    def recv(self, n):
        part, self.data = self.data[: min(n, self.piece)], self.data[min(n, self.piece) :]
        return part

    def sendall(self, data):
        self.sent += data


def of_mqtt(data):
    form, data = _dressed(data)
    client, got = Mqtt("fuzz", "localhost"), []
    client.set_callback(lambda topic, message: got.append((topic, message)))
    client._socket = _Line(data, 1 + form % 50)
    try:
        while True:
            client.wait_msg()
    except MqttError:
        pass
    check(got == _published(data), "other messages than the broker's")


def _published(data):
    """Return [(topic, message)] up to the first thing that is not MQTT."""
    found = []
    while data:
        kind, size, at = data[0], 0, 1
        while True:
            if at >= len(data) or at > 4:
                return found
            size |= (data[at] & 127) << 7 * (at - 1)
            at += 1
            if data[at - 1] < 128:
                break
        if size > 4096 or len(data) < at + size:
            return found
        body, data = data[at : at + size], data[at + size :]
        if kind >> 4 != 3:
            continue
        start = 2 + int.from_bytes(body[:2], "big")
        after = start + (2 if kind & 6 else 0)
        if len(body) < 2 or after > len(body):
            return found
        found.append((body[2:start], body[after:]))
    return found


def of_file(data):
    """A capsule file that the host reads: publish, inspect, diff."""
    form, data = _dressed(data)
    if form > 63 and len(data) >= 116:
        data = signed(data)
    try:
        found = build.read(data)
    except Refused:
        return
    check(found.total == len(data) == total_of(data[:144]), "another length")
    intact = hashlib.sha256(data[:20] + data[116:]).digest() == data[20:52]
    check(found.intact == intact, "integrity")
    check(
        found.authentic(KEY, data) == (data[52:116] == signed(data)[52:116])
        or not intact
        or data[7] & 1,
        "authenticity",
    )
    count = data[6]
    entries = [data[116 + 4 * i : 120 + 4 * i] for i in range(count)]
    sizes = [int.from_bytes(e[1:], "little") for e in entries if e[0] < 128]
    check([len(content) for _, content in found.sections] == sizes, "sections")


def of_manifest_file(data):
    form, data = _dressed(data)
    if form > 63 and len(data) > 32:
        data = data[:-32] + hmac.new(KEY, data[:-32], "sha256").digest()
    try:
        found = manifest.unpack(data)
    except Refused:
        return
    if found.percent <= 100 and manifest.is_signed(data, KEY) and 1 <= len(found.entries) <= 8:
        check(
            found.pack(KEY) == data,
            "packed again it is another",
        )


def of_status(data):
    """What a device answers to the sender of blocks."""
    form, data = _dressed(data)
    sender = blocks.Sender(TARGET, 48, session=5)
    packet = blocks._summed(data[:-4]) if form > 63 and len(data) > 4 else data
    try:
        answer = sender.answer(packet)
    except Refused:
        check(packet[3] == 3, "an end that the device did not tell")
        return
    if answer:
        known = {sender.block(i) for i in range(sender.count)} | {sender.ask()}
        check(set(answer) <= known and len(answer) <= 1 + 8 * len(data), "packets")


TARGETS = {
    "report": of_report,
    "partitions": of_partitions,
    "mqtt": of_mqtt,
    "host_capsule": of_file,
    "host_manifest": of_manifest_file,
    "host_status": of_status,
}


def seeds(name):
    """Return inputs to start from, or None for a name that is not here."""
    if name == "report":
        head = b"AREP" + bytes((2, 4, 2, 0)) + struct.pack("<7I", 17, 7, 3, 3, 40, 4096, 99)
        body = head + b"integrity".ljust(12, b"\0") + TARGET[20:52]
        body += struct.pack("<BBHIIHH", 1, 2, 40000, 9000, 96, 3700, 0)
        found = [body + hmac.new(KEY, body, "sha256").digest()]
    elif name == "partitions":
        table = [
            partitions.Partition("nvs", 1, 2, 0x9000, 0x6000),
            partitions.Partition("factory", 0, 0, 0x10000, 0x1F0000),
            partitions.Partition("vfs", 1, 0x81, 0x200000, 0x1C0000),
        ]
        found = [partitions.write(table)[:200], partitions.write(table[:1])[:96]]
    elif name == "mqtt":
        message = b"\x00\x06a/down" + b"\x00\x09" + b"packet"
        found = [
            b"\x32" + bytes([len(message)]) + message + b"\xd0\x00",
            b"\x30\x0b\x00\x06a/downxyz\x90\x03\x00\x01\x01",
            b"\x30\x81\x01" + bytes(129),
        ]
    elif name == "host_capsule":
        found = [TARGET, BASE, capsule(9, b"")]
    elif name == "host_manifest":
        found = [manifest_of(1), manifest_of(8)]
    elif name == "host_status":
        found = [
            blocks._summed(struct.pack("<BHBH", 3, 5, state, 2) + rest)
            for state, rest in ((1, b"\xff"), (2, b""), (3, b"integrity"))
        ]
    else:
        return None
    return [bytes([form]) + data for form in (0, 1, 200, 201) for data in found]
