# SPDX-License-Identifier: MIT
"""Regions that are written directly: on emulated boards, as ESP32 partitions, as UF2."""

import os
import struct

import capsule_cases as cases
import pytest

from acclimate_host.capsules import flasher, partitions
from acclimate_host.capsules.image import (
    TooLarge,
    fit,
    region_bytes_for,
    region_image,
    slot_bytes,
)
from acclimate_host.capsules.partitions import Partition
from acclimate_host.cli import main
from acclimate_host.connect import why_not
from acclimate_host.errors import ConnectError, Refused
from acclimate_host.testing.nor import NorFlash
from harness import esp32_loader
from harness.errors import naming

MB = 1 << 20
TABLE = [
    Partition("nvs", 1, 2, 0x9000, 0x6000),
    Partition("phy_init", 1, 1, 0xF000, 0x1000),
    Partition("factory", 0, 0, 0x10000, 0x1F0000),
    Partition("vfs", 1, 0x81, 0x200000, 0x200000),
]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "key").write_bytes(cases.KEY)
    (tmp_path / "capsule").write_bytes(cases.capsule(3, cases.weights(3000, 1)))
    (tmp_path / "table").write_bytes(partitions.write(TABLE))
    return tmp_path


def test_the_image_is_a_store_with_the_model_confirmed():
    capsule = cases.capsule(3)
    flash = cases.flash()
    flash.data[:] = region_image(capsule, flash.size, 256, cases.KEY)
    store = cases.store(flash)
    assert store.state == "confirmed" and cases.active(store) == capsule
    store.swap_capsule(cases.capsule(4))


def test_a_slot_to_the_last_byte_and_one_byte_more():
    room = slot_bytes(10 * 256, 256)
    empty = len(cases.capsule(1, b""))
    assert region_image(cases.capsule(1, bytes(room - empty)), 10 * 256, 256)
    with pytest.raises(TooLarge, check=naming("1,028", "1,024")):
        region_image(cases.capsule(1, bytes(room - empty + 1)), 10 * 256, 256)
    for total in (1, 4095, 4096, 100_000):
        assert slot_bytes(region_bytes_for(total, 4096, 0), 4096) >= total
        assert slot_bytes(region_bytes_for(total, 4096, 0) - 8192, 4096) < total


def test_ways_out_are_compared_before_anything_is_sent():
    assert fit(4000, 10 * 4096, 10 * 4096).way == "fits"
    assert fit(40000, 10 * 4096, 64 * 4096).way == "new layout"
    assert "fits in the flash" in fit(40000, 10 * 4096, 64 * 4096).text()
    assert fit(400000, 10 * 4096, 64 * 4096).way == "no room"
    assert "no room: 400,000 bytes need" in fit(400000, 10 * 4096, 64 * 4096).text()


def test_a_damaged_or_foreign_capsule_is_not_written():
    with pytest.raises(Refused, match="authenticity"):
        region_image(cases.capsule(1, key=bytes(32)), 40960, key=cases.KEY)
    bad = bytearray(cases.capsule(1))
    bad[-1] ^= 1
    with pytest.raises(Refused, match="integrity"):
        region_image(bytes(bad), 40960)


