# SPDX-License-Identifier: MIT
"""Operators of a capsule: imported from the flash, checked before, swapped without a reset."""

import os

import net_vectors_mlp
import pytest
from operator_cases import KEY, WEIGHTS, capsule, compiled

from acclimate_host.capsules.build import build, read
from acclimate_host.capsules.delta import update
from acclimate_host.capsules.operators import fields_of
from acclimate_host.connect import merge, open_board, why_not
from acclimate_host.connect.install import install
from acclimate_host.paths import built
from harness import runtimes
from harness.runtimes import ARCHS, copy_model

FROZEN = {"samd21": built("firmware", "samd21-capsules", "firmware.elf")}


def on_board(program):
    """Its imports as they are on a board; the frozen package is merged, too."""
    return merge.layout().for_board(program)


SETUP = f"""
import gc, sys
from acclimate.store import operators
from acclimate.store import CapsuleError
from acclimate.store import WEIGHTS, Wanted
from nor import NorFlash
from acclimate.store import Store
load = operators.load_operators
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
            install(opened, ["store"], yes=True)
            copy_model(opened)
        opened.arch = ARCHS[name]
        yield opened


@pytest.fixture
def fresh(board):
    board.soft_reset()
    board.exec(on_board(SETUP))
    return board


@pytest.mark.parametrize("native", [True, False])
def test_an_operators_only_update_changes_them_without_a_reset(fresh, tmp_path, native):
    old = capsule(1, compiled(tmp_path, fresh.arch, 2, native=native))
    new = capsule(2, compiled(tmp_path, fresh.arch, 3, native=native))
    difference = update(old, new)
    assert difference[5] == 3 and len(difference) < len(new) - 60  # operators only
    assert read(new).arch == (fields_of(read(new).sections[1][1])["arch"] if native else 0)
    fresh.exec(f"store.swap_capsule({old!r})\nfirst = load(store)")
    text = fresh.exec("print(first.scale(21), load(store) is first, weights())")
    assert text.split() == ["42", "True", "True"]
    text = fresh.exec(
        f"store.swap_capsule({difference!r})\nnow = load(store)\n"
        "print(now.scale(21), now is first, weights(), first.scale(21), store.head.version)\n"
        "print(len([name for name in sys.modules if name.startswith('op_')]))",
    )
    assert text.split() == ["63", "False", "True", "42", "2", "1"]
    text = fresh.exec("store.rollback()\nprint(load(store).scale(21))")
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
    fresh.exec(OWN_FLASH)
    text = fresh.exec(
        f"store.swap_capsule({data!r}, True)\nprint(load(store).scale(21), weights())",
    )
    assert text.split() == ["42", "True"]
    fresh.soft_reset()
    fresh.exec(on_board(SETUP + OWN_FLASH))
    assert fresh.exec("print(load(store).scale(4))") == "8\n"


@pytest.mark.case("A18")
def test_heap_after_twenty_swaps_is_that_after_twelve(fresh, tmp_path):
    pair = [capsule(1, compiled(tmp_path, fresh.arch, factor)) for factor in (2, 3)]
    fresh.exec(f"A = {pair[0]!r}\nB = {pair[1]!r}")
    text = fresh.exec(
        "def swap(data):\n    store.swap_capsule(data, True)\n"
        "    factor = load(store).scale(1)\n    gc.collect()\n    return factor\n"
        "for _ in range(6):\n    swap(A), swap(B)\n"
        "before = gc.mem_free()\n"
        "for _ in range(4):\n    assert swap(A) == 2 and swap(B) == 3\n"
        "print(before - gc.mem_free())",
    )
    # The desktop build keeps a list of all machine code that it ever loaded.
    assert int(text) <= (512 if fresh.arch == "x64" else 64)


def test_two_models_keep_their_operators_side_by_side(fresh, tmp_path):
    if fresh.arch == "armv6m":
        pytest.skip("two models do not fit 32 KB beside this test")
    one, two, same = (capsule(n, compiled(tmp_path, fresh.arch, n)) for n in (2, 3, 2))
    text = fresh.exec(
        "other = Store(NorFlash(16 * 128, 128), store.wanted, chunk_bytes=64)\n"
        f"store.swap_capsule({one!r})\nother.swap_capsule({two!r})\n"
        "a, b = load(store), load(other)\n"
        "print(a.scale(1), b.scale(1), load(store) is a, load(other) is b)\n"
        f"other.swap_capsule({same!r}, True)\nprint(load(other) is a)\n"
        "print(len([name for name in sys.modules if name.startswith('op_')]))",
    )
    assert text.split() == ["2", "3", "True", "True", "True", "1"]


def test_native_code_of_another_board_is_refused_before_its_import(fresh, tmp_path):
    other = "armv7emsp" if fresh.arch in ("x64", "xtensawin", "armv6m") else "xtensawin"
    code = compiled(tmp_path, other, 2)
    unmarked = build({"WEIGHTS": WEIGHTS, "OPERATORS": code}, "NETWORK", 7, 1, key=KEY)
    text = fresh.exec(
        f"refused(store.swap_capsule, {capsule(1, code)!r})\n"
        f"store.swap_capsule({unmarked!r})\nrefused(load, store)",
    )
    first, second = text.splitlines()
    assert first.startswith("capsule refused, arch: made for ")
    assert second.startswith("operators: native code of architecture ")


def test_damage_in_the_flash_after_the_boot_is_found_before_the_import(fresh, tmp_path):
    code = compiled(tmp_path, fresh.arch, 2, more="print('imported')")
    data = capsule(1, code)
    at = data.index(code) + len(code) - 3
    text = fresh.exec(
        f"store.swap_capsule({data!r})\n"
        f"flash.data[store.slots.start(store.active) + {at}] ^= 4\n"
        "refused(load, store)",
    )
    assert text.strip() == (
        "operators: capsule refused, integrity: SHA-256 of the content is not that of the header"
    )


def test_a_model_without_operators_gives_none_and_no_model_an_error(fresh):
    plain = build({"WEIGHTS": WEIGHTS}, "NETWORK", 7, 1, key=KEY)
    text = fresh.exec(
        f"refused(load, store)\nstore.swap_capsule({plain!r})\nprint(load(store))",
    )
    assert text.splitlines()[0].startswith("operators: no model") and "None" in text


def test_operators_that_fail_leave_nothing_mounted(fresh, tmp_path):
    code = compiled(tmp_path, fresh.arch, 2, more="import nothing_of_this_name")
    text = fresh.exec(
        f"store.swap_capsule({capsule(1, code)!r})\n"
        "refused(load, store)\nrefused(load, store)\n"
        "print('/_operators' in sys.path)",
    )
    lines = text.splitlines()
    assert (
        lines[0] == lines[1] == ("operators: not imported: no module named 'nothing_of_this_name'")
    )
    assert lines[2] == "False"


def test_a_handover_keeps_the_old_model_where_the_new_operators_are_refused(fresh, tmp_path):
    if fresh.arch != "x64":
        pytest.skip("tried on the desktop build")
    install(fresh, ["store"], yes=True)
    good, bad, better = (
        capsule(n, compiled(tmp_path, fresh.arch, n, more="import nothing_here" * (n == 2)))
        for n in (1, 2, 3)
    )
    text = fresh.exec(
        "from acclimate.store import LiveModel\n"
        f"store.swap_capsule({good!r})\n"
        "class Model:\n"
        "    def __init__(self, kernels):\n        self.predict = kernels.scale\n"
        "current = LiveModel(store, lambda store: Model(load(store)))\n"
        "def bring(data):\n"
        "    store.stage(data, 128)\n    store.write(data, len(data))\n    store.finish()\n"
        "    current.switch(store.trial)\n"
        "print(current.predict(7))\n"
        f"try:\n    bring({bad!r})\nexcept RuntimeError as error:\n    print(error)\n"
        "print(current.predict(7), store.state, current.version)\n"
        f"bring({better!r})\nprint(current.predict(7), current.version)",
    )
    lines = text.splitlines()
    told = "the new model cannot be loaded: OperatorsError: operators: "
    assert lines[0] == "7" and lines[1].startswith(told)
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
        install(board, ["store"], yes=True)
        copy_model(board)
        board.arch = ARCHS["desktop"]
        _check_files(board)


def _check_files(board):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        one, two = (capsule(1, compiled(Path(folder), "x64", n, native=False)) for n in (2, 3))
    board.exec(on_board(SETUP + NO_VFS))
    text = board.exec(
        f"store.swap_capsule({one!r})\nprint(load(store).scale(4))\nold = files()\n"
        f"store.swap_capsule({two!r}, True)\nprint(load(store).scale(4))\n"
        "print(len(old), len(files()), old != files())\n"
        # The next boot finds the file; a damaged one is written anew.
        "path = files()[0]\nwrites = []\n_open = open\n"
        "def open(name, mode):\n    writes.append(mode)\n    return _open(name, mode)\n"
        "operators.open = open\nfrom acclimate import flash\nflash.open = open\n"
        "def again():\n"
        "    operators._latest.clear()\n    sys.modules.pop(path[:-4], None)\n    writes.clear()\n"
        "    return load(store).scale(4)\n"
        "print(again(), writes.count('wb'))\n"
        "data = bytearray(_open(path, 'rb').read())\ndata[-1] ^= 1\n"
        "with _open(path, 'wb') as file:\n    file.write(data)\n"
        "print(again(), writes.count('wb'))\n"
        "for name in files():\n    os.remove(name)",
    )
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
    install(board, ["store", "net"], yes=True)
    copy_model(board)
    board.soft_reset()
    larger = SETUP.replace("16 * 128, 128", "18 * 4096, 4096")
    board.exec(on_board(larger) + "data = b''")
    for at in range(0, len(data), 2048):
        board.exec(f"data += {data[at : at + 2048]!r}")
    text = board.exec(
        "from acclimate.store import PROGRAM\nfrom acclimate.net import Net\n"
        "store.swap_capsule(data)\ndata = None\nkernels = load(store, native='net')\n"
        "def part(kind):\n    at, size = store.section(kind)\n    out = bytearray(size)\n"
        "    store.readinto(kind, 0, out)\n    return out\n"
        "net = Net(part(PROGRAM), part(WEIGHTS))\nprint(net._native is kernels)\n"
        f"net.predict({v.INPUTS[0]!r})\nprint(bytes(net.outputs()) == {v.OUTPUTS[0]!r})",
    )
    assert text.split() == ["True", "True"]
