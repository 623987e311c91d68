# SPDX-License-Identifier: MIT
"""Flash maps, ROMFS, saving and damaged patches, as people met them elsewhere."""

import errno
import hashlib
import re

import capsule_cases as cases
import pytest
from test_flash_capsule import MB, TABLE

from acclimate.store import SavePolicy, Updater
from acclimate_host import cli
from acclimate_host.capsules import flash_map, flasher, partitions, region
from acclimate_host.capsules.image import region_image
from acclimate_host.capsules.partitions import Partition
from acclimate_host.connect import open_board, package, romfs, why_not
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, Missing, NoRegion, Refused
from acclimate_host.testing.nor import NorFlash
from harness.errors import naming

PLACE = Partition("capsule", 1, 0x40, 0x400000, 0x8000)


@pytest.fixture
def desktop():
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    with open_board("desktop") as board:
        yield board


# ---- the map of a chip ---------------------------------------------------------------------


def doctor(tmp_path, table, capsys, *options):
    path = tmp_path / "table.bin"
    path.write_bytes(partitions.write(table))
    code = cli.main(["doctor", "--table", str(path), "--flash-bytes", "0x800000", *options])
    return code, capsys.readouterr().out


@pytest.mark.case("E8", "F3")
@pytest.mark.parametrize(
    "extra, text",
    [
        (Partition("over", 1, 0x40, 0x3FF000, 0x2000), "overlaps what ends at 0x400000"),
        (Partition("ota_1", 0, 0x11, 0x412000, 0x100000), "ota_1 at 0x412000.*not aligned"),
        (Partition("odd", 1, 0x40, 0x400800, 0x1000), "not aligned"),
        (Partition("out", 1, 0x40, 0x7FF000, 0x2000), "ends at 0x801000, the flash at 0x800000"),
    ],
)
def test_doctor_prints_the_map_and_refuses_what_cannot_be(tmp_path, capsys, extra, text):
    code, out = doctor(tmp_path, [*TABLE, extra], capsys)
    assert code == 9
    for p in (*TABLE, extra):
        assert f"{p.offset:#9x} {p.size:#9x}  " in out and p.name in out
    [problem] = [line for line in out.splitlines() if line.startswith("problem")]
    assert re.search(text, problem)


@pytest.mark.case("E8")
def test_a_slot_that_is_full_to_the_last_bytes_is_told(tmp_path, capsys):
    (tmp_path / "m").write_bytes(bytes(12288 - 32))
    code, out = doctor(tmp_path, [*TABLE, PLACE], capsys, "--capsule", str(tmp_path / "m"))
    assert code == 0 and "note" in out and "32 left (99.74% full): the next one may not" in out
    (tmp_path / "m").write_bytes(bytes(12288 + 1))
    code, out = doctor(tmp_path, [*TABLE, PLACE], capsys, "--capsule", str(tmp_path / "m"))
    assert code == 9 and "1 too few: acclimate flash-capsule --table FILE makes one of" in out
    code, out = doctor(tmp_path, TABLE, capsys, "--capsule", str(tmp_path / "m"))
    assert code == 9 and "no partition capsule" in out
    (tmp_path / "f").write_bytes(bytes(0x1F0000 + 1))
    code, out = doctor(tmp_path, TABLE, capsys, "--firmware", str(tmp_path / "f"))
    assert code == 9 and "in factory" in out


@pytest.mark.case("F3")
def test_an_image_larger_than_its_place_is_refused_with_the_map(tmp_path, capsys):
    rom = Partition("romfs", 1, 0x8F, 0x410000, 0x10000)
    (tmp_path / "r").write_bytes(bytes(0x10001))
    code, out = doctor(tmp_path, [*TABLE, rom], capsys, "--romfs", str(tmp_path / "r"))
    assert code == 9 and "ROMFS image of 65,537 bytes in romfs: 65,536 there, 1 too few" in out
    assert "romfs" in out.splitlines()[4]


_ESP32 = """
import sys
class Partition:
    TYPE_APP, TYPE_DATA = 0, 1
    table = {table!r}
    def __init__(self, entry): self.entry = entry
    @classmethod
    def find(cls, type=0, subtype=255, label=None):
        return [cls(e) for e in cls.table if e[0] == type and label in (None, e[4])]
    def info(self): return self.entry
class esp32: pass
esp32.Partition = Partition
class esp: pass
esp.flash_size = lambda: {flash}
sys.modules['esp32'], sys.modules['esp'] = esp32, esp
"""


