# SPDX-License-Identifier: MIT
"""An ESP32 that waits in its loader, for the real esptool at a socket: registers and a flash.

The serial protocol is Espressif's ("Serial Protocol" in the manual of esptool): SLIP frames of
requests and responses. The part that esptool uploads into RAM is taken and not run: from then
on this answers as that part does.
"""

import hashlib
import socket
import struct
import threading
import zlib

_MAGIC_AT, _MAGIC = 0x40001000, 0x00F01D83  # how esptool knows an ESP32
_UART_DIVIDER_AT, _UART_DIVIDER = 0x3FF40014, 347  # 40 MHz at 115,200 baud
_SPI = 0x3FF42000
_SPI_COMMAND, _SPI_USER_COMMAND, _SPI_DATA = _SPI, _SPI + 0x24, _SPI + 0x80
_READ_ID = 0x9F
(
    _FLASH_BEGIN,
    _FLASH_DATA,
    _FLASH_END,
    _MEM_BEGIN,
    _MEM_END,
    _MEM_DATA,
    _SYNC,
    _WRITE_REGISTER,
    _READ_REGISTER,
) = range(0x02, 0x0B)
_DEFLATED_BEGIN, _DEFLATED_DATA, _DEFLATED_END, _MD5, _READ_FLASH = 0x10, 0x11, 0x12, 0x13, 0xD2
_HARMLESS = (0x0B, 0x0D, _MEM_BEGIN, _MEM_DATA, _FLASH_END, _DEFLATED_END)
_SECTOR = 4096


class Chip:
    """A chip at ``url``; each connection finds it fresh from a reset.

    :param flash: bytearray with the flash's content, a power of two long
    """

    def __init__(self, flash):
        self.flash = flash
        self.writes = []  # (address, bytes)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "socket://127.0.0.1:%d" % self._listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.close()

    def _serve(self):
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            with line:
                line.settimeout(30)
                try:
                    _Session(self, line).run()
                except OSError:
                    pass


class _Session:
    def __init__(self, chip, line):
        self._chip = chip
        self._line = line
        self._frames = _frames(line)
        self._registers = {_MAGIC_AT: _MAGIC, _UART_DIVIDER_AT: _UART_DIVIDER}
        self._uploaded = False
        self._at = self._left = 0
        self._inflate = None

    def run(self):
        for frame in self._frames:
            direction, op, _ = struct.unpack_from("<BBH", frame)
            if not direction:
                self._answer(op, frame[8:])

    def _send(self, content):
        escaped = content.replace(b"\xdb", b"\xdb\xdd").replace(b"\xc0", b"\xdb\xdc")
        self._line.sendall(b"\xc0" + escaped + b"\xc0")

    def _reply(self, op, value=0, data=b"", error=0):
        status = bytes([bool(error), error]) + bytes(0 if self._uploaded else 2)
        self._send(struct.pack("<BBHI", 1, op, len(data) + len(status), value) + data + status)

    def _answer(self, op, data):
        words = struct.unpack_from("<%dI" % min(5, len(data) // 4), data)
        if op == _SYNC:
            for _ in range(8):
                self._reply(op, 0x20120707)
        elif op == _READ_REGISTER:
            self._reply(op, self._registers.get(words[0], 0))
        elif op == _WRITE_REGISTER:
            self._write_register(words[0], words[1])
            self._reply(op)
        elif op in _HARMLESS:
            self._reply(op)
        elif op == _MEM_END:
            self._reply(op)
            self._uploaded = True
            self._send(b"OHAI")
        elif op in (_FLASH_BEGIN, _DEFLATED_BEGIN):
            self._left, self._at = words[0], words[3]
            self._inflate = zlib.decompressobj()
            self._reply(op)
        elif op == _FLASH_DATA:
            self._program(data[16 : 16 + min(words[0], self._left)])  # the last block is padded
            self._reply(op)
        elif op == _DEFLATED_DATA:
            self._program(self._inflate.decompress(data[16 : 16 + words[0]]))
            self._reply(op)
        elif op == _MD5:
            content = self._chip.flash[words[0] : words[0] + words[1]]
            self._reply(op, data=hashlib.md5(content).digest())
        elif op == _READ_FLASH:
            self._reply(op)
            self._read(words[0], words[1])
        else:
            self._reply(op, error=5)

    def _write_register(self, at, value):
        if at == _SPI_COMMAND:  # run the flash chip's command; done at once
            size = (len(self._chip.flash) - 1).bit_length()
            is_id = self._registers.get(_SPI_USER_COMMAND, 0) & 0xFF == _READ_ID
            self._registers[_SPI_DATA] = size << 16 | 0x40EF if is_id else 0
        else:
            self._registers[at] = value

    def _program(self, data):
        if len(data) > self._left:
            raise OSError("more data than was announced")
        self._chip.flash[self._at : self._at + len(data)] = data
        self._chip.writes.append((self._at, len(data)))
        self._at, self._left = self._at + len(data), self._left - len(data)

    def _read(self, at, size):
        content = bytes(self._chip.flash[at : at + size])
        for start in range(0, size, _SECTOR):
            self._send(content[start : start + _SECTOR])
            next(self._frames)  # how many bytes have come
        self._send(hashlib.md5(content).digest())


def _frames(line):
    """Yield the contents of SLIP frames until the other side is gone."""
    rest = b""
    while True:
        piece = line.recv(65536)
        if not piece:
            return
        *whole, rest = (rest + piece).split(b"\xc0")
        for frame in filter(None, whole):
            yield frame.replace(b"\xdb\xdc", b"\xc0").replace(b"\xdb\xdd", b"\xdb")
