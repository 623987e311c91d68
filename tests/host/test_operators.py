# SPDX-License-Identifier: MIT
"""Operators of a capsule: imported from the flash, checked before, swapped without a reset."""

import os
import random
from types import SimpleNamespace

import net_vectors_mlp
import pytest

from acclimate import operators as device
from acclimate.nor import NorFlash
from acclimate.store import Store
from acclimate_host.capsules.build import build, read
from acclimate_host.capsules.delta import update
from acclimate_host.capsules.mpy_file import check_whole
from acclimate_host.capsules.operators import fields_of, operators
from acclimate_host.capsules.server import CapsuleServer
from acclimate_host.cli import main
from acclimate_host.connect import open_board, package, why_not
from acclimate_host.connect.install import install
from acclimate_host.errors import Refused
from acclimate_host.paths import built
from harness import runtimes
from harness.runtimes import ARCHS

KEY = b"a key of the test, 32 bytes long"
WEIGHTS = bytes(range(1, 101))
FROZEN = {"samd21": built("firmware", "samd21-capsules", "firmware.elf")}


def source(factor, native=True, more=""):
    lines = ["import micropython", more]
    if native:
        lines.append("@micropython.native")
    return "\n".join([*lines, "def scale(x):", f"    return x * {factor}", ""])


def compiled(folder, arch, factor, **options):
    path = folder / "ops.py"
    path.write_text(source(factor, **options))
    return operators(path, arch)


def capsule(version, code):
    sections = {"WEIGHTS": WEIGHTS, "OPERATORS": code}
    return build(sections, "NETWORK", 7, version, key=KEY, **fields_of(code))


SETUP = f"""
import gc, sys
from acclimate import operators
from acclimate.capsule import WEIGHTS, CapsuleError, Wanted
from acclimate.nor import NorFlash
from acclimate.store import Store
arch, abi = operators.here()
flash = NorFlash(16 * 128, 128)
def boot():
    return Store(flash, Wanted(7, 2, arch=arch, abi=abi, key={KEY!r}), chunk_bytes=64)
store = boot()
def weights():
    a, b = bytearray(1), []
    for i in range(100):
        store.readinto(WEIGHTS, i, a)
        b.append(a[0])
    return bytes(b) == {WEIGHTS!r}
def refused(call, *args):
    try:
        call(*args)
    except ValueError as error:
        print(error)
"""


@pytest.fixture(scope="module", params=["desktop", *runtimes.EMULATED])
def board(request):
    name = request.param
    reason = why_not(name)
    if reason is None and name in FROZEN and not FROZEN[name].exists():
        reason = "no firmware with the package frozen"
    if reason:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{name}: {reason}")
    with open_board(name, **({"elf": FROZEN[name]} if name in FROZEN else {})) as opened:
        if name not in FROZEN:
            install(opened, ["store", "delta", "update", "nor", "operators"], yes=True)
        opened.arch = ARCHS[name]
        yield opened


@pytest.fixture
def fresh(board):
    board.soft_reset()
    board.exec(SETUP, 60)
    return board


@pytest.mark.parametrize("native", [True, False])
def test_an_operators_only_update_changes_them_without_a_reset(fresh, tmp_path, native):
    old = capsule(1, compiled(tmp_path, fresh.arch, 2, native=native))
    new = capsule(2, compiled(tmp_path, fresh.arch, 3, native=native))
    difference = update(old, new)
    assert difference[5] == 3 and len(difference) < len(new) - 60  # operators only
    assert read(new).arch == (fields_of(read(new).sections[1][1])["arch"] if native else 0)
    fresh.exec(f"store.swap_capsule({old!r})\nfirst = operators.load(store)", 60)
    text = fresh.exec("print(first.scale(21), operators.load(store) is first, weights())")
    assert text.split() == ["42", "True", "True"]
    text = fresh.exec(
        f"store.swap_capsule({difference!r})\nnow = operators.load(store)\n"
        "print(now.scale(21), now is first, weights(), first.scale(21), store.head.version)\n"
        "print(len([name for name in sys.modules if name.startswith('op_')]))", 60)  # fmt: skip
    assert text.split() == ["63", "False", "True", "42", "2", "1"]
    text = fresh.exec("store.rollback()\nprint(operators.load(store).scale(21))", 60)
    assert text.split() == ["42"]


OWN_FLASH = """
try:
    import qboard
    from acclimate.flash import BlockFlash
    flash = BlockFlash(qboard.Flash(qboard.RAW_START, 12 * qboard.PAGE_BYTES))
except ImportError:
    from acclimate.flash import FileFlash
    flash = FileFlash('operators.bin', 12 * 4096)
store = boot()
"""