def pretend_esp32(board, table, flash=4 * MB):
    rows = [(p.type, p.subtype, p.offset, p.size, p.name, False) for p in table]
    board.exec(_ESP32.format(table=rows, flash=flash))


@pytest.mark.case("E8")
def test_the_map_of_a_board_is_read_at_its_prompt(desktop):
    assert flash_map.of_board(desktop) == ([], 0)
    pretend_esp32(desktop, TABLE)
    assert flash_map.of_board(desktop) == (TABLE, 4 * MB)
    pretend_esp32(desktop, [*TABLE, PLACE])
    states = [state for state, _ in flash_map.judge(*flash_map.of_board(desktop))]
    assert states == ["ok"] * 5 + ["problem"]


@pytest.mark.case("E6")
def test_a_missing_partition_is_explained_before_anything_is_sent(desktop, tmp_path, monkeypatch):
    pretend_esp32(desktop, TABLE)
    monkeypatch.setattr(region, "_kind", lambda board: "esp32")
    monkeypatch.setattr(desktop, "name", "/dev/ttyUSB0")
    chosen = "acclimate_host.commands.flash_capsule.open_chosen"
    monkeypatch.setattr(chosen, lambda *a, **k: desktop)
    (tmp_path / "m").write_bytes(cases.capsule(1))
    assert cli.main(["flash-capsule", str(tmp_path / "m"), "--port", "/dev/ttyUSB0"]) == 6
    assert not (tmp_path / "lib").exists() and desktop.process.poll() is not None


@pytest.mark.case("E6")
def test_a_chip_without_the_partition_is_not_written(tmp_path):
    calls = []

    def run(*arguments):
        calls.append(arguments[2])
        arguments[-1].write_bytes(partitions.write(TABLE))

    with pytest.raises(Refused, match="no partition capsule; make a table: --table"):
        flasher.write_esp32("/dev/ttyUSB0", lambda size: region_image(cases.capsule(1), size), run)
    assert calls == ["read-flash"]


# ---- ROMFS ---------------------------------------------------------------------------------


@pytest.mark.case("F1")
def test_a_romfs_image_holds_bytecode_only_and_runs_from_there(desktop, tmp_path, capsys):
    path = tmp_path / "image.romfs"
    command = ["romfs", "-o", str(path), "--arch", "x64", "--only", "svm"]
    assert cli.main(command) == 0
    assert "native modules in ROMFS are still copied to RAM" in capsys.readouterr().out
    image = path.read_bytes()
    desktop.put_bytes(image, desktop.root + "/image")
    answer = desktop.exec(
        "import vfs, os, sys\nwith open('image', 'rb') as f: image = f.read()\n"
        "vfs.mount(vfs.VfsRom(image), '/rom')\nsys.path.insert(0, '/rom/lib')\n"
        "print(sorted(os.listdir('/rom/lib/acclimate')))\n"
        "from acclimate.svm import SVM\nm = SVM().fit([[0], [4]], [0, 1])\n"
        "from acclimate import _native\nprint(m.predict([3]), _native.reason('svm'))\n"
        "print(sys.modules['acclimate.svm'].__file__)"
    ).splitlines()
    assert ".py'" not in answer[0] and "'svm.mpy'" in answer[0]
    how = "loaded" if package.natives("x64") else "no native module for this board"
    assert answer[1:] == ["1 " + how, "/rom/lib/acclimate/svm.mpy"]
    assert len(image) < sum(map(len, package.build("x64", ["svm"]).values())) * 1.1
    assert cli.main(["romfs", "-o", str(path), "--only", "svm"]) == 0
    assert "no native modules in it: --arch ARCH puts them in" in capsys.readouterr().out


_ROM = """
import sys
class vfs: pass
data = bytearray(b'\\xff' * {size})
erased = []
def rom_ioctl(what, number=0, a=0, b=b''):
    if what == 1: return {count}
    if number >= {count}: return -22
    if what == 2: return memoryview(data)
    if what == 6: return 4096
    if what == 3:
        erased.append(a)
        return {least}
    if what == 4:
        data[a:a + len(b)] = b
    return 0
if {has}: vfs.rom_ioctl = rom_ioctl
sys.modules['vfs'] = vfs
"""


