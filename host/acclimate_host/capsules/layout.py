# SPDX-License-Identifier: MIT
"""The one source of the capsule formats: header, section table, journal, update
container, manifest, report.

From it come the device's constants, the C header and the byte tables of the documentation:

    python -m acclimate_host.capsules.layout          # write them all
    python -m acclimate_host.capsules.layout --check  # exit status 1 when one differs

All numbers are little-endian and unsigned. No number is above 2**30 - 1, so that a 32-bit
board holds each in a small integer.
"""

import sys

from acclimate_host.formats import Field, Generated, Record, listed, offsets, record_tables

NUMBER_MAX = (1 << 30) - 1


HEADER = Record(
    "Capsule header",
    "H",
    (
        Field("magic", 4, "`ACAP`"),
        Field("format", 1, "version of this table: 2"),
        Field("kind", 1, "what the model is, see Kinds"),
        Field("sections", 1, "entries of the section table, 1 to 7"),
        Field("flags", 1, "bit 0: saved by the board itself; bits 1 to 7 count its saves"),
        Field("model", 4, "model id: which application it is for"),
        Field("version", 4, "rises with each release of the model"),
        Field("epoch", 2, "of the key list whose keys count; 0 without one"),
        Field("temperature", 2, "confidence temperature in 1/256"),
        Field("digest", 32, "integrity: SHA-256 of all bytes but digest and signature"),
        Field("signature", 64, "authenticity, see Signatures"),
    ),
)
SECTION = Record(
    "Section table entry",
    "S",
    (
        Field("type", 1, "see Sections, and from 128 on Bounds"),
        Field("size", 3, "bytes; filled up with zeros to a multiple of 4. A bound: its number"),
    ),
)
PAGE = Record(
    "Journal page header",
    "P",
    (
        Field("magic", 4, "`AJNL`"),
        Field("generation", 4, "rises with each compaction; the highest valid page is in use"),
        Field("floor", 4, "highest model version ever tried or refused"),
        Field("erases", 4, "slot pages erased before this page began"),
        Field("day", 2, "day of the latest erase, modulo 65536"),
        Field("day_erases", 2, "slot pages erased on that day"),
        Field("slot_pages", 2, "pages of one slot: a region of another shape is refused"),
        Field(
            "verdict",
            2,
            "top bits: 1 accept, 2 undecided, 3 reject, 0 none; rest: (ndcg + 32768) / 4",
        ),
        Field("parity", 4, "two check bytes for the first 144 bytes of each slot"),
        Field("keys", 4, "sequence of the newest key list; upper half: its epoch"),
        Field("manifest", 4, "highest sequence of a manifest that was taken in this epoch"),
        Field("crc", 4, "CRC-32 of the bytes before it"),
    ),
)
RECORD = Record(
    "Journal record",
    "R",
    (
        Field("sequence", 2, "place in its page, from 0; with the generation it orders all"),
        Field("state", 1, "see States"),
        Field("slot", 1, "bit 0: slot; bit 1: the other slot can be gone back to; rest: boots"),
        Field("low", 2, "staged: slot pages to erase; verified: parity; else see below"),
        Field("high", 2, "staged: day modulo 65536; verified: verdict; else see below"),
        Field("crc", 4, "CRC-32 of the page's generation and the bytes before it"),
    ),
)
UPDATE = Record(
    "Update container header",
    "U",
    (
        Field("magic", 4, "`AUPD`"),
        Field("format", 1, "version of this table: 2"),
        Field("form", 1, "see Forms"),
        Field("head", 2, "bytes of the target's header and section table, which follow"),
        Field("size", 4, "bytes of the instructions after them"),
        Field("crc", 4, "CRC-32 of the instructions (the target has its own SHA-256)"),
        Field("base", 32, "SHA-256 in the header of the capsule that it is applied to"),
    ),
)
MANIFEST = Record(
    "Manifest",
    "M",
    (
        Field("magic", 4, "`AMAN`"),
        Field("format", 1, "version of this table: 2"),
        Field("count", 1, "entries, which follow, 1 to 8; after them the signature"),
        Field("percent", 1, "share of the devices that take it, 0 to 100"),
        Field("encrypted", 1, "1: its objects are encrypted; 0: they are plain"),
        Field("model", 4, "model id"),
        Field("version", 4, "version of the capsule"),
        Field("epoch", 2, "of the key list whose keys count; 0 without one"),
        Field("expires", 2, "last day since 1970 on which it counts, 0: no end"),
        Field("sequence", 4, "rises with each change of any cohort of the model"),
        Field("total", 4, "bytes of the capsule"),
        Field("cohort", 8, "first bytes of the SHA-256 of the cohort's name"),
        Field("digest", 32, "SHA-256 in the capsule's header"),
    ),
)
ENTRY = Record(
    "Manifest entry",
    "E",
    (
        Field("base", 16, "first bytes of the base's SHA-256; zeros: the whole capsule"),
        Field("size", 4, "bytes of the file, before it was encrypted"),
        Field("name", 16, "first bytes of the file's SHA-256, in hexadecimal its name"),
    ),
)
REPORT = Record(
    "Device report",
    "T",
    (
        Field("magic", 4, "`AREP`"),
        Field("format", 1, "version of this table: 2"),
        Field("state", 1, "see States"),
        Field("outcome", 1, "of the latest pull, see Outcomes"),
        Field("zero", 1, "0"),
        Field("device", 4, "number of the device"),
        Field("model", 4, "model id"),
        Field("version", 4, "of the model in use, 0 for none"),
        Field("floor", 4, "highest version ever tried or refused"),
        Field("erases", 4, "slot pages erased so far"),
        Field("slot_bytes", 4, "bytes that a capsule may have"),
        Field("count", 4, "rises with each report of the device"),
        Field("reason", 12, "why the latest pull took nothing: the first letters, then zeros"),
        Field("digest", 32, "of the model in use, zeros for none"),
        Field("verdict", 1, "of the board on its latest verified model: as in the journal"),
        Field("resets", 1, "of this model on trial, or what the program counted"),
        Field("score", 2, "of the verdict, plus 32768"),
        Field("heap", 4, "free bytes of heap"),
        Field("erases_left", 4, "slot pages that may be erased today, 0x3fffffff: no limit"),
        Field("battery", 2, "millivolts, 0: not known"),
        Field("epoch", 2, "of the board; 32768 more where the model in use is of one before"),
        Field("tag", 32, "authenticity: HMAC-SHA-256 of the bytes before it"),
    ),
)
KEYS = Record(
    "Key list",
    "K",
    (
        Field("magic", 4, "`AKYL`"),
        Field("format", 1, "version of this table: 1"),
        Field("count", 1, "keys, which follow, 1 to 8; after them one signature, or two"),
        Field(
            "epoch", 2, "at most 16383; raised by the root to begin versions and sequences anew"
        ),
        Field("sequence", 2, "rises with each list"),
        Field("signatures", 1, "1; 2 where the root changes: the old root's, then the new one's"),
        Field("zero", 1, "0"),
        Field("root", 32, "public key of the root from this list on"),
    ),
)
KEY = Record(
    "Key of a list",
    "L",
    (
        Field("role", 1, "see Roles"),
        Field("zero", 3, "0"),
        Field("public", 32, "Ed25519 public key"),
    ),
)
TRUST = Record(
    "Trust of a board (its file capsule.key)",
    "A",
    (
        Field("magic", 4, "`AKEY`"),
        Field("format", 1, "version of this table: 2"),
        Field("algorithm", 1, "see Algorithms"),
        Field("check", 2, "low 16 bits of the sum of the algorithm and of all bytes after this"),
        Field("key", 32, "public key of the root, or the HMAC key"),
        Field("secret", 32, "of this board alone: authenticates what it saves"),
        Field("report", 32, "HMAC key of its reports"),
    ),
)
ENCRYPTED = Record(
    "Encrypted object header",
    "X",
    (
        Field("magic", 4, "`AENC`"),
        Field("format", 1, "version of this table: 1"),
        Field("zero", 3, "0"),
        Field("size", 4, "bytes of the plain object"),
        Field("mark", 8, "of the key: first bytes of a SHA-256"),
        Field("digest", 32, "SHA-256 in the header of the capsule that the object leads to"),
        Field("nonce", 20, "of this object alone; the page's number completes it to 24"),
    ),
)
RECORDS = (
    HEADER,
    SECTION,
    PAGE,
    RECORD,
    UPDATE,
    MANIFEST,
    ENTRY,
    REPORT,
    KEYS,
    KEY,
    TRUST,
    ENCRYPTED,
)

