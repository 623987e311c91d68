# SPDX-License-Identifier: MIT
"""The loader imports what the manifest describes, and nothing that differs from it."""
# RUNTIMES = ("desktop", "desktop-f32", "nrf52840", "samd21", "esp32", "rv32")

import gc
import os
import sys

import acclimate
from acclimate import _crc32, _loader, _native

# Bytecode of "def answer(): return 42"; the loader does not care what kind of code it is.
PROBE = (
    b"\x4d\x06\x00\x1f\x03\x00\x02\x70\x00\x0f\x0c\x61\x6e\x73\x77\x65\x72\x00\x4c\x00"
    b"\x02\x01\x32\x00\x16\x02\x51\x63\x01\x28\x00\x02\x02\xaa\x63"
)
ask = _native.load
FOLDER = _native.__file__.rpartition("/")[0]
PATH = FOLDER + "/_probe.mpy"


class Manifest:
    VERSION = acclimate.__version__
    NATIVE = {"_probe": (len(PROBE), _crc32.crc32(PROBE))}


def use_manifest():
    sys.modules.get("acclimate._loader", _loader)._kept = None  # forgotten, and there anew
    acclimate._manifest = sys.modules["acclimate._manifest"] = Manifest


def load(content, version=acclimate.__version__):
    """Load the probe from a file with this content; return the module or None."""
    if content is not None:
        with open(PATH, "wb") as file:
            file.write(content)
    Manifest.VERSION = version
    use_manifest()
    for known in (_native._loaded, _native._reasons):
        known.pop("probe", None)
    sys.modules.pop("_probe", None)
    try:
        return ask("probe")
    finally:
        if content is not None:
            os.remove(PATH)


def test_a_module_that_the_manifest_registers_is_not_told_as_missing():
    """A firmware's manifest registers all at its first import, also the one that was asked for."""
    read, module = _loader._read_manifest, object()

    def registers():
        _native.register("probe", module, "built in")
        Manifest.VERSION = acclimate.__version__
        return Manifest

    _loader._kept, _loader._read_manifest = None, registers
    names, Manifest.NATIVE = Manifest.NATIVE, {}
    for known in (_native._loaded, _native._reasons):
        known.pop("probe", None)
    try:
        assert ask("probe") is module and _native.reason("probe") == "built in"
    finally:
        _loader._read_manifest, Manifest.NATIVE = read, names


def test_the_right_file_is_loaded_once_and_kept():  # case: A10
    module = load(PROBE)
    assert module.answer() == 42
    assert _native.reason("probe") == "loaded"
    sys.modules.pop("_probe")
    answer = module.answer
    del module
    for _ in range(20):
        gc.collect()
    assert answer() == 42
    assert ask("probe").answer() == 42  # the file is gone: not read again


def test_no_truncated_file_is_imported():  # case: A16
    for size in range(len(PROBE)):
        assert load(PROBE[:size]) is None, size
        assert "refused: %d bytes, not %d" % (size, len(PROBE)) == _native.reason("probe")


def test_no_flipped_bit_is_imported():  # case: A17
    for at in range(len(PROBE)):
        damaged = bytearray(PROBE)
        damaged[at] ^= 1 << at % 8
        assert load(damaged) is None, at
        assert _native.reason("probe") == "refused: its CRC-32 differs", at


def test_a_longer_file_is_refused():
    assert load(PROBE + b"\0") is None


def test_a_missing_file_and_a_missing_entry_have_their_reasons():
    assert load(None) is None
    assert _native.reason("probe") == "_probe.mpy is not installed"
    use_manifest()
    assert ask("nothing") is None
    assert _native.reason("nothing") == "no native module for this board"
    assert _native.reason("never asked for") is None


def test_modules_of_another_release_raise_one_clear_error():
    try:
        load(PROBE, "0.0.9")
    except ImportError as error:
        text = str(error)
        assert "0.0.9" in text and acclimate.__version__ in text and "install" in text, text
    else:
        raise AssertionError("a mixed set was accepted")


def test_the_manifest_gives_its_memory_back():
    load(PROBE)
    assert "acclimate._manifest" not in sys.modules
    assert not hasattr(acclimate, "_manifest")


def test_where_the_heap_is_small_nothing_is_kept_for_the_next_module():
    load(PROBE)
    if _loader is acclimate:  # one file there, for boards whose heap is not small
        assert _loader._kept is Manifest
    else:
        assert "acclimate._loader" not in sys.modules and not hasattr(acclimate, "_loader")


def test_a_registered_module_is_returned():
    _native.register("made", os)
    assert ask("made") is os
    assert _native.reason("made") == "registered"