def pretend_rom(board, size=65536, count=1, has=True, least=8):
    board.exec(_ROM.format(size=size, count=count, has=has, least=least))


@pytest.mark.case("F4")
def test_no_romfs_and_no_region_are_two_messages_with_two_exit_codes(desktop):
    pretend_rom(desktop, has=False)
    with pytest.raises(Missing, match="this firmware has no ROMFS") as none:
        romfs.region(desktop)
    pretend_rom(desktop, size=0)
    with pytest.raises(NoRegion, check=naming(0, 0)) as empty:
        romfs.region(desktop)
    pretend_rom(desktop, count=0)
    with pytest.raises(NoRegion, match="no region 0: its table has none"):
        romfs.region(desktop)
    assert none.value.exit_code == 7 and empty.value.exit_code == 8
    pretend_rom(desktop)
    assert romfs.region(desktop)[:3] == (65536, 4096, False)


@pytest.mark.case("F3")
def test_an_image_is_written_to_a_board_and_read_back(desktop, monkeypatch):
    pretend_rom(desktop)
    image = romfs.build(None, ["svm"], pure=True)
    romfs.deploy(desktop, image)
    digest = desktop.exec(
        f"import hashlib\nprint(hashlib.sha256(data[:{len(image)}]).digest().hex(), erased)"
    ).split()
    assert digest == [hashlib.sha256(image).hexdigest(), f"[{len(image)}]"]
    with pytest.raises(Refused, match="no ROMFS image"):
        romfs.deploy(desktop, b"x" * 100)
    pretend_rom(desktop, size=4096)
    with pytest.raises(Refused, check=naming("4,096", "--only")):
        romfs.deploy(desktop, image)
    assert desktop.exec("print(erased)") == "[]\n"
    pretend_rom(desktop, least=-5)
    with pytest.raises(AcclimateError, check=naming("-5")):
        romfs.deploy(desktop, image)
    pretend_rom(desktop)
    desktop.exec(
        "def rom_lost(what, number=0, a=0, b=b''):\n"
        " return 0 if what == 4 and a > 4000 else rom_ioctl(what, number, a, b)\n"
        "vfs.rom_ioctl = rom_lost"
    )
    with pytest.raises(AcclimateError, match="reads back different"):
        romfs.deploy(desktop, image)
    assert install(desktop, ["_sha256"])  # the board is not left in a strange state


# ---- saving, page writes, patches ----------------------------------------------------------


