# SPDX-License-Identifier: MIT
"""Operators on the host: what a runtime can import, and what goes into a capsule."""

import os
import random
from types import SimpleNamespace

import pytest
from operator_cases import KEY, WEIGHTS, capsule, compiled, source

from acclimate.store import Store, Wanted
from acclimate.store import operators as device
from acclimate_host.capsules.build import read
from acclimate_host.capsules.mpy_file import check_whole
from acclimate_host.capsules.operators import operators
from acclimate_host.capsules.server import CapsuleServer
from acclimate_host.cli import main
from acclimate_host.connect import merge, package
from acclimate_host.errors import Refused
from acclimate_host.paths import built
from acclimate_host.testing.nor import NorFlash
from harness.errors import naming
from harness.runtimes import ARCHS


def runtime(form, name="micropython", field="_mpy"):
    return SimpleNamespace(**{"name": name, field: form})


ARM = 6 | (7 << 2 | 3) << 8


@pytest.mark.parametrize(
    "header,implementation",
    [
        (b"M\x06\x00\x1f", runtime(ARM)),  # bytecode
        (b"M\x06\x1f\x1f", runtime(ARM)),  # its own
        (b"M\x06\x13\x1f", runtime(ARM)),  # armv6m code runs on armv7emsp
        (b"C\x06\x00\x1f", runtime(6, "circuitpython")),
        (b"C\x06\x00\x1f", runtime(6, "circuitpython", "mpy")),
    ],
)
def test_what_a_runtime_can_import_passes(header, implementation):
    device.check_header(header, implementation)


@pytest.mark.parametrize(
    "header,implementation,text",
    [
        (b"C\x06\x00\x1f", runtime(ARM), "starts with 67, a .mpy for micropython with 77"),
        (b"M\x06\x00\x1f", runtime(6, "circuitpython"), "a .mpy for circuitpython with 67"),
        (b"M\x05\x00\x1f", runtime(ARM), "version 5, this firmware reads 6"),
        (b"M\x06\x2b\x1f", runtime(ARM), "architecture 10, this board runs 7"),
        (b"M\x06\x1f\x1f", runtime(6 | (4 << 2 | 3) << 8), "architecture 7, this board runs 4"),
        (b"M\x06\x1e\x1f", runtime(ARM), r"native ABI 6.2, this firmware has 6.3"),
        (b"M\x06\x1f\x1f", runtime(6), "architecture 7, this board runs 0"),
        (b"M\x06\x00\x1f", SimpleNamespace(name="cpython"), "cpython imports no .mpy files"),
    ],
)
def test_what_it_cannot_import_is_named(header, implementation, text):
    with pytest.raises(device.OperatorsError, match=text):
        device.check_header(header, implementation)


def test_on_cpython_operators_are_refused_in_one_line(tmp_path):
    store = Store(NorFlash(16 * 256, 256), Wanted(unsigned=True))
    store.swap_capsule(capsule(1, compiled(tmp_path, "x64", 2)))
    with pytest.raises(device.OperatorsError, match="cpython imports no .mpy files"):
        device.load_operators(store)


def test_the_server_puts_operators_arch_and_abi_into_the_capsule(tmp_path):
    path = tmp_path / "ops.py"
    path.write_text(source(2))
    server = CapsuleServer(
        {"WEIGHTS": WEIGHTS},
        tmp_path / "repository",
        7,
        KEY,
        operators=path,
        native_arch="armv7emsp",
    )
    found = read(server.save())
    assert (found.arch, found.abi) == (7, 6 << 2 | 3)
    assert [name for name, _ in found.sections] == ["WEIGHTS", "OPERATORS"]
    server.operators = tmp_path / "other.mpy"
    server.operators.write_bytes(bytes([0x4D, 6, 4 << 2 | 3, 31]) + bytes(8))
    with pytest.raises(Refused, check=naming("other.mpy", "armv6m", "armv7emsp")):
        server.save()


def test_capsule_build_of_files(tmp_path, capsys):
    (tmp_path / "w").write_bytes(WEIGHTS)
    (tmp_path / "ops.py").write_text(source(2))
    (tmp_path / "key").write_bytes(KEY)
    command = f"capsule build -o {tmp_path}/a.acap --model 7 --version 1".split()
    command += f"--weights {tmp_path}/w --operators {tmp_path}/ops.py".split()
    assert main(command) == 6  # native functions need an architecture
    assert "machine code" in capsys.readouterr().err
    assert main([*command, "--arch", "armv6m", "--key", str(tmp_path / "key")]) == 0
    data = (tmp_path / "a.acap").read_bytes()
    found = read(data)
    assert found.arch == 4 and found.intact and found.authentic(KEY, data)
    capsys.readouterr()
    assert main(["capsule", "inspect", str(tmp_path / "a.acap")]) == 0
    assert "operators_for    armv6m, ABI 6.3" in capsys.readouterr().out
    (tmp_path / "ops.py").write_bytes(b"no mpy")
    os.rename(tmp_path / "ops.py", tmp_path / "ops.mpy")
    command[-1] = str(tmp_path / "ops.mpy")
    assert main(command) == 6
    assert "not a .mpy file" in capsys.readouterr().err


@pytest.mark.parametrize("arch", sorted(set(ARCHS.values())))
def test_every_native_module_is_whole_and_any_cut_is_seen(arch):
    modules = sorted(built("native", arch).glob("_*.mpy"))
    if not modules:
        pytest.skip(f"no modules for {arch}")
    for path in modules:
        data = path.read_bytes()
        check_whole(data)
        draw = random.Random(path.name)
        for n in {len(data) - 1, *range(4, 60), *draw.sample(range(60, len(data)), 40)}:
            with pytest.raises(Refused, match="cut off"):
                check_whole(data[:n], path.name)
        with pytest.raises(Refused, check=naming(1)):
            check_whole(data + b"\0")


def test_every_file_of_the_package_is_whole_and_any_cut_of_one_is_seen(tmp_path):
    for name, path in merge.modules().items():
        if not package.MACHINE_CODE.search(path.read_bytes()):
            check_whole(package.compile_file(path, name))
    for native in (True, False):
        data = compiled(tmp_path, "armv6m", 2, native=native)
        for n in range(len(data)):
            with pytest.raises(Refused):
                operators(data[:n])
