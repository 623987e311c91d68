# SPDX-License-Identifier: MIT
"""The measure of the house: what it must see in a tree, and what is no fault."""

import pytest

from acclimate_host.paths import repository
from tools import house


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Write {path: text} below a root of its own; return the paths."""
    monkeypatch.setattr(house, "ROOT", tmp_path)

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [tmp_path / name for name in files]

    return write


def test_a_face_offers_its_names_and_a_file_what_it_defines(tree, tmp_path):
    tree(
        {
            "__init__.py": "def release(): pass",
            "room/__init__.py": '_NAMES = {"Store": "a.b", "_Part": "a.c"}\ndef _own(): pass',
            "room/inner.py": "class NotSeen: pass",
            "loop.py": "class Loop: pass\ndef run(): pass\ndef _help(): pass\nX = 1",
            "_private.py": "def hidden(): pass",
            "_rooms/__init__.py": "def hidden(): pass",
            "notes.txt": "def none(): pass",
        }
    )
    assert house.public_names(tmp_path) == {
        "__init__": ["release"],
        "loop": ["Loop", "run"],
        "room": ["Store"],
    }


@pytest.mark.parametrize(
    "back",
    [
        "import p.a",
        "from p import a",
        "from p.a import x",
        "from . import a",
        "from .a import x",
        "def f():\n    from p.a import x",
    ],
)
def test_a_circle_of_python_files_is_seen_however_it_is_closed(tree, back):
    a, b, c, _ = tree(
        {
            "host/p/a.py": "from p.b import y",
            "host/p/b.py": "from p import c",
            "host/p/c.py": back,
            "host/p/__init__.py": "",
        }
    )
    assert house.circles(house.python_imports([a, b, c])) == [(a, b, c)]


def test_a_line_of_python_files_and_a_package_s_own_name_are_no_circle(tree):
    files = tree(
        {
            "host/p/__init__.py": "VERSION = 1",
            "host/p/a.py": "from p import VERSION\nfrom p.b import y\nimport os",
            "host/p/b.py": "from . import VERSION\nfrom .sub.c import z",
            "host/p/sub/c.py": "from .. import VERSION",
        }
    )
    assert house.circles(house.python_imports(files)) == []


def test_a_circle_of_includes_is_seen_and_the_nearest_file_of_a_name_counts(tree):
    a, b, other, _ = tree(
        {
            "native_modules/m/a.h": '#include "b.h"',
            "native_modules/m/b.h": '  # include "../m/a.h"',
            "native_modules/n/c.c": '#include "a.h"\n#include <b.h>\n#include "none.h"',
            "native_modules/n/a.h": "",
        }
    )
    assert house.circles(house.includes([a, b])) == [(a, b)]
    near = other.with_name("a.h")
    assert house.includes([a, near, other])[other] == {near}


def test_blocks_count_whole_ones_and_two_for_each_folder_and_the_superblock():
    # block k of a file begins with pointers: 1 in the second, 2 in the third, 3 in the fifth
    assert house.blocks([1, 4096, 8188, 8189], 2) == 1 + 1 + 2 + 3 + 2 * 3
    assert house.blocks([12276], 0) + 1 == house.blocks([12277], 0)
    assert house.blocks([20452], 0) + 1 == house.blocks([20453], 0)
    taken = house.taken({"a.mpy": b"x" * 4097, "svm/__init__.mpy": b"x"})
    assert taken == {"files": 2, "bytes": 4098, "blocks": 3 + 2 * 4, "block_bytes": 11 * 4096}


def test_every_missed_bar_is_named_and_none_that_holds():
    good = {
        "public": {"names": 70, "modules": 12},
        "natives": dict(house.NATIVES_MAX),
        "circles": [],
    }
    assert house.missed(good) == []
    bad = {
        "public": {"names": 71, "modules": 13},
        "natives": {name: most + 1 for name, most in house.NATIVES_MAX.items()},
        "circles": [["a.py", "b.py"]],
    }
    assert len(house.missed(bad)) == 3 + len(house.NATIVES_MAX)


def test_lines_and_rooms_are_counted_as_wc_does(tree):
    files = tree({"host/p/a.py": "1\n2\n", "host/p/q/b.py": "3\n", "host/p/q/r/c.py": "4\n"})
    assert house.lines(files) == 4
    assert house.rooms(files, []) == {"host/p": 2, "host/p/q": 2}


def test_no_files_of_python_import_each_other_in_a_circle():
    tops = (house.ROOT / "device", house.ROOT / "host")
    files = [file for top in tops for file in sorted(top.rglob("*.py"))]
    assert len(files) > 100 and house.circles(house.python_imports(files)) == []


def test_the_templates_of_the_native_svm_are_the_only_circle_that_is_let_pass():
    sources = sorted((repository() / "native_modules" / "svm").rglob("*.[chS]"))
    for group in house.circles(house.includes(sources)):
        assert all(path.parent.name == "svm" for path in group)