def test_operators_come_from_the_board_s_own_flash_also_after_a_reset(fresh, tmp_path):
    data = capsule(1, compiled(tmp_path, fresh.arch, 2))
    fresh.exec(OWN_FLASH, 60)
    text = fresh.exec(f"store.swap_capsule({data!r}, True)\n"
                      "print(operators.load(store).scale(21), weights())", 60)  # fmt: skip
    assert text.split() == ["42", "True"]
    fresh.soft_reset()
    fresh.exec(SETUP + OWN_FLASH, 60)
    assert fresh.exec("print(operators.load(store).scale(4))", 60) == "8\n"


def test_heap_after_twenty_swaps_is_that_after_twelve(fresh, tmp_path):
    pair = [capsule(1, compiled(tmp_path, fresh.arch, factor)) for factor in (2, 3)]
    fresh.exec(f"A = {pair[0]!r}\nB = {pair[1]!r}")
    text = fresh.exec(
        "def swap(data):\n    store.swap_capsule(data, True)\n"
        "    factor = operators.load(store).scale(1)\n    gc.collect()\n    return factor\n"
        "for _ in range(6):\n    swap(A), swap(B)\n"
        "before = gc.mem_free()\n"
        "for _ in range(4):\n    assert swap(A) == 2 and swap(B) == 3\n"
        "print(before - gc.mem_free())", 100)  # fmt: skip
    # The desktop build keeps a list of all machine code that it ever loaded.
    assert int(text) <= (512 if fresh.arch == "x64" else 64)


def test_two_models_keep_their_operators_side_by_side(fresh, tmp_path):
    if fresh.arch == "armv6m":
        pytest.skip("two models do not fit 32 KB beside this test")
    one, two, same = (capsule(n, compiled(tmp_path, fresh.arch, n)) for n in (2, 3, 2))
    text = fresh.exec(
        "other = Store(NorFlash(16 * 128, 128), store.wanted, chunk_bytes=64)\n"
        f"store.swap_capsule({one!r})\nother.swap_capsule({two!r})\n"
        "a, b = operators.load(store), operators.load(other)\n"
        "print(a.scale(1), b.scale(1), operators.load(store) is a, operators.load(other) is b)\n"
        f"other.swap_capsule({same!r}, True)\nprint(operators.load(other) is a)\n"
        "print(len([name for name in sys.modules if name.startswith('op_')]))", 60)  # fmt: skip
    assert text.split() == ["2", "3", "True", "True", "True", "1"]


def test_native_code_of_another_board_is_refused_before_its_import(fresh, tmp_path):
    other = "armv7emsp" if fresh.arch in ("x64", "xtensawin", "armv6m") else "xtensawin"
    code = compiled(tmp_path, other, 2)
    unmarked = build({"WEIGHTS": WEIGHTS, "OPERATORS": code}, "NETWORK", 7, 1, key=KEY)
    text = fresh.exec(f"refused(store.swap_capsule, {capsule(1, code)!r})\n"
                      f"store.swap_capsule({unmarked!r})\nrefused(operators.load, store)",
                      60)  # fmt: skip
    first, second = text.splitlines()
    assert first.startswith("capsule refused, arch: made for ")
    assert second.startswith("operators: native code of architecture ")


def test_damage_in_the_flash_after_the_boot_is_found_before_the_import(fresh, tmp_path):
    code = compiled(tmp_path, fresh.arch, 2, more="print('imported')")
    data = capsule(1, code)
    at = data.index(code) + len(code) - 3
    text = fresh.exec(f"store.swap_capsule({data!r})\n"
                      f"flash.data[store.slots.start(store.active) + {at}] ^= 4\n"
                      "refused(operators.load, store)", 60)  # fmt: skip
    assert text.strip() == ("operators: capsule refused, integrity: SHA-256 of the content is "
                            "not that of the header")  # fmt: skip


def test_a_model_without_operators_gives_none_and_no_model_an_error(fresh):
    plain = build({"WEIGHTS": WEIGHTS}, "NETWORK", 7, 1, key=KEY)
    text = fresh.exec(f"refused(operators.load, store)\nstore.swap_capsule({plain!r})\n"
                      "print(operators.load(store))", 60)  # fmt: skip
    assert text.splitlines()[0].startswith("operators: no model") and "None" in text


