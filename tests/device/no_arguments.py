# SPDX-License-Identifier: MIT
"""What is no argument of anything, and a look that each is refused by the argument's name."""

NONE, WHOLE, MINUS, LARGE, INFINITE, REAL, EMPTY = 0, 3, 4, 5, 7, 9, 12  # places in `bad`


def bad():
    return [None, "", [], 5, -1, 1 << 40, float("nan"), float("inf"), "abc", 2.5, b"", [None], {}]


def named(name, call, fine=()):
    """Give `call` each of `bad` but those in `fine`: ValueError that names the argument.

    :param fine: places in `bad` of what is an argument
    """
    for i in range(len(bad())):
        value = bad()[i]
        try:
            call(value)
        except ValueError as error:
            assert name in str(error), (name, value, error)
            continue
        assert i in fine, (name, value)


def setting(make, name, fine=(), **given):
    """The same for an argument that `make` takes by name, beside those that are given."""

    def call(value):
        given[name] = value
        make(**given)

    named(name, call, fine)


def no_paths(*calls):
    """What is no name of a file is refused, a number as well, which may be one that is open."""
    for call in calls:
        for value in (None, [], 5, -1, 2.5, b"a", {}):
            try:
                call(value)
            except ValueError as error:
                assert str(error).startswith("path: expected the name of a file"), error
                continue
            raise AssertionError(value)
