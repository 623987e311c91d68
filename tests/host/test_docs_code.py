# SPDX-License-Identifier: MIT
"""Every block of Python of every page runs as it stands, and every command is one that there is.

Blocks for a board run on the MicroPython desktop binary, those for a computer on CPython. They
find the files that the pages before them made: a key, capsules, compiled networks, a server.
"""

import contextlib
import doctest
import importlib
import io
import os
import re
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from acclimate_host import cli
from acclimate_host.connect import open_board, why_not
from acclimate_host.paths import device_package, repository
from harness import prose
from harness.clock import HANG_S

LANGUAGES = {"python", "sh", "console", "text", "toml", "pycon"}
# Blocks that a test of their own runs, with what they need around them.
RUN_ELSEWHERE = {
    ("docs/capsules_tutorial.md", None): "test_tutorial.py",
    ("docs/tutorials/update_a_fleet.md", None): "test_tutorial.py",
    ("docs/serving.md", "Mqtt("): "test_capsule_mqtt.py",
    ("docs/training.md", ">>>"): "test_net_docs.py",
}
# What the desktop binary lacks of a board, for a sensor's adapter.
ADC = """
import sys
class machine:
    class ADC:
        def __init__(self, pin):
            self.pin = pin
        def read_u16(self):
            return 40000
sys.modules["machine"] = machine
"""
LEARNS = (repository() / "docs/tutorials/learns_its_user.md").read_text(encoding="utf-8")
DIGITS = Path(__file__).parent / "onnx_files" / "torch_digits.onnx"
COMPILES = {  # folder of a network: how the page compiled it
    ".": "--loss cross-entropy --biases 4 --channels c6:32 --channels c7:16",
    "normal": None,
    "camera": "--loss cross-entropy --biases 1 --input-in-arena",
    "planned": "--loss cross-entropy --biases 4 --channels c6:32 --ram 8k",
}


def elsewhere(page, code):
    return any(page == name and (part is None or part in code) for name, part in RUN_ELSEWHERE)