def test_operators_that_fail_leave_nothing_mounted(fresh, tmp_path):
    code = compiled(tmp_path, fresh.arch, 2, more="import nothing_of_this_name")
    text = fresh.exec(f"store.swap_capsule({capsule(1, code)!r})\n"
                      "refused(operators.load, store)\nrefused(operators.load, store)\n"
                      "print('/_operators' in sys.path)", 60)  # fmt: skip
    lines = text.splitlines()
    assert lines[0] == lines[1] == ("operators: not imported: no module named "
                                    "'nothing_of_this_name'")  # fmt: skip
    assert lines[2] == "False"


def test_a_handover_keeps_the_old_model_where_the_new_operators_are_refused(fresh, tmp_path):
    if fresh.arch != "x64":
        pytest.skip("tried on the desktop build")
    install(fresh, ["handover"], yes=True)
    good, bad, better = (
        capsule(n, compiled(tmp_path, fresh.arch, n, more="import nothing_here" * (n == 2)))
        for n in (1, 2, 3)
    )
    text = fresh.exec(
        "from acclimate.handover import Handover\n"
        f"store.swap_capsule({good!r})\n"
        "class Model:\n"
        "    def __init__(self, kernels):\n        self.predict = kernels.scale\n"
        "current = Handover(store, lambda store: Model(operators.load(store)))\n"
        "def bring(data):\n"
        "    store.stage(data, 128)\n    store.write(data, len(data))\n    store.finish()\n"
        "    current.switch(store.trial)\n"
        "print(current.predict(7))\n"
        f"try:\n    bring({bad!r})\nexcept RuntimeError as error:\n    print(error)\n"
        "print(current.predict(7), store.state, current.version)\n"
        f"bring({better!r})\nprint(current.predict(7), current.version)", 60)  # fmt: skip
    lines = text.splitlines()
    assert lines[0] == "7" and lines[1].startswith("the new model cannot be loaded: operators: ")
    assert lines[2:] == ["7 rolled back 1", "21 3"]


NO_VFS = """
import builtins
real = builtins.__import__
def limited(name, *rest):
    if name == "vfs":
        raise ImportError(name)
    return real(name, *rest)
builtins.__import__ = limited
import os
def files():
    return [name for name in os.listdir() if name.startswith('op_')]
"""


def test_where_nothing_can_be_mounted_a_file_is_written_once():
    reason = why_not("desktop")
    if reason:
        pytest.skip(reason)
    with open_board("desktop") as board:
        install(board, ["store", "update", "nor", "operators"], yes=True)
        board.arch = ARCHS["desktop"]
        _check_files(board)


def _check_files(board):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        one, two = (capsule(1, compiled(Path(folder), "x64", n, native=False)) for n in (2, 3))
    board.exec(SETUP + NO_VFS, 60)
    text = board.exec(
        f"store.swap_capsule({one!r})\nprint(operators.load(store).scale(4))\nold = files()\n"
        f"store.swap_capsule({two!r}, True)\nprint(operators.load(store).scale(4))\n"
        "print(len(old), len(files()), old != files())\n"
        # The next boot finds the file; a damaged one is written anew.
        "path = files()[0]\nwrites = []\n_open = open\n"
        "def open(name, mode):\n    writes.append(mode)\n    return _open(name, mode)\n"
        "operators.open = open\nfrom acclimate import flash\nflash.open = open\n"
        "def again():\n"
        "    operators._latest.clear()\n    sys.modules.pop(path[:-4], None)\n    writes.clear()\n"
        "    return operators.load(store).scale(4)\n"
        "print(again(), writes.count('wb'))\n"
        "data = bytearray(_open(path, 'rb').read())\ndata[-1] ^= 1\n"
        "with _open(path, 'wb') as file:\n    file.write(data)\n"
        "print(again(), writes.count('wb'))\n"
        "for name in files():\n    os.remove(name)", 60)  # fmt: skip
    assert text.split() == ["8", "12", "1", "1", "True", "12", "0", "12", "1"]


