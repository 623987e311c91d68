# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "all three kinds of machine need 40 KB of RAM"}
"""Power that is lost while a machine is saved leaves one that loads, on FAT too."""

import os
from io import BytesIO

from acclimate.svm import SVM, PassiveAggressive
from acclimate.svm.small import SVM as Small

PATH = "svm_replaced_test.bin"
ROWS = [[0, 1], [1, 0], [8, 9], [9, 8]]


def remove():
    for name in (PATH, PATH + ".new"):
        try:
            os.remove(name)
        except OSError:
            pass


def saved(m):
    """The bytes of a machine's first save."""
    remove()
    m.save(PATH)
    with open(PATH, "rb") as file:
        return file.read()


def cannot_be_written(m):
    """Make a machine's save fail once its file is open."""
    if isinstance(m, PassiveAggressive):
        m._mean = None
    elif isinstance(m, Small):
        m.w = ["a"]
    else:
        m._model.gap = None


def machines():
    online = PassiveAggressive(2)
    for k in range(12):
        online.add(ROWS[k % 4], k % 4 // 2)
    flat = bytearray([v for row in ROWS for v in row])
    yield online, PassiveAggressive.load
    yield Small().fit(flat, bytes((0, 0, 1, 1))), Small.load
    yield SVM().fit(ROWS, [0, 0, 1, 1]), SVM.load


def test_a_cut_between_removing_and_renaming_loses_nothing_nor_does_the_next():
    for m, load in machines():
        whole = saved(m)
        os.rename(PATH, PATH + ".new")  # FAT: the old one was removed, then came the cut
        assert repr(load(PATH)) == repr(m) or isinstance(m, Small)
        cannot_be_written(m)
        try:
            m.save(PATH)  # the next cut: while the next file is written
        except Exception as error:
            assert not isinstance(error, OSError)
        else:
            raise AssertionError("it was written")
        load(PATH)
        with open(PATH, "rb") as file:
            assert file.read() == whole
    remove()


def test_a_first_save_that_was_cut_counts_for_none():
    for m, load in machines():
        whole = saved(m)
        os.remove(PATH)
        for length in (0, 9, len(whole) - 1):
            with open(PATH + ".new", "wb") as file:
                file.write(whole[:length])
            try:
                load(PATH)
            except OSError as error:
                assert error.args[0] == 2  # ENOENT
            else:
                raise AssertionError("half a file was loaded")
    remove()


def test_two_first_saves_that_were_cut_count_for_none():
    for m, load in machines():
        whole = saved(m)
        os.remove(PATH)
        with open(PATH + ".new", "wb") as file:
            file.write(whole[:-1])
        cannot_be_written(m)
        try:
            m.save(PATH)
        except Exception as error:
            assert not isinstance(error, OSError)
        try:
            load(PATH)
        except OSError as error:
            assert error.args[0] == 2  # ENOENT: no half of a file has its name
        else:
            raise AssertionError("half a file was loaded")
    remove()


def test_a_stream_stays_open():
    for m, load in machines():
        remove()
        m.save(PATH)
        with open(PATH, "rb") as file:
            stream = BytesIO(file.read())
        load(stream)
        stream.seek(0)
        load(stream)
    remove()


def test_a_file_that_is_nowhere_is_said_to_be():
    remove()
    for load in (PassiveAggressive.load, Small.load, SVM.load):
        try:
            load(PATH)
        except OSError as error:
            assert error.args[0] == 2  # ENOENT
        else:
            raise AssertionError("no file was loaded")


def test_a_path_of_pathlib_is_found_or_not_as_text_is():
    try:
        from pathlib import Path
    except ImportError:  # a board
        return
    for m, load in machines():
        remove()
        try:
            load(Path(PATH))
            raise AssertionError("loaded what is not there")
        except OSError:
            pass
        m.save(PATH)
        os.rename(PATH, PATH + ".new")
        assert load(Path(PATH)).predict(ROWS[3]) == 1
    remove()