@pytest.mark.case("D14")
def test_the_save_policy_keeps_2880_samples_a_day_from_the_flash():
    now, day = [0], [0]
    store = cases.store(cases.flash(), day_pages=20, day=lambda: day[0])
    store.swap_capsule(cases.capsule(1))
    saver, start = SavePolicy(store, every_s=3600, clock=lambda: now[0]), store.journal.erases
    answers = []
    for sample in range(2880):
        now[0] = sample * 30
        answers.append(saver.save(cases.weights(301, sample // 7)))
    assert answers.count("saved") == 9 and answers.count("budget") > 0  # 20 pages, 2 each, 1 used
    assert store.journal.erases - start == 18 and saver.saves == 9
    assert set(answers) == {"saved", "too soon", "budget"}
    now[0], day[0] = 86400, 1
    assert saver.save(cases.weights(301, 9999)) == "saved" and saver.warning == ""


@pytest.mark.case("D15")
def test_a_budget_is_visible_before_it_blocks():
    store = cases.store(cases.flash(), day_pages=10, day=lambda: 5)
    store.swap_capsule(cases.capsule(1))
    saver, seen = SavePolicy(store, every_s=0, clock=lambda: 0), []
    for i in range(5):
        seen.append((saver.saves_left(), saver.warning, saver.save(cases.weights(301, 50 + i))))
    assert seen == [
        (4, "", "saved"),
        (3, "", "saved"),
        (2, "2 more saves today", "saved"),
        (1, "1 more saves today", "saved"),
        (0, "0 more saves today", "budget"),
    ]
    assert "0 left today, 10 erases" in repr(saver)


@pytest.mark.case("D14")
def test_nothing_is_written_when_nothing_changed_and_a_clock_may_go_back():
    now = [100]
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    saver, steps = SavePolicy(store, every_s=60, clock=lambda: now[0]), store.flash.steps
    assert saver.save(cases.weights(301, 1)) == "unchanged" and store.flash.steps == steps
    assert saver.save(cases.weights(301, 2)) == "saved"
    now[0] = 10
    assert saver.save(cases.weights(301, 3)) == "too soon" and saver.wait_s() == 60
    now[0] = 71
    assert saver.save(cases.weights(301, 3)) == "saved"
    with pytest.raises(ValueError, match="every_s: expected 0"):
        SavePolicy(store, every_s=-1)


class Busy(NorFlash):
    """Page writes during a connection: half arrives, and the driver gives up or says nothing."""

    left, is_silent, at = 0, False, 512

    def _program(self, at, buffer):
        if self.left and at >= self.at:
            self.left -= 1
            super()._program(at, memoryview(buffer)[: len(buffer) // 8 * 4])
            if not self.is_silent:
                raise OSError(errno.ETIMEDOUT)
            return
        super()._program(at, buffer)


@pytest.mark.case("D7")
@pytest.mark.parametrize("is_silent", [False, True])
def test_a_page_write_that_stopped_half_way_is_tried_again(is_silent):
    store = cases.store(Busy(10 * 256, 256))
    store.swap_capsule(cases.capsule(1))
    store.flash.left, store.flash.is_silent = 1, is_silent
    store.swap_capsule(cases.capsule(2))
    assert cases.active(cases.store(store.flash)) == cases.capsule(2)


@pytest.mark.case("D7")
@pytest.mark.parametrize("is_silent", [False, True])
def test_half_a_page_is_no_model(is_silent):
    store = cases.store(Busy(10 * 256, 256))
    store.swap_capsule(cases.capsule(1))
    store.flash.left, store.flash.is_silent = 10**6, is_silent
    with pytest.raises(OSError):
        store.swap_capsule(cases.capsule(2))
    store.flash.left = 0
    again = cases.store(store.flash)
    assert cases.active(again) == cases.capsule(1) and again.state == "staged"
    again.swap_capsule(cases.capsule(2))
    assert cases.active(again) == cases.capsule(2)


@pytest.mark.case("E15")
def test_a_patch_that_went_through_a_text_channel_is_refused(tmp_path):
    """Line ends and an end-of-file mark in it: binary files carry them, text modes do not."""
    for seed in range(200):
        new = cases.capsule(2, cases.tuned(cases.weights(301, 1), seed))
        (tmp_path / "a").write_bytes(cases.capsule(1))
        (tmp_path / "b").write_bytes(new)
        command = ["capsule", "diff", str(tmp_path / "a"), str(tmp_path / "b")]
        assert cli.main([*command, "-o", str(tmp_path / "p")]) == 0
        patch = (tmp_path / "p").read_bytes()
        if b"\n" in patch[48:] and b"\x1a" in patch[48:]:
            break
    damaged = {
        "line ends": patch.replace(b"\n", b"\r\n"),
        "end of file": patch.partition(b"\x1a")[0],
        "utf-8": patch.decode("latin-1").encode(),
    }
    for name, content in {**damaged, "as it was": patch}.items():
        store = cases.store(cases.flash())
        store.swap_capsule(cases.capsule(1))
        updater = Updater(store)
        try:
            updater.feed(content, len(content))
            updater.finish()
            assert name == "as it was"
            store.confirm()
            assert cases.active(store) == new
        except OSError as error:
            raise AssertionError(name) from error
        except Exception as error:
            assert type(error).__name__ == "CapsuleError" and name != "as it was", name
            assert cases.active(store) == cases.capsule(1)


def test_flash_that_does_not_keep_a_second_try_either_names_the_fault():
    store = cases.store(Busy(10 * 256, 256))
    store.swap_capsule(cases.capsule(1))
    store.flash.left, store.flash.is_silent = 1000, True
    with pytest.raises(OSError, match="did not keep its value"):
        store.swap_capsule(cases.capsule(2))
    assert cases.active(cases.store(store.flash)) == cases.capsule(1)
