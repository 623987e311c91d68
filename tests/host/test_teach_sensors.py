# SPDX-License-Identifier: MIT
"""The ready adapters against a chip that is modelled by its registers: what a sample becomes."""

import runpy
import sys
import types
from array import array
from pathlib import Path

import pytest

from acclimate_host.teach import session

FOLDER = Path(session.__file__).parent / "sensors"


class Bus:
    """An I2C bus with one chip: registers that are written and read."""

    def __init__(self):
        self.registers = bytearray(256)
        self.written = {}

    def writeto_mem(self, address, register, data):
        self.written[register] = (address, data[0])

    def readfrom_mem_into(self, address, register, out):
        out[:] = self.registers[register : register + len(out)]


@pytest.fixture
def machine(monkeypatch):
    """MicroPython's module `machine`, as far as the adapters use it."""
    module = types.ModuleType("machine")
    module.bus = Bus()
    module.values = [32768]
    module.Pin = lambda number: number
    module.I2C = lambda number, scl, sda: module.bus

    class ADC:
        def __init__(self, pin):
            self.at = -1

        def read_u16(self):
            self.at += 1
            return module.values[self.at % len(module.values)]

    class I2S:
        RX, MONO = 0, 1

        def __init__(self, number, **options):
            module.options = options

        def readinto(self, out):
            for k in range(0, len(out), 2):
                out[k : k + 2] = (module.values[k // 2 % len(module.values)] & 0xFFFF).to_bytes(
                    2, "little"
                )

    module.ADC, module.I2S = ADC, I2S
    monkeypatch.setitem(sys.modules, "machine", module)
    return module


def _sample(name):
    adapter = runpy.run_path(str(FOLDER / f"{name}.py"))
    out = array("h", [7] * (adapter["channels"] + 2))
    adapter["read"](out, 1)
    assert out[0] == 7 and out[-1] == 7  # nothing beside its own place
    return list(out[1:-1])


def test_every_adapter_but_the_replay_is_tried_here():
    tried = {"adc", "microphone", "i2s_microphone", "mpu6050", "lsm6ds3", "lsm9ds1"}
    assert set(session.SENSORS) == tried | {"replay"}


VALUES = (100, -200, 4096, -32768, 32767, 5)


def test_mpu6050_reads_big_endian_around_the_temperature(machine):
    words = [*VALUES[:3], 999, *VALUES[3:]]
    machine.bus.registers[0x3B : 0x3B + 14] = b"".join(
        v.to_bytes(2, "big", signed=True) for v in words
    )
    assert _sample("mpu6050") == list(VALUES)
    assert machine.bus.written[0x6B] == (0x68, 0)  # it was asleep


def _little(values):
    return b"".join(v.to_bytes(2, "little", signed=True) for v in values)


def test_lsm6ds3_gives_the_accelerometer_first(machine):
    machine.bus.registers[0x22 : 0x22 + 12] = _little(VALUES[3:] + VALUES[:3])
    assert _sample("lsm6ds3") == list(VALUES)
    assert machine.bus.written[0x10] == (0x6A, 0x4C)


def test_lsm9ds1_reads_both_of_its_parts(machine):
    machine.bus.registers[0x28 : 0x28 + 6] = _little(VALUES[:3])
    machine.bus.registers[0x18 : 0x18 + 6] = _little(VALUES[3:])
    assert _sample("lsm9ds1") == list(VALUES)


@pytest.mark.parametrize(("value", "sample"), [(0, -32768), (32768, 0), (65535, 32767)])
def test_adc_is_centred(machine, value, sample):
    machine.values = [value]
    assert _sample("adc") == [sample]


def test_microphones_tell_loud_from_silent_and_high_from_low(machine):
    machine.values = [32768]
    assert _sample("microphone") == [0, 0, 0]
    machine.values = [22768, 42768]
    assert _sample("microphone") == [10000, 10000, 63 * 256]
    machine.values = [22768, 22768, 42768, 42768]
    assert _sample("microphone")[2] == 31 * 256
    machine.values = [0]
    assert _sample("i2s_microphone") == [0, 0, 0]
    machine.values = [-9000] * 8 + [9000] * 8
    loud, peak, changes = _sample("i2s_microphone")
    assert (loud, peak) == (9000, 9000) and changes == 39 * 256