@pytest.mark.parametrize("name", ["desktop", "nrf52840", "samd21"])
def test_the_command_writes_boards(files, name, capsys):
    if why_not(name):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why_not(name))
    size = "0x5000" if name == "samd21" else "0xa000"
    command = ["flash-capsule", str(files / "capsule"), "--board", name, "--bytes", size]
    assert main([*command, "--key", str(files / "key")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{name}: version 3, confirmed"


@pytest.mark.slow
def test_what_does_not_fit_is_said_before_and_with_the_way_out(files, capsys):
    if why_not("nrf52840"):
        pytest.skip(why_not("nrf52840"))
    (files / "large").write_bytes(cases.capsule(3, cases.weights(20000, 1)))
    command = ["flash-capsule", str(files / "large"), "--board", "nrf52840", "--bytes"]
    assert main([*command, "0x6000"]) == 6
    said = capsys.readouterr()
    assert "too large for this region: 20,144 bytes, a slot has 8,192" in said.out
    assert "nothing was written; run again with --bytes 65536" in said.err
    assert main([*command, "65536"]) == 0


def test_tables_read_back_and_a_capsule_partition_is_added():
    assert partitions.read(partitions.write(TABLE)) == TABLE
    with pytest.raises(Refused, match="--shrink one of: vfs"):
        partitions.with_capsule(TABLE, 0x20000, 4 * MB)
    made = partitions.with_capsule(TABLE, 0x20000, 4 * MB, "vfs")
    assert partitions.find(made) == Partition("capsule", 1, 0x40, 0x3E0000, 0x20000)
    assert partitions.find(made, "vfs").end == 0x3E0000
    larger = partitions.with_capsule(TABLE, 0x20000, 8 * MB)
    assert partitions.find(larger).offset == 0x400000 and larger[:4] == TABLE
    again = partitions.with_capsule(made, 0x40000, 8 * MB)
    assert [p.name for p in again].count("capsule") == 1


def test_espressifs_own_reader_takes_the_table():
    theirs = pytest.importorskip("esp_idf_defs.partitions")
    made = partitions.with_capsule(TABLE, 0x20000, 4 * MB, "vfs")
    table = theirs.PartitionTable.from_binary(partitions.write(made))
    table.verify()
    found = [(p.name, p.type, p.subtype, p.offset, p.size) for p in table]
    assert found == [(p.name, p.type, p.subtype, p.offset, p.size) for p in made]
    assert table.to_binary() == partitions.write(made)


@pytest.mark.parametrize(
    "change,text",
    [
        (Partition("odd", 1, 0x40, 0x400800, 0x1000), "not aligned"),
        (Partition("app", 0, 0x10, 0x401000, 0x10000), "not aligned"),
        (Partition("over", 1, 0x40, 0x3FF000, 0x2000), "overlaps"),
        (Partition("out", 1, 0x40, 0x7FF000, 0x2000), "ends at"),
        (Partition("low", 1, 0x40, 0x8000, 0x1000), "overlaps"),
    ],
)
def test_impossible_tables_are_refused(change, text):
    with pytest.raises(Refused, match=text):
        partitions.check([*TABLE, change], 8 * MB)


def test_every_flipped_bit_of_a_table_is_found():
    data = partitions.write(TABLE)
    for at in range(32 * len(TABLE) + 32):
        bad = bytearray(data)
        bad[at] ^= 1
        try:
            assert partitions.read(bytes(bad)) != TABLE or 32 * 4 + 2 <= at < 32 * 4 + 16
        except Refused:
            pass
    for junk in (b"", b"\xff" * 3072, bytes(3072)):
        with pytest.raises(Refused, match="no partition table"):
            partitions.read(junk)


def test_files_for_an_esp32_are_prepared_and_esptool_merges_them(files, capsys):
    pytest.importorskip("esptool")
    code = bytes(range(256)) * 40
    firmware = bytes(0x7000) + partitions.write(TABLE) + b"\xff" * 0x7400 + code
    (files / "firmware").write_bytes(firmware)
    command = ["flash-capsule", str(files / "capsule"), "--table", str(files / "table")]
    options = ["--shrink", "vfs", "-o", str(files / "out"), "--firmware", str(files / "firmware")]
    assert main([*command, *options, "--key", str(files / "key")]) == 0
    assert "capsule  new" in capsys.readouterr().out
    table = partitions.read((files / "out" / "partition-table.bin").read_bytes())
    place = partitions.find(table)
    whole = (files / "out" / "firmware-with-capsule.bin").read_bytes()
    assert partitions.read(whole[0x8000:]) == table
    assert whole[0x10000:][: len(code)] == code
    image = (files / "out" / "capsule-region.bin").read_bytes()
    assert whole[place.offset : place.end].ljust(place.size, b"\xff") == image
    flash = NorFlash(place.size, 4096)
    flash.data[:] = image
    assert cases.active(cases.store(flash)) == (files / "capsule").read_bytes()


def test_a_chip_is_read_before_it_is_written(files):
    calls = []

    def run(*arguments):
        calls.append(arguments[2])
        if arguments[2] == "read-flash":
            made = partitions.with_capsule(TABLE, 0x4000, 8 * MB)
            arguments[-1].write_bytes(partitions.write(made))

    place = flasher.write_esp32(
        "/dev/ttyUSB0", lambda size: region_image(cases.capsule(1), size), run
    )
    assert calls == ["read-flash", "write-flash", "verify-flash"] and place.size == 0x4000
    calls.clear()
    large = cases.capsule(1, bytes(5000))
    with pytest.raises(TooLarge):
        flasher.write_esp32("/dev/ttyUSB0", lambda size: region_image(large, size), run)
    assert calls == ["read-flash"]
    pytest.importorskip("esptool")
    with pytest.raises(ConnectError, match="esptool: "):
        flasher.esptool("--port", "/dev/none", "read-flash", "0", "16", files / "none")


def test_esptool_writes_the_capsule_partition_of_a_chip(files, capsys):
    pytest.importorskip("esptool")
    flash = bytearray(b"\xa5" * (8 * MB))
    made = partitions.with_capsule(TABLE, 0x4000, 8 * MB)
    table = partitions.write(made).ljust(partitions.TABLE_BYTES, b"\xff")
    flash[partitions.TABLE_AT : partitions.TABLE_AT + len(table)] = table
    before, place = bytes(flash), partitions.find(made)
    with esp32_loader.Chip(flash) as chip:
        command = ["flash-capsule", str(files / "capsule"), "--esp32", chip.url]
        assert main([*command, "--key", str(files / "key")]) == 0
    assert flash[: place.offset] == before[: place.offset]
    assert flash[place.end :] == before[place.end :]
    region = NorFlash(place.size, 4096)
    region.data[:] = flash[place.offset : place.end]
    assert cases.active(cases.store(region)) == (files / "capsule").read_bytes()


def test_a_chip_without_the_partition_is_left_as_it_is(files, capsys):
    pytest.importorskip("esptool")
    flash = bytearray(b"\xff" * (4 * MB))
    flash[partitions.TABLE_AT : partitions.TABLE_AT + 3072] = partitions.write(TABLE).ljust(
        3072, b"\xff"
    )
    with esp32_loader.Chip(flash) as chip:
        command = ["flash-capsule", str(files / "capsule"), "--esp32", chip.url]
        assert main([*command, "--key", str(files / "key")]) != 0
        assert not chip.writes
    assert "no partition capsule" in capsys.readouterr().err


@pytest.mark.parametrize(
    "family,start,size",
    [
        ("nrf52840", "0xF4000", "0x8000"),
        ("nrf52840", "0x1000", "0x8000"),
        ("nrf52840", "0x30000", "0x8000"),
        ("nrf52840", "0xC0010", "0x8000"),
        ("nrf52840", "0xC0000", "0x8010"),
        ("nrf52840", "0xEE000", "0x8000"),
        ("nrf52840", "0x100000", "0x8000"),
        ("nrf52840", "0xC0000", "0x3000"),
        ("samd21", "0x400", "0x2000"),
        ("samd21", "0x2000", "0x2000"),
        ("samd21", "0x3c200", "0x2000"),
        ("samd21", "0x3f000", "0x2000"),
        ("samd21", "0x40000", "0x2000"),
    ],
)
def test_uf2_where_loader_firmware_or_nothing_is_makes_no_file(files, capsys, family, start, size):
    command = ["flash-capsule", str(files / "capsule"), "--uf2", family, "-o", str(files)]
    assert main([*command, "--start", start, "--bytes", size]) != 0
    assert start.lower() in capsys.readouterr().err.lower()
    assert not (files / "capsule-region.uf2").exists()


def test_uf2_holds_the_region_at_its_address(files, capsys):
    command = ["flash-capsule", str(files / "capsule"), "--uf2", "nrf52840", "-o", str(files)]
    assert main(command) == 2
    assert main([*command, "--start", "0xC0000", "--bytes", "0xa000"]) == 0
    data = (files / "capsule-region.uf2").read_bytes()
    image = b""
    for at in range(0, len(data), 512):
        words = struct.unpack_from("<8I", data, at)
        assert words[:2] == (0x0A324655, 0x9E5D5157) and words[7] == 0xADA52840
        assert words[3] == 0xC0000 + len(image) and words[6] == len(data) // 512
        assert struct.unpack_from("<I", data, at + 508)[0] == 0x0AB16F30
        image += data[at + 32 : at + 288]
    assert image == region_image((files / "capsule").read_bytes(), 0xA000)