ENUMS: dict[str, tuple[str, dict[str, int]]] = {
    "Kinds": ("KIND", {"SVM": 1, "NETWORK": 2, "OPERATORS": 3, "DATA": 4}),
    "Sections": ("SEC", {"PROGRAM": 1, "WEIGHTS": 2, "OPERATORS": 3, "META": 4}),
    "Bounds": ("BOUND", {"BOARD": 128, "DEVICE": 129, "CODE": 130}),
    "Flags": ("FLAG", {"LOCAL": 1}),
    "States": (
        "ST",
        {"STAGED": 1, "VERIFIED": 2, "TRIAL": 3, "CONFIRMED": 4, "ROLLED_BACK": 5, "EMPTY": 6},
    ),
    "Floors": ("FLOOR", {"KEYS": 7, "MANIFEST": 8}),
    "Roles": ("ROLE", {"RELEASE": 1, "ROLLOUT": 2}),
    "Algorithms": ("ALG", {"HMAC": 1, "ED25519": 2}),
    "Forms": ("FORM", {"DELTA": 1, "WEIGHTS": 2, "OPERATORS": 3, "PATCH": 4}),
    "Instructions": ("OP", {"COPY": 1, "DATA": 2, "DIFF": 3}),
    "Outcomes": ("OUT", {"NONE": 0, "CURRENT": 1, "TAKEN": 2, "REFUSED": 3, "FAILED": 4}),
}
SECTIONS_MAX = 7
ENTRIES_MAX = 8
TAG_BYTES = 32
SIGNATURE_BYTES = 64
BOUND_MAX = (1 << 24) - 1
KEYS_MAX = 8
SEALED_PAGE = 512  # plain bytes of a page of an encrypted object
MAC_BYTES = 16
LIMITS = {
    "TAG_BYTES": TAG_BYTES,
    "SIGNATURE_BYTES": SIGNATURE_BYTES,
    "KEYS_MAX": KEYS_MAX,
    "ENTRIES_MAX": ENTRIES_MAX,
    "M_MAX": MANIFEST.bytes + ENTRIES_MAX * ENTRY.bytes + SIGNATURE_BYTES,
    "SECTIONS_MAX": SECTIONS_MAX,
    "HEAD_MAX": HEADER.bytes + SECTIONS_MAX * SECTION.bytes,
    "FIRST_BOUND": 128,
    "FORMAT": 1,
    "HEADER_FORMAT": 2,
    "UPDATE_FORMAT": 2,
    "REPORT_FORMAT": 2,
    "SEALED_PAGE": SEALED_PAGE,
    "MAC_BYTES": MAC_BYTES,
}


