# SPDX-License-Identifier: MIT
"""The sending side of `acclimate.pull.blocks`: numbered blocks over a line that loses packets.

sender = Sender(capsule, block_bytes_for(mtu))
print(sender.estimate_s(bytes_per_second))
sender.run(send, receive)                      # two functions of the line
"""

import secrets
import struct
import time
import zlib

from acclimate.pull.blocks import ASK, DATA, OFFER, READY, REFUSED, STATUS
from acclimate_host.errors import AcclimateError, Refused

OVERHEAD_BYTES = 9  # type, session, number, CRC-32
_STATUS = struct.Struct("<BHBH")
_BLE_MAX = 512  # a longer write to a characteristic loses its end
_ATT_BYTES = 3


def block_bytes_for(mtu, is_ble=False):
    """Return the content of a block for the most bytes that a packet of the line may have.

    :param is_ble: mtu is that of ATT: three bytes of it are its own, and no write is above 512.
    :raises Refused: nothing useful fits.
    """
    packet = min(_BLE_MAX, mtu - _ATT_BYTES) if is_ble else mtu
    block = min(1024, packet - OVERHEAD_BYTES)
    if block < 8:
        raise Refused(f"packets of {packet} bytes: a block needs {8 + OVERHEAD_BYTES}")
    return block


class Sender:
    """One file to one device.

    :param data: capsule or update. :param session: 16 bits, by chance when left out.
    """

    def __init__(self, data, block_bytes=240, session=None):
        if not 1 <= block_bytes <= 65535:
            raise Refused(f"blocks of {block_bytes} bytes: expected 1 to 65535")
        self.data = data
        self.block_bytes = block_bytes
        self.session = secrets.randbelow(65536) if session is None else session
        self.count = -(-len(data) // block_bytes)
        if self.count > 65535:
            raise Refused(f"{len(data)} bytes in blocks of {block_bytes}: at most 65535 blocks")
        self.sent = 0  # packets
        self.first = 0  # block that the device waits for
        self.seconds = 0.0  # that run() took

    def __repr__(self):
        return f"Sender({len(self.data)} bytes, block {self.first} of {self.count})"

    def estimate_s(self, bytes_per_second):
        """Return the least time that the transfer takes at a rate of the line."""
        return (len(self.data) + self.count * OVERHEAD_BYTES) / bytes_per_second

    def rate(self):
        """Return the bytes of the file per second of the latest ``run``."""
        return len(self.data) / max(self.seconds, 1e-6)

    def offer(self):
        body = struct.pack(
            "<BHIHI", OFFER, self.session, len(self.data), self.block_bytes, zlib.crc32(self.data)
        )
        return _summed(body)

    def ask(self):
        return _summed(struct.pack("<BH", ASK, self.session))

    def block(self, index):
        part = self.data[index * self.block_bytes : (index + 1) * self.block_bytes]
        return _summed(struct.pack("<BHH", DATA, self.session, index) + part)

    def answer(self, packet):
        """Return the packets for what a status says is missing; None for any other packet.

        :raises Refused: the device refuses the file, and says why. An empty list: it is done.
        """
        if len(packet) < _STATUS.size + 4 or _summed(packet[:-4]) != packet:
            return None
        kind, session, state, first = _STATUS.unpack_from(packet)
        if kind != STATUS or session != self.session:
            return None
        self.first = first
        rest = packet[_STATUS.size : -4]
        if state == REFUSED:
            raise Refused(f"the device refuses the file: {rest.decode('ascii', 'replace')}")
        if state == READY:
            return []
        missing = [i for i in range(len(rest) * 8) if rest[i >> 3] >> (i & 7) & 1]
        wanted = [first + i for i in missing if first + i < self.count]
        return [*(self.block(index) for index in wanted), self.ask()]

    def run(self, send, receive, timeout_s=2, tries=20, progress=None):
        """Send until the device has verified the file.

        :param send: takes a packet. :param receive: takes seconds; returns a packet or None.
        :param tries: silences, or answers that nothing new has come, in a row that are borne.
        :param progress: called with (blocks that have come, all blocks).
        """
        packets, silent, stuck, started = [self.offer()], 0, 0, time.monotonic()
        while silent < tries and stuck < tries:
            for packet in packets:
                send(packet)
                self.sent += 1
            before = self.first, len(packets)
            answer = self._wait(receive, timeout_s)
            if answer is None:
                silent += 1
                packets = [self.offer() if self.first == 0 else self.ask()]
                continue
            silent = 0
            packets = answer
            if progress:
                progress(self.first, self.count)
            if not packets:
                self.seconds = time.monotonic() - started
                return
            stuck = stuck + 1 if (self.first, len(packets)) == before else 0
        if stuck:
            size = self.block_bytes + OVERHEAD_BYTES
            raise AcclimateError(
                f"block {self.first} never arrives: does the line carry {size} bytes at once?"
            )
        raise AcclimateError(f"no answer from the device in {tries} x {timeout_s:g} s")

    def _wait(self, receive, timeout_s):
        """Return the answer to the newest status that has come, None after silence."""
        answer = None
        packet = receive(timeout_s)
        while packet is not None:
            found = self.answer(bytes(packet))
            answer = answer if found is None else found
            packet = receive(0)
        return answer


def _summed(body):
    return body + struct.pack("<I", zlib.crc32(body))