def test_native_kernels_of_a_capsule_run_the_network(board):
    if board.arch in ("armv6m", "xtensawin"):
        pytest.skip("the kernels of networks are tried on two boards, with room for both")
    path = built("native", board.arch, "_net.mpy")
    if not path.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("_net is not built")
    kernels = path.read_bytes()
    v = net_vectors_mlp
    sections = {"PROGRAM": v.PROGRAM, "WEIGHTS": v.WEIGHTS, "OPERATORS": kernels}
    data = build(sections, "NETWORK", 7, 1, key=KEY, **fields_of(kernels))
    install(board, ["store", "update", "nor", "operators", "net"], yes=True)
    board.soft_reset()
    board.exec(SETUP.replace("16 * 128, 128", "18 * 4096, 4096") + "data = b''", 60)
    for at in range(0, len(data), 2048):
        board.exec(f"data += {data[at : at + 2048]!r}", 60)
    text = board.exec(
        "from acclimate.capsule import PROGRAM\nfrom acclimate.net import Net\n"
        "store.swap_capsule(data)\ndata = None\nkernels = operators.load(store, native='net')\n"
        "def part(kind):\n    at, size = store.section(kind)\n    out = bytearray(size)\n"
        "    store.readinto(kind, 0, out)\n    return out\n"
        "net = Net(part(PROGRAM), part(WEIGHTS))\nprint(net._native is kernels)\n"
        f"net.predict({v.INPUTS[0]!r})\nprint(bytes(net.outputs()) == {v.OUTPUTS[0]!r})",
        100)  # fmt: skip
    assert text.split() == ["True", "True"]


# ---- the header, everywhere ----------------------------------------------------------------


def runtime(form, name="micropython", field="_mpy"):
    return SimpleNamespace(**{"name": name, field: form})


ARM = 6 | (7 << 2 | 3) << 8


@pytest.mark.parametrize("header,implementation", [
    (b"M\x06\x00\x1f", runtime(ARM)),  # bytecode
    (b"M\x06\x1f\x1f", runtime(ARM)),  # its own
    (b"M\x06\x13\x1f", runtime(ARM)),  # armv6m code runs on armv7emsp
    (b"C\x06\x00\x1f", runtime(6, "circuitpython")),
    (b"C\x06\x00\x1f", runtime(6, "circuitpython", "mpy")),
])  # fmt: skip
def test_what_a_runtime_can_import_passes(header, implementation):
    device.check_header(header, implementation)


@pytest.mark.parametrize("header,implementation,text", [
    (b"C\x06\x00\x1f", runtime(ARM), "starts with 67, a .mpy for micropython with 77"),
    (b"M\x06\x00\x1f", runtime(6, "circuitpython"), "a .mpy for circuitpython with 67"),
    (b"M\x05\x00\x1f", runtime(ARM), "version 5, this firmware reads 6"),
    (b"M\x06\x2b\x1f", runtime(ARM), "architecture 10, this board runs 7"),
    (b"M\x06\x1f\x1f", runtime(6 | (4 << 2 | 3) << 8), "architecture 7, this board runs 4"),
    (b"M\x06\x1e\x1f", runtime(ARM), r"native ABI 6.2, this firmware has 6.3"),
    (b"M\x06\x1f\x1f", runtime(6), "architecture 7, this board runs 0"),
    (b"M\x06\x00\x1f", SimpleNamespace(name="cpython"), "cpython imports no .mpy files"),
])  # fmt: skip
def test_what_it_cannot_import_is_named(header, implementation, text):
    with pytest.raises(device.OperatorsError, match=text):
        device.check_header(header, implementation)


def test_on_cpython_operators_are_refused_in_one_line(tmp_path):
    store = Store(NorFlash(16 * 256, 256))
    store.swap_capsule(capsule(1, compiled(tmp_path, "x64", 2)))
    with pytest.raises(device.OperatorsError, match="cpython imports no .mpy files"):
        device.load(store)


# ---- host ----------------------------------------------------------------------------------


def test_the_server_puts_operators_arch_and_abi_into_the_capsule(tmp_path):
    path = tmp_path / "ops.py"
    path.write_text(source(2))
    server = CapsuleServer({"WEIGHTS": WEIGHTS}, tmp_path / "repository", 7, KEY,
                           operators=path, native_arch="armv7emsp")  # fmt: skip
    found = read(server.save())
    assert (found.arch, found.abi) == (7, 6 << 2 | 3)
    assert [name for name, _ in found.sections] == ["WEIGHTS", "OPERATORS"]
    server.operators = tmp_path / "other.mpy"
    server.operators.write_bytes(bytes([0x4D, 6, 4 << 2 | 3, 31]) + bytes(8))
    with pytest.raises(Refused, match="other.mpy has armv6m code, wanted armv7emsp"):
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
        with pytest.raises(Refused, match="1 bytes after its end"):
            check_whole(data + b"\0")


def test_every_file_of_the_package_is_whole_and_any_cut_of_one_is_seen(tmp_path):
    for name, path in package.modules().items():
        if not package.MACHINE_CODE.search(path.read_bytes()):
            check_whole(package.compile_file(path, name))
    for native in (True, False):
        data = compiled(tmp_path, "armv6m", 2, native=native)
        for n in range(len(data)):
            with pytest.raises(Refused):
                operators(data[:n])
