# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Bad input names the argument, what was expected and what came, and changes nothing."""

from array import array

from raised import fails

from acclimate.svm import SVM

X = [[0, 0], [0, 1], [1, 0], [1, 1]]
Y = [0, 1, 1, 0]
NAN = float("nan")
INF = float("inf")

BAD_DATA = (
    ([], [], ("X, y", "at least 2", "0")),
    (X, [1, 1, 1, 1], ("y", "2 classes", "1")),
    (X, [0, 1, 1], ("y", "4", "3")),
    (X, [0, 1, 0.5, 0], ("y[2]", "0..254", "0.5")),
    ([[0, 0], [0, 1, 2]], [0, 1], ("X row 1", "2", "3")),
    ([[0, 0], [0]], [0, 1], ("X row 1", "2", "1")),
    ([[0.0, 0], [0, 1], [NAN, 1]], [0, 1, 1], ("X row 2", "finite", "nan")),
    ([[0.0, 0], [0, INF], [2, 1]], [0, 1, 1], ("X row 1", "finite", "inf")),
    ([[0, 0], [0, "a"]], [0, 1], ("X row 1", "numbers")),
    (bytearray(7), [0, 1, 0], ("X", "multiple of 3", "7")),
    (array("f", [0, 1, NAN, 3]), [0, 1], ("X row 1", "finite")),
)

BAD_OPTIONS = (
    ({"kernel": "sigmoid"}, ("kernel", "rbf", "sigmoid")),
    ({"C": 0}, ("C", "> 0", "0")),
    ({"C": NAN}, ("C", "nan")),
    ({"C": "1"}, ("C", "1")),
    ({"gamma": -1}, ("gamma", "-1")),
    ({"degree": 0}, ("degree", "1..9", "0")),
    ({"coef0": INF}, ("coef0", "inf")),
    ({"tol": 0}, ("tol", "0")),
    ({"max_iter": 0}, ("max_iter", "0")),
    ({"small": True, "kernel": "rbf"}, ("small", "linear", "rbf")),
    ({"small": True, "storage": "float32"}, ("small", "uint8", "float32")),
    ({"small": True, "budget": 5}, ("small", "5")),
    ({"storage": "int4"}, ("storage", "int8", "int4")),
    ({"class_weight": {0: -1}}, ("class_weight[0]", "-1")),
)


def test_bad_options_are_named():
    for options, words in BAD_OPTIONS:
        fails(words, lambda o=options: SVM(**o).fit(X, Y))


def test_bad_data_is_named_and_the_model_stays():  # case: B2, I14
    m = SVM(kernel="rbf", C=100, gamma=1.0).fit(X, Y)
    before = [m.decision(r) for r in X]
    for data, labels, words in BAD_DATA:
        fails(words, m.fit, data, labels)
        assert [m.decision(r) for r in X] == before


def test_values_outside_the_storage_are_refused():
    fails(("X", "-128..127", "300"), SVM(storage="int8").fit, [[0], [300]], [0, 1])
    fails(("X", "0..255", "-1"), SVM(storage="uint8").fit, [[0], [-1]], [0, 1])
    fails(("X", "32767", "40000"), SVM(storage="int16").fit, [[0], [40000]], [0, 1])


def test_predict_names_a_wrong_width_and_an_unfitted_model():
    fails(("fitted", "fit first"), SVM().predict, [0, 0])
    m = SVM().fit(X, [0, 0, 1, 1])
    fails(("row", "2", "3"), m.predict, [0, 0, 0])
    fails(("row", "2", "1"), m.decision, [0])
    fails(("row", "finite"), m.predict, [0, NAN])
    fails(("X", "2", "3"), m.evaluate, [[0, 0, 0]], [0])


def test_rows_of_something_else_than_numbers_are_named_at_every_door():
    for options in ({}, {"scale": True}, {"storage": "float32"}, {"kernel": "rbf"}):
        m = SVM(**options).fit([[0, 0], [0, 1], [9, 9], [8, 9]], [0, 0, 1, 1])
        for row in (["a", 0], [None, 0], [[1], 0], "ab", 5, None):
            fails(("row", "numbers"), m.predict, row)
            fails(("row", "numbers"), m.decision, row)
            bad = [[0, 0], row, [9, 9], [8, 9]]
            fails(("X row 1", "numbers"), SVM(**options).fit, bad, [0, 0, 1, 1])
        fails(("row", "numbers", "a"), m.predict_many, [["a", 0]], bytearray(1))
        fails(("y", "label", "5"), m.fit, X, 5)
        fails(("X", "rows", "5"), m.fit, 5, Y)


def test_steps_that_would_never_end_are_refused():
    for steps in (0, -1, 1 << 64, 0.5, NAN, "1"):
        model = SVM(kernel="rbf").fit(X, Y)
        try:
            for _ in model.fit_steps(X, Y, steps=steps):
                pass
        except ValueError as error:
            assert "steps" in str(error) and "1.." in str(error), error
        else:
            raise AssertionError("no error for %r" % (steps,))
        assert model.predict([0, 1]) == 1


def test_class_weight_of_another_type_is_named():
    for weight in (2, [1, 2], "even"):
        try:
            SVM(class_weight=weight).fit(X, Y)
        except ValueError as error:
            assert "class_weight" in str(error) and "balanced" in str(error), error
        else:
            raise AssertionError("no error for %r" % (weight,))


def test_other_labels_need_the_file_of_an_extra():
    for y, words in (
        ([0, 1, 1, 255], ("y[3]", "0..254", "255", "--with labels")),
        ([0, -1, 1, 0], ("y[1]", "0..254", "-1")),
        (["a", "b", "a", "b"], ("y[0]", "0..254", "a")),
    ):
        try:
            SVM().fit(X, y)
        except ValueError as e:
            for word in words:
                assert word in str(e), str(e)
        else:
            return "the file is here"
    for option, call in (
        ("kinds", lambda: SVM(kind="regression")),
        ("probability", lambda: SVM().fit(X, Y).calibrate(X, Y)),
    ):
        try:
            call()
        except ImportError as e:
            assert "install --with " + option in str(e)
        else:
            raise AssertionError(option)
