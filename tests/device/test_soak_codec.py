# SPDX-License-Identifier: MIT
"""The native module of updates bears being called for long, and being collected around."""
# RUNTIMES = ("desktop-native", "desktop-f32", "nrf52840", "samd21", "esp32", "rv32")

from array import array

import soak

from acclimate import _native


def test_every_function_of_update():  # case: A10, A11
    core = _native.load("codec")
    if core is None:
        return "no native module here"
    state, range_state = bytearray(core.SHA_BYTES), bytearray(core.RC_BYTES)
    data, out, crc = bytearray(range(64)), bytearray(64), bytearray(4)
    place = array("i", (4, 0, 8, 64, 3))
    head = array("i", (4, 0, 0, 0, 0))
    core.sha_start(state)
    core.rc_start(range_state, data)
    windows = array("h", (1, 2, 3, 9)), array("b", (0,))
    cases = {"window": (windows + (1, 4, 16), lambda done: done and windows[1][0] == 3)}
    if not hasattr(core, "window"):
        cases = {}  # not on a board with little RAM
    cases.update(
        {
            "sha_start": ((state,), None),
            "sha_update": ((state, data, 5), None),
            "sha_part": ((state, data, 3, 9), None),
            "sha_finish": ((bytearray(state), out), None),
            "copy": ((out, 1, data, 2, 60), lambda _: out[1] == 2 and out[60] == 61),
            "common_prefix": ((data, 4, data, 4, 60), lambda n: n == 60),
            "crc_update": ((crc, data, 0, 7), None),
            "rc_start": ((range_state, data), None),
            "rc_head": ((range_state, data, head), lambda _: 1 <= head[0] <= 3 and head[4] <= 62),
            "rc_block": ((range_state, data, bytearray(8), bytearray(8), place), None),
        }
    )
    soak.call(core, cases)
    core = _native.load("codec")  # after all this it still computes what is right
    core.sha_start(state)
    core.sha_update(state, b"abc", 3)
    core.sha_finish(state, out)
    assert bytes(out[:4]) == b"\xba\x78\x16\xbf"
