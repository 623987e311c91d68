# SPDX-License-Identifier: MIT
# As manifest.py, and with what replaces models: frozen bytecode costs no RAM.
include("manifest.py")  # noqa: F821
package(  # noqa: F821
    "acclimate",
    (
        "__init__.py",
        "_native.py",
        "_net_check.py",
        "_net_read.py",
        "capsule.py",
        "client.py",
        "crc.py",
        "delta.py",
        "digest.py",
        "flash.py",
        "http.py",
        "journal.py",
        "manifest.py",
        "net.py",
        "nor.py",
        "octets.py",
        "operators.py",
        "pull.py",
        "rangecoder.py",
        "rangecoder_native.py",
        "sha256.py",
        "slots.py",
        "sockets.py",
        "store.py",
        "tunnel.py",
        "update.py",
    ),
    base_path="../../device",
    opt=3,  # without line numbers: the flash is full
)
