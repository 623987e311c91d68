# SPDX-License-Identifier: MIT
"""Every case of docs/user_cases.md has a test, and the page names those that there are."""

from tests import user_cases


def test_every_case_of_the_page_has_a_test_and_no_test_names_another():
    listed = user_cases.listed()
    assert len(listed) > 100 and len(set(listed)) == len(listed)
    assert sorted(user_cases.tests()) == sorted(listed)


def test_the_page_names_the_tests_of_each_case():
    assert user_cases.PAGE.read_text(encoding="utf-8") == user_cases.page(), (
        "run: python -m tests.user_cases"
    )


def test_marks_and_comments_are_found():
    marked = '@pytest.mark.case("A1", "B2")\ndef test_a():\n    pass\n'
    assert list(user_cases._named_in(marked)) == [("test_a", ["A1", "B2"])]
    assert list(user_cases._named_in("def test_b():  # case: A1, C3\n    pass\n")) == [
        ("test_b", ["A1", "C3"])
    ]
    assert list(user_cases._named_in("def test_c():\n    pass\n")) == []
