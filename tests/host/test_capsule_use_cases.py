# SPDX-License-Identifier: MIT
"""What people struggled with elsewhere, as they would meet it here."""

import errno
import os
import random
from pathlib import Path

import capsule_cases as cases
import pytest

from acclimate.flash import FileFlash, FlashError
from acclimate.flash import file as flash_module
from acclimate_host.capsules.build import head_bytes
from acclimate_host.testing.nor import ERASE_TORN, PROGRAM_TORN, NorFlash, PowerCut


@pytest.mark.case("D13")
def test_a_thousand_resets_at_random_moments_never_lose_the_model():
    draw = random.Random(13)
    medium = cases.flash()
    cases.store(medium).swap_capsule(cases.capsule(1))
    version, allowed = 1, {cases.capsule(1)}
    for _ in range(1000):
        medium = NorFlash(medium.size, medium.erase_bytes, data=medium.data)
        medium.cut_after(
            draw.randrange(1, 400), draw.choice(ERASE_TORN + PROGRAM_TORN), draw.randrange(1, 999)
        )
        try:
            store = cases.store(medium)
            assert cases.active(store) in allowed
            version = max(version, store.head.version, store.journal.floor)
            following = cases.capsule(version + 1)
            allowed = {cases.active(store), following}
            store.swap_capsule(following)
            allowed = {following}
        except PowerCut:
            medium.power_on()
    assert version > 50


class FailsOnce(NorFlash):
    """A flash whose driver fails at one address."""

    at = -1

    def _program(self, at, buffer):
        if at <= self.at < at + len(buffer):
            raise OSError(errno.EIO)
        super()._program(at, buffer)


@pytest.mark.case("D9", "E18")
def test_failing_write_in_the_last_block_is_no_success():
    medium = FailsOnce(10 * 256, 256)
    store = cases.store(medium)
    store.swap_capsule(cases.capsule(1))
    data = cases.capsule(2)
    medium.at = store.slots.start(1) + len(data) - 4
    with pytest.raises(OSError, match=str(errno.EIO)):
        store.swap_capsule(data)
    again = cases.store(medium)
    assert cases.active(again) == cases.capsule(1) and again.state == "staged"
    medium.at = -1
    again.swap_capsule(data)
    assert cases.active(cases.store(medium)) == data


@pytest.mark.case("K4")
@pytest.mark.parametrize("exists", [True, False])
def test_read_only_drive_is_named_with_the_line_for_boot_py(tmp_path, monkeypatch, exists):
    path = tmp_path / "capsule.bin"
    if exists:
        path.write_bytes(b"\xff" * 16384)

    def read_only(*args, **options):
        raise OSError(errno.EROFS)

    monkeypatch.setattr(flash_module, "open", read_only, raising=False)
    with pytest.raises(FlashError, match=r"storage.remount\('/', False\) to boot.py"):
        FileFlash(str(path), 16384)


@pytest.mark.case("D5")
def test_full_volume_is_an_error_before_anything_is_used(tmp_path, monkeypatch):
    path = tmp_path / "capsule.bin"

    class Full:
        def __init__(self, name, mode):
            self.name = name

        def __enter__(self):
            Path(self.name).write_bytes(b"part of it")
            return self

        def __exit__(self, *error):
            return False

        def write(self, data):
            raise OSError(errno.ENOSPC)

    monkeypatch.setattr(flash_module, "open", Full, raising=False)
    with pytest.raises(OSError) as error:
        FileFlash(str(path), 16384)
    assert error.value.args[0] == errno.ENOSPC and not list(tmp_path.iterdir())


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.ENODEV, errno.EINVAL])
def test_a_file_that_cannot_be_looked_at_is_not_made_anew(tmp_path, monkeypatch, code):
    path = tmp_path / "capsule.bin"
    path.write_bytes(b"both models" * 1489 + b"+++++")

    class Os:
        sync = staticmethod(lambda: None)

        @staticmethod
        def stat(name):
            raise OSError(code)

    before = path.read_bytes()
    monkeypatch.setattr(flash_module, "os", Os)
    with pytest.raises(FlashError, match="cannot be looked at"):
        FileFlash(str(path), 16384)
    assert path.read_bytes() == before


@pytest.mark.parametrize("size", [0, 5, 8192, 32768])
def test_a_file_of_another_length_is_refused_and_left_alone(tmp_path, size):
    path = tmp_path / "capsule.bin"
    path.write_bytes(b"x" * size)
    with pytest.raises(ValueError, match=f"{size} bytes"):
        FileFlash(str(path), 16384)
    assert path.read_bytes() == b"x" * size


@pytest.mark.case("D3")
def test_every_program_of_a_file_is_synced_and_its_length_stays(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "sync", lambda: synced.append(1), raising=False)
    flash = FileFlash(str(tmp_path / "capsule.bin"), 16384)
    store = cases.store(flash)
    synced.clear()
    data = cases.capsule(1)
    store.stage(data, head_bytes(data))
    assert synced
    store.write(data, len(data))
    before = len(synced)
    store.finish()
    store.confirm()
    assert len(synced) > before
    flash.close()
    assert (tmp_path / "capsule.bin").stat().st_size == 16384


@pytest.mark.case("D3")
def test_file_that_takes_less_than_was_written_raises(tmp_path):
    flash = FileFlash(str(tmp_path / "capsule.bin"), 16384)
    real = flash._file

    class Short:
        def __getattr__(self, name):
            return getattr(real, name)

        def write(self, data):
            return real.write(bytes(data)[:-1]) if data else 0

    flash._file = Short()
    with pytest.raises(FlashError, match="the file took less"):
        flash.program(0, b"12345678")
    flash.close()
