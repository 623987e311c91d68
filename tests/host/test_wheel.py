# SPDX-License-Identifier: MIT
"""Source package and wheels, built by the real tools and installed away from the repository."""

import importlib.util
import json
import re
import shutil
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from acclimate_host import boards
from acclimate_host.connect import package, why_not
from acclimate_host.paths import built, repository
from acclimate_host.twin import compiled
from harness import pythons

pytestmark = pytest.mark.slow

ROOT = repository()
TEN_LINES = """\
from acclimate.svm import SVM
model = SVM(kernel="linear", C=1).fit([[20, 0], [22, 1], [60, 9], [70, 9]], [0, 0, 1, 1])
print(model.predict([24, 1]), model.predict([66, 9]))
"""
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", ".git", "out", "build", ".*_cache")


class Installed:
    """A wheel in a new environment.

    :param python: the interpreter; without one, this one, and the environment borrows what the
        wheel depends on from here. With one, pip brings it.
    :param files: wheels, or requirements that name them.
    """

    def __init__(self, folder, *files, python=None):
        self.folder, self.bin = folder, folder / "venv" / "bin"
        offline = () if python else ("--without-pip",)
        pythons.run(folder, python or sys.executable, "-m", "venv", *offline, folder / "venv")
        pip = [sys.executable, "-m", "pip", "-q", "--python", self.bin / "python", "install"]
        if not python:
            pip += ["--no-deps", "--no-index", "--no-compile"]
        pythons.run(folder, *pip, *files)
        if not python:
            (site,) = (folder / "venv").glob("lib/python3*/site-packages")
            # Only the folder itself: .pth files in it, and so the repository, do not count.
            (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self._path = () if python else (Path(sys.executable).parent,)

    def __call__(self, *arguments, code=0):
        (self.folder / "work").mkdir(exist_ok=True)
        command = (self.bin / arguments[0], *arguments[1:])
        return pythons.run(self.folder / "work", *command, code=code, path=self._path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What ``python -m build`` and pip make of a copy of the repository: a folder of packages.

    The wheel comes from the source package, as with every installation of that one.
    """
    folder = tmp_path_factory.mktemp("made")
    copy, dist = folder / "copy", folder / "dist"
    shutil.copytree(ROOT, copy, ignore=_LEFT_OUT)
    for arch in boards.ARCHS:
        for path in package.natives(arch).values():
            target = copy / "out" / "native" / arch / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    page = built("playground", "site")
    if page.is_dir():
        shutil.copytree(page, copy / "out" / "playground" / "site")
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, copy)
    pythons.run(folder, *build)
    if any(built("firmware").glob("*/firmware.elf")):
        (copy / "out" / "firmware").symlink_to(built("firmware"))
        (copy / "out" / "micropython").symlink_to(built("micropython"))
        pip = (sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "--no-build-isolation")
        pythons.run(folder, *pip, "--no-index", "-w", dist, copy / "emulators")
    return dist


@pytest.fixture(scope="module")
def installed(made, tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("wheel"), *made.glob("*.whl"))


def test_the_source_package_has_sources_boards_and_tests(made):
    (path,) = made.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("device", "host", "native_modules", "boards", "tests", "tools", "docs"):
        here = {str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*") if p.is_file()}
        here = {name for name in here if "__pycache__" not in name and ".egg-info" not in name}
        assert here and not here - names, folder
    assert {"Makefile", "setup.py", "LICENSE", "emulators/setup.py"} <= names


def test_the_wheel_has_the_native_modules_of_every_architecture(made):
    (path,) = made.glob("acclimate-*.whl")
    names = zipfile.ZipFile(path).namelist()
    for arch in boards.ARCHS:
        wanted = {f"acclimate_host/native/{arch}/{name}.mpy" for name in package.natives(arch)}
        assert wanted == {name for name in names if f"/native/{arch}/" in name}
    assert {"acclimate/py.typed", "acclimate/svm/__init__.pyi"} <= set(names)
    assert not [name for name in names if "/out/" in name or name.startswith(("tests", "tools"))]


def test_pip_makes_the_same_wheel_of_the_source_package(made, tmp_path):
    """Also on a computer without compilers: the native modules lie in it."""
    (source,) = made.glob("*.tar.gz")
    pip = (sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "--no-index")
    pythons.run(tmp_path, *pip, "--no-build-isolation", "-w", tmp_path, source)
    (again,), (wheel,) = tmp_path.glob("*.whl"), made.glob("acclimate-*.whl")
    first, second = (
        {item.filename: item.CRC for item in zipfile.ZipFile(path).infolist()}
        for path in (again, wheel)
    )
    assert first == second


def test_a_source_package_without_boards_is_not_built(tmp_path):
    """An installation that knows of no board was silent about it."""
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("device", "host"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=_LEFT_OUT)
    pip = (sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "--no-index")
    words = (*pip, "--no-build-isolation", "-w", tmp_path / "dist", tmp_path)
    said = pythons.run(tmp_path, *words, code=1)
    assert "boards/*.toml is missing" in said


@pytest.mark.parametrize("version", pythons.found())
def test_every_python_installs_it_and_reaches_an_emulated_board(made, tmp_path, version):
    (file,), (source,) = made.glob("acclimate-*.whl"), made.glob("*.tar.gz")
    emulators = list(made.glob("acclimate_emulators-*.whl"))
    it = Installed(tmp_path, f"{file}[plan]", *emulators, python=pythons.found()[version])
    assert it("python", "-c", TEN_LINES) == "0 1\n"
    assert " problem" not in it("acclimate", "doctor")
    assert "nano33ble" in it("acclimate", "boards")
    assert "proven optimal" in it("acclimate", "plan", "linear", "--board", "m4", "--ram", "50%")
    if why_not("nrf52840") or not emulators:
        pytest.skip(str(why_not("nrf52840") or "no firmware was built"))
    _install_and_doctor_agree(it)
    it("python", "-m", "pip", "-q", "install", "--force-reinstall", "--no-deps", source)
    assert it("python", "-c", TEN_LINES) == "0 1\n"
    natives = "native modules for armv7emsp: _codec, _ed25519, _frontend, _net, "
    assert natives in it("acclimate", "doctor")


def _page_commands(board):
    """The shell block of docs/install.md that ends with a program on a board, line by line."""
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    end = f"acclimate run ten.py --board {board}"
    (block,) = re.findall(rf"```sh\n((?:[^`]+\n)?{end}\n)```", text)
    return block.splitlines()


@pytest.mark.parametrize(
    "board, source",
    [("desktop", False), ("desktop", True), ("nrf52840", False), ("nrf52840", True)],
)
def test_commands_of_the_page_lead_to_a_trained_svm_word_for_word(made, tmp_path, board, source):
    """From nothing but the packages and the ten lines, in an empty environment."""
    if why_not(board):
        pytest.skip(why_not(board))
    commands = _page_commands(board)
    assert len(commands) <= (3 if board == "desktop" else 4)
    if source:
        commands[0] = commands[0].replace("-py3-none-any.whl", ".tar.gz", 1)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ten, wanted = re.findall(
        r"## Ten lines.*?```python\n(.*?)```.*?```text\n(.*?)```", readme, re.S
    )[0]
    for path in made.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "ten.py").write_text(ten)
    pythons.run(tmp_path, sys.executable, "-m", "venv", tmp_path / "venv")
    for line in commands:
        said = pythons.run(tmp_path, "sh", "-c", line, path=[tmp_path / "venv" / "bin"])
    assert said == wanted


def _install_and_doctor_agree(it):
    board = ("--board", "nrf52840", "--flash", "kept.flash")
    said = it("acclimate", "install", *board)
    assert "no room" not in said and "native modules for armv7emsp: _codec, _net, " in said
    said = it("acclimate", "doctor", *board)
    assert "native module _svm: loaded" in said and "acclimate 0.1.0 is installed" in said


@pytest.mark.skipif(why_not("nrf52840") is not None, reason=str(why_not("nrf52840")))
def test_firmware_comes_as_a_package_of_its_own(installed):
    code = "from acclimate_host.paths import firmware; print(firmware('nrf52840'))"
    path = Path(installed("python", "-c", code).strip())
    assert path.is_relative_to(installed.folder / "venv") and path.is_file()
    _install_and_doctor_agree(installed)


def test_installed_package_is_not_the_repository(installed):
    code = "import acclimate, acclimate_host; print(acclimate.__file__, acclimate_host.__file__)"
    for path in installed("python", "-c", code).split():
        assert Path(path).is_relative_to(installed.folder / "venv")


def test_installed_command_knows_all_boards_and_their_costs(installed):
    listed = installed("acclimate", "boards")
    for path in ROOT.glob("boards/*.toml"):
        assert path.stem in listed
    assert "power.voltage_v = 3.0" in installed("acclimate", "boards", "nano33ble")
    code = "from acclimate_host.poet.inputs import cost_table; print(cost_table('m4').name)"
    assert installed("python", "-c", code) == "m4\n"


@pytest.mark.skipif(compiled.why_not("walk") is not None, reason="no C compiler here")
def test_installed_planner_compiles_its_walks(installed):
    code = "from acclimate_host.twin import compiled; print(compiled.why_not('walk'))"
    assert installed("python", "-c", code) == "None\n"


@pytest.mark.skipif(not built("playground", "site").is_dir(), reason="the page was not built")
def test_installed_package_has_the_page_and_what_teaches(installed):
    code = (
        "from acclimate_host.page import files; print(files.folder())\n"
        "from acclimate_host.teach import session; print(session.SENSORS)"
    )
    folder, sensors = installed("python", "-c", code).splitlines()
    assert Path(folder).is_relative_to(installed.folder / "venv")
    names = sorted(path.name for path in built("playground", "site").iterdir())
    assert sorted(path.name for path in Path(folder).iterdir()) == names
    assert "mpu6050" in sensors


@pytest.mark.parametrize("words", [("--method", "dtr"), ("--formulation", "paper")])
def test_installed_command_names_the_place_of_what_only_a_paper_has(installed, words):
    said = installed("acclimate", "plan", "linear", *words, code=2)
    assert " ".join(words)[2:] in said and "bench/papers of the repository" in said


def test_installed_package_learns_on_cpython(installed):
    assert installed("python", "-c", TEN_LINES) == "0 1\n"


def test_installed_package_compiles_what_contribute_needs(installed, monkeypatch):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    monkeypatch.setenv("ACCLIMATE_OUT", str(installed.folder / "compiled"))
    code = (
        "from acclimate_host.sparse.finetune import why_slow; print(why_slow())\n"
        "from acclimate_host.twin import net; print(net.load())"
    )
    said = installed("python", "-c", code).splitlines()
    assert said[0] == "None" and "Twin" in said[1]


@pytest.mark.skipif(why_not("desktop") is not None, reason=str(why_not("desktop")))
def test_installed_command_installs_and_runs_on_the_desktop_binary(installed):
    said = installed("acclimate", "install", "--board", "desktop")
    extras = {"_svm_linear", "_svm_predict", *package.natives_left_out()}
    names = ", ".join(sorted(package.natives("x64").keys() - extras))
    wanted = f"native modules for x64: {names}" if names else "no native modules for x64"
    assert wanted in said
    if names:
        said = installed("acclimate", "install", "--board", "desktop", "--with", "small")
        assert "_svm, _svm_linear\n" in said
    file = installed.folder / "ten.py"
    file.write_text(TEN_LINES)
    assert installed("acclimate", "run", file, "--board", "desktop") == "0 1\n"


@pytest.mark.skipif(why_not("desktop") is not None, reason=str(why_not("desktop")))
def test_installed_command_has_the_demo_and_the_bench(installed):
    """Whoever has only the package sees the main job, and compares native with pure Python."""
    found = json.loads(installed("acclimate", "bench", "--json"))
    assert [row["arithmetic"] for row in found["rows"]].count("native") in (0, 2)
    assert all(row["train"] > 0 for row in found["rows"])
    if importlib.util.find_spec("seglearn") is None:
        pytest.skip("seglearn, which has the recordings, is not installed")
    said = installed("acclimate", "demo", "--small")
    for part in ("The main job took ", "Part 2 took ", "The network took "):
        assert part in said


@pytest.mark.skipif(why_not("desktop") is not None, reason=str(why_not("desktop")))
def test_wheel_without_native_modules_says_what_it_uses_instead(installed):
    for folder in installed.folder.glob("venv/lib/python3*/site-packages/acclimate_host/native"):
        shutil.rmtree(folder)
    said = installed("acclimate", "install", "--board", "desktop")
    assert "no native modules: pure Python does the same work" in said
    assert "this installation has no native modules for x64; " in said
