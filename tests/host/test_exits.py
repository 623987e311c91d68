# SPDX-License-Identifier: MIT
"""``acclimate run FILE`` ends with the exit code of FILE, and names FILE's own lines."""

import re

import pytest

from acclimate_host import cli
from acclimate_host.connect import exits, open_board, why_not

ENDS = [
    ("print(1)\n", 0, ""),
    ("import sys\nsys.exit()\n", 0, ""),
    ("import sys\nsys.exit(0)\n", 0, ""),
    ("import sys\nsys.exit(3)\n", 3, ""),
    ("raise SystemExit(True)", 1, ""),
    ("raise SystemExit(256)", 1, ""),
    ("raise SystemExit(-1)", 255, ""),
    ("raise SystemExit('no sensor')", 1, "no sensor\n"),
    ("raise SystemExit([1, 2])", 1, "[1, 2]\n"),
    ("# nothing else\n", 0, ""),
    (
        "def f():\n    import sys\n\n    sys.exit(4)\n\n\ntry:\n    f()\nfinally:\n    print(2)\n",
        4,
        "",
    ),
]


@pytest.mark.parametrize("text, code, said", ENDS)
def test_the_exit_code_is_that_of_the_program(tmp_path, capsys, text, code, said):
    path = tmp_path / "job.py"
    path.write_text(text)
    assert cli.main(["run", str(path), "--board", "desktop", "--no-install"]) == code
    assert capsys.readouterr().err == said


HARD = '''"""Text
that goes on
"""
a = (1,
2)
b = """x
  y"""; c = \\
3
if c:
\tfor d in a:
\t\tpass
# a comment
class E:
    def f(self):
        return """
no indent"""

print(a, repr(b), c, d, repr(E().f()))
'''


@pytest.mark.parametrize("head", ["", "\n", "# a comment\n", "'''a text'''\n"])
def test_a_program_means_the_same_in_its_frame(head):
    program, _ = exits.catching(head + HARD)
    plain, framed = {}, {}
    exec(head + HARD, plain)
    exec(program, framed)
    for name in "abcd":
        assert plain[name] == framed[name]
    assert plain["E"]().f() == framed["E"]().f() == "\nno indent"


@pytest.mark.parametrize(
    "board, head",
    [("desktop", ""), ("desktop", "# a comment\n"), ("desktop", "\n\n"), ("nrf52840", "")],
)
def test_a_traceback_names_lines_of_the_file(tmp_path, capsys, board, head):
    path = tmp_path / "job.py"
    path.write_text(head + "def f():\n    1 / 0\n\n\nf()\n")
    assert cli.main(["run", str(path), "--board", board, "--no-install"]) == 1
    said = capsys.readouterr().err
    lines = [int(n) for n in re.findall(rf'File "{re.escape(str(path))}", line (\d+)', said)]
    first = head.count("\n")
    assert lines == [first + 5, first + 2]
    assert said.count("File ") == 2  # and no line of what runs the file


def test_an_emulated_board_passes_it_on_and_goes_on():
    """Also after a program that restarted the board, as an exit without a code does."""
    if reason := why_not("nrf52840"):
        pytest.skip(reason)
    with open_board("nrf52840") as board:
        for text, code, _ in ENDS:
            board.exec(exits.catching(text)[0])
            assert exits.exit_code(board) == code, text
