# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""The fixed state of one-class machines and regressions has the same bits on every runtime."""

from svm_kinds_vectors import ONE_CLASS, REGRESSION

from acclimate.svm import SVM
from acclimate.svm import kinds as _kinds  # noqa: F401  the extra of this file


def raw(m, row):
    return m._model.values(row if m.scaler is None else m.scaler.row(row))[0]


def test_fixed_values_have_the_same_bits_on_every_runtime():
    for kind, cases in (("one-class", ONE_CLASS), ("regression", REGRESSION)):
        for case in cases:
            more = {"nu": 0.25} if kind == "one-class" else {"epsilon": 0.25}
            m = SVM(case["kernel"], kind=kind, state="fixed", **more, **case["options"])
            m.fit(case["x"], case.get("y"))
            assert [raw(m, row) for row in case["tests"]] == case["fixed"], m
