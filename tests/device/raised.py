# SPDX-License-Identifier: MIT
"""What tests of several files on a board ask of an error."""


def fails(words, call, *args):
    """The call raises a ValueError (or MemoryError) whose text has all the words."""
    try:
        call(*args)
    except (ValueError, MemoryError) as e:
        for word in words:
            assert word in str(e), (word, str(e))
        return
    raise AssertionError("expected an error with " + repr(words))