def found_programs():
    for path in prose.pages():
        page = prose.name_of(path)
        for number, code in enumerate(prose.programs(path.read_text(encoding="utf-8"))):
            if not elsewhere(page, code):
                yield pytest.param(code, id=f"{page}-{number}")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the files that blocks read."""
    pytest.importorskip("sklearn")
    pytest.importorskip("onnx")
    folder = tmp_path_factory.mktemp("pages")
    with _inside(folder):
        _networks()
        _capsules()
        for page in ("features.md", "howto/scikit_learn.md"):
            text = (repository() / "docs" / page).read_text(encoding="utf-8")
            exec(next(code for code in prose.programs(text) if prose.is_host(code)), {})
    return folder


@contextlib.contextmanager
def _inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _networks():
    """Compile the networks of the pages, and write the arrays of the user."""
    names = runpy.run_path(str(repository() / "tests" / "host" / "page_arrays.py"))
    names["write"]()
    shutil.copy(DIGITS, "net.onnx")
    for folder, options in COMPILES.items():
        if options is None:
            names["autoencoder"]("auto.onnx")
            command = ["compile", "auto.onnx", "--loss", "mse", "--target", "input"]
        else:
            command = ["compile", "net.onnx", *options.split()]
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main([*command, "--samples", "samples.npy", "--out", folder]) == 0


def _capsules():
    """A key, a repository with one release, and a capsule of it."""
    from sklearn.datasets import load_iris
    from sklearn.svm import SVC

    from acclimate_host.capsules.server import CapsuleServer

    with contextlib.redirect_stdout(io.StringIO()):
        assert cli.main(["capsule", "key", "fleet.key"]) == 0
    x, y = load_iris(return_X_y=True)
    model = SVC(C=10, gamma=0.005).fit((10 * x[::10]).astype(int), y[::10])
    server = CapsuleServer(model, folder="repository", model_id=7, key="fleet.key")
    Path("watch.acap").write_bytes(server.save())
    server.export()
    Path("weights.bin").write_bytes(bytes(range(100)))
    Path("filter.py").write_text("def smooth(a, b):\n    return (a + b) // 2\n")
    command = "capsule build -o operators.acap --model 7 --version 3 --program net_program"
    command += " --weights net_weights --operators filter.py --arch x64 --key fleet.key"
    with contextlib.redirect_stdout(io.StringIO()):
        assert cli.main(command.split()) == 0


@pytest.fixture(scope="module")
def port(made):
    """Where the repository is served."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.getsockname()[1]
    command = [sys.executable, "-m", "acclimate_host.cli", "serve", "repository"]
    server = subprocess.Popen(
        [*command, "--key", "fleet.key", "--port", str(number)],
        cwd=made,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout.readline().startswith("serving")
    yield number
    server.terminate()
    server.wait(HANG_S)


@pytest.mark.parametrize("code", list(found_programs()))
@pytest.mark.filterwarnings("ignore")
def test_a_block_of_a_page_runs_as_it_stands(code, made, tmp_path, monkeypatch, request):
    folder = tmp_path / "work"
    shutil.copytree(made, folder)
    if re.search(r"http://[\d.]+:8000", code):
        number = request.getfixturevalue("port")
        code = re.sub(r"http://[\d.]+:8000", f"http://127.0.0.1:{number}", code)
    code = re.sub(r"/tmp/acclimate\S*/", f"{folder}/", code)
    monkeypatch.chdir(folder)
    if 'open_board("nrf52840"' in code and why_not("nrf52840"):
        pytest.skip(why_not("nrf52840"))
    if prose.is_host(code):
        exec(compile(code, "page", "exec"), {"__name__": "__main__"})
    elif why_not("desktop"):
        pytest.skip(why_not("desktop"))
    else:
        with open_board("desktop", root=folder, path=[_package()]) as board:
            if code.startswith(">>>"):
                _session(board, code)
            else:
                board.exec(ADC if "import ADC" in code else "")
                printed = board.exec(code)
                assert "class Person" not in code or printed in LEARNS
                if "def read(out, at)" in code:
                    board.exec("out = [0, 0]\nread(out, 1)\nassert out == [0, 7232]")


def _package():
    """The package with native modules, as a board has it; without them where none are built."""
    built = repository() / "out" / "stage" / "x64"
    return built if (built / "acclimate").is_dir() else device_package().parent


def _session(board, text):
    """Type the examples of a session; what the board answers is what the page shows."""
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for example in doctest.DocTestParser().get_examples(text):
        got = board.exec(_typed(example.source))
        if example.exc_msg:
            assert example.exc_msg in got, example.source
        else:
            assert checker.check_output(example.want, got, flags), f"{example.source}{got}"


def _typed(source):
    """What a prompt does with a statement: it prints the value, or the error."""
    try:
        compile(source, "page", "eval")
    except SyntaxError:
        return source
    call = f"_ = ({source.strip()})\n    if _ is not None:\n        print(repr(_))"
    error = "print(type(error).__name__ + ': ' + str(error))"
    return f"try:\n    {call}\nexcept Exception as error:\n    {error}\n"


@pytest.mark.parametrize("path", prose.pages(), ids=prose.name_of)
def test_every_block_of_a_page_says_what_it_is(path):
    kinds = [language for language, _ in prose.blocks(path.read_text(encoding="utf-8"))]
    assert set(kinds) <= LANGUAGES, set(kinds) - LANGUAGES


@pytest.mark.parametrize("path", prose.pages(), ids=prose.name_of)
def test_every_name_and_file_in_the_words_of_a_page_is_there(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"`(acclimate(?:_host)?(?:\.\w+)+)`", text):
        assert _is_there(name), name
    folders = "bench|boards|device|examples|native_modules|tests|tools"
    for name in re.findall(rf"`((?:{folders})/[\w./*-]+)`", text):
        assert any(repository().glob(name.rstrip("/").replace("NAME", "*"))), name


def _is_there(name):
    """Tell whether a dotted name can be imported, or found in a module that can."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found is not None
    return False


@pytest.mark.parametrize("path", prose.pages(), ids=prose.name_of)
def test_every_command_of_a_page_is_understood(path):
    for line in prose.shell_lines(path.read_text(encoding="utf-8")):
        if re.match(r"acclimate [\w-]+( |$)", line) and "..." not in line:
            words = shlex.split(line, comments=True)[1:]
            ends = [i for i, word in enumerate(words) if word in ("&", "|", "||", ">")]
            words = words[: ends[0]] if ends else words
            try:
                with contextlib.redirect_stderr(io.StringIO()) as errors:
                    cli.parser(words[0]).parse_args(words)
            except SystemExit as stop:
                assert stop.code == 0, f"{line}\n{errors.getvalue()}"
