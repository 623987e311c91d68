# SPDX-License-Identifier: MIT
"""Make an LLVM Xtensa object look as GNU as would have written it, for MicroPython's mpy_ld.py."""

import os
import re
import struct

SHDR = "<10I"
SHDR_NAME, SHDR_TYPE, SHDR_OFFSET, SHDR_SIZE, SHDR_LINK, SHDR_INFO = 0, 1, 4, 5, 6, 7
SHT_PROGBITS, SHT_RELA, SHT_NOBITS = 1, 4, 8
R_XTENSA_32, R_XTENSA_SLOT0_OP = 1, 20
STT_SECTION = 3
RELA_BYTES, SYMBOL_BYTES = 12, 16
PER_FILE = (".text", ".rodata", ".data.rel.ro", ".bss")


def read_sections(data):
    """Return (offset of the table, entry size, index of the name table, headers as lists)."""
    (offset,) = struct.unpack_from("<I", data, 32)
    size, count, names_index = struct.unpack_from("<HHH", data, 46)
    headers = [list(struct.unpack_from(SHDR, data, offset + i * size)) for i in range(count)]
    return offset, size, names_index, headers


def mend_relocation(data, at_rela, target, target_name, symbols, names, path):
    """Mend one relocation; return True when it is a plain 32-bit pointer."""
    offset, info, addend = struct.unpack_from("<IIi", data, at_rela)
    symbol_at = symbols[SHDR_OFFSET] + SYMBOL_BYTES * (info >> 8)
    _, _, _, symbol_info, _, section = struct.unpack_from("<IIIBBH", data, symbol_at)
    at = target[SHDR_OFFSET] + offset
    if info & 255 == R_XTENSA_SLOT0_OP:
        # An unresolved l32r: LLVM leaves its immediate at -1, GNU as at 0.
        if data[at] & 15 != 1 or not names[section].startswith(".literal"):
            raise ValueError(
                "%s: mpy_ld.py cannot do the relocation at %s+0x%x" % (path, target_name, offset)
            )
        data[at + 1] = data[at + 2] = 0
    elif target_name.startswith(".literal") and symbol_info & 15 == STT_SECTION and addend:
        # Section + n: GNU as keeps n in the data.
        (old,) = struct.unpack_from("<I", data, at)
        struct.pack_into("<I", data, at, (old + addend) & 0xFFFFFFFF)
        struct.pack_into("<IIi", data, at_rela, offset, info, 0)
    return info & 255 == R_XTENSA_32


def fix(path):
    """Mend the object file at path in place."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    table, entry_size, names_index, headers = read_sections(data)
    strings = headers[names_index]
    text = data[strings[SHDR_OFFSET] : strings[SHDR_OFFSET] + strings[SHDR_SIZE]]
    names = [bytes(text[h[SHDR_NAME] : text.index(0, h[SHDR_NAME])]).decode() for h in headers]
    new_names = list(names)
    stem = re.sub(r"\W", "_", os.path.basename(path).rsplit(".", 1)[0])
    for header in headers:
        if header[SHDR_TYPE] != SHT_RELA:
            continue
        index = header[SHDR_INFO]
        start = header[SHDR_OFFSET]
        for at_rela in range(start, start + header[SHDR_SIZE], RELA_BYTES):
            symbols = headers[header[SHDR_LINK]]
            pointer = mend_relocation(
                data, at_rela, headers[index], names[index], symbols, names, path
            )
            if pointer and names[index].startswith(".rodata"):
                new_names[index] = ".data.rel.ro"  # what -fpic would have done with pointer tables
    for index, header in enumerate(headers):
        name = new_names[index]
        if header[SHDR_TYPE] in (SHT_PROGBITS, SHT_NOBITS) and name.startswith(PER_FILE):
            name += "." + stem  # mpy_ld.py names GOT entries "section+offset": unique over files
        if name != names[index]:
            header[SHDR_NAME] = len(text)
            text += name.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    strings[SHDR_OFFSET], strings[SHDR_SIZE] = len(data), len(text)
    data += text
    for index, header in enumerate(headers):
        struct.pack_into(SHDR, data, table + index * entry_size, *header)
    with open(path, "wb") as f:
        f.write(data)