def constants() -> dict[str, int]:
    """Return every constant as a dictionary: offsets, lengths, enumerations, limits."""
    named: dict[str, int] = {**offsets(RECORDS)}
    for prefix, values in ENUMS.values():
        named.update({f"{prefix}_{name}": value for name, value in values.items()})
    return named | LIMITS


def c_header() -> str:
    """Return the text of native_modules/codec/layout.h."""
    lines = [
        "/* SPDX-License-Identifier: MIT",
        " * Generated by acclimate_host.capsules.layout: offsets and lengths of the formats. */",
        "#ifndef ACCLIMATE_LAYOUT_H",
        "#define ACCLIMATE_LAYOUT_H",
        "",
    ]
    lines += [f"#define AC_{name} {value}" for name, value in constants().items()]
    return "\n".join([*lines, "", "#endif", ""])


def tables() -> str:
    """Return the tables of the documentation, in Markdown."""
    parts = record_tables(RECORDS)
    for title, (_, values) in ENUMS.items():
        parts += [f"{title}: {listed(values)}.", ""]
    return "\n".join(parts)


GENERATED = Generated(
    "acclimate_host.capsules.layout",
    "layout",
    constants(),
    ("native_modules/codec/layout.h", c_header()),
    ("docs/capsules.md", tables()),
)

if __name__ == "__main__":
    sys.exit(GENERATED.main(sys.argv[1:]))
