# SPDX-License-Identifier: MIT
"""The text of an error, for tests of several files that look at more than its words."""


def raised(kind, call, *arguments, **options):
    """The text of the error of a kind that the call raises."""
    try:
        call(*arguments, **options)
    except kind as error:
        return str(error)
    raise AssertionError("expected " + kind.__name__)
