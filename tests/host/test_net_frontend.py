# SPDX-License-Identifier: MIT
"""The front end keeps within 1.2 times the instructions of CMSIS-DSP."""

import shutil

import pytest

from acclimate_host.connect import why_not
from bench import common, net_frontend

MISSING = why_not("nrf52840") or ("" if shutil.which("arm-none-eabi-gcc") else "no Arm compiler")


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_the_front_end_takes_no_more_than_its_bar(monkeypatch):
    monkeypatch.delenv("CMSIS_DSP", raising=False)
    result = {}
    net_frontend.measure(result)
    for field, relation, target in net_frontend.TARGETS:
        assert common.meets(common.look_up(result, field), relation, target) in ("ok", ""), field
    assert result["frontend"]["cmsis_dsp"]["measured"] == "recorded"
    # Rounding of nine stages; a wrong transform is off by thousands.
    assert result["frontend"]["arithmetic"]["ours"] < 8
