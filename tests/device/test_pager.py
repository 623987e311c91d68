# SPDX-License-Identifier: MIT
"""The page store: what comes back, even wear and its budget, cuts and damage."""
# NOT_ON = {"samd21": "the flash model and the test need more than its 32 KB"}

from nor import NorFlash, PowerCut
from page_cases import check_medium, page, raises

from acclimate.pager import Pager, PagerError


def test_pages_come_back_and_wear_goes_round():
    flash = NorFlash(1024, 256)
    pager = check_medium(flash)
    assert pager.erases == sum(flash.erases) == 6
    assert max(flash.erases) - min(flash.erases) <= 1
    assert pager.written_bytes == 3 * 151 and "no limit" in repr(pager)


def test_a_page_may_be_longer_than_a_block():
    flash = NorFlash(2048, 256)
    pager = check_medium(flash, 600)
    assert pager.blocks_for(600) == 3 and pager.erases == 3 * (3 + 2)


def test_region_that_is_too_small_says_what_is_needed():
    pager = Pager(NorFlash(512, 256))
    pager.page_out(0, page(0))
    assert "larger region" in raises(PagerError, pager.page_out, 1, page(1, 400))
    pager.page_out(1, page(1))
    assert "larger region" in raises(PagerError, pager.page_out, 2, page(2))
    pager.page_out(0, page(0))  # the next step


def test_pages_that_were_not_written_or_are_damaged_are_refused():  # case: D5
    flash = NorFlash(1024, 256)
    pager = Pager(flash)
    back = memoryview(bytearray(100))
    assert "not written" in raises(PagerError, pager.page_in, 0, back)
    pager.page_out(0, page(0))
    flash.data[70] ^= 1
    assert "damaged" in raises(PagerError, pager.page_in, 0, back)
    flash.data[70] ^= 1
    pager.page_in(0, back)
    assert back == page(0)
    short = memoryview(bytearray(50))
    assert "not there" in raises(PagerError, pager.page_in, 0, short)
    flash.data[9] ^= 1
    assert "not there" in raises(PagerError, pager.page_in, 0, back)


def test_wear_stops_at_the_budget_and_goes_on_over_a_restart():  # case: D16
    flash = NorFlash(512, 256)
    pager = Pager(flash, endurance=3)
    assert pager.erases_left() == 6
    for _ in range(4):
        pager.page_out(0, page(0))
    pager = Pager(flash, endurance=3)
    assert pager.erases == 4 and pager.erases_left() == 2
    pager.page_out(0, page(0))
    pager.page_out(0, page(0))
    before = bytes(flash.data)
    assert "wear: 6 of 6" in raises(PagerError, pager.page_out, 0, page(0))
    assert bytes(flash.data) == before and flash.erases == [3, 3]
    assert Pager(NorFlash(512, 256), 3, erases=5).erases_left() == 1


def test_after_a_cut_at_any_step_the_step_runs_again():  # case: D4
    for torn in ("half", "none", "partial"):
        cut = 1
        while True:
            flash = NorFlash(1024, 256)
            pager = Pager(flash)
            pager.page_out(0, page(3))
            flash.cut_after(cut, "none" if torn == "half" and cut > 1 else torn)
            try:
                pager.page_out(0, page(5))
                break
            except PowerCut:
                pass
            flash.power_on()
            pager = Pager(flash)
            assert pager.erases >= 1
            back = memoryview(bytearray(100))
            assert "not written" in raises(PagerError, pager.page_in, 0, back)
            pager.page_out(0, page(5))
            pager.page_in(0, back)
            assert back == page(5), cut
            cut += 7
        assert cut > 20


def test_views_that_come_once_are_not_kept_for_ever():
    pager = Pager(NorFlash(1024, 256))
    data = page(0)
    back = bytearray(len(data))
    for _ in range(50):
        pager.page_out(0, memoryview(data))
        pager.page_in(0, memoryview(back))
        assert back == data
    assert len(pager._parts) < 12
    parts = pager._split(memoryview(data))
    assert parts is not pager._split(memoryview(data))
    kept = memoryview(data)
    assert pager._split(kept) is pager._split(kept)


def test_numbers_that_no_page_has_are_refused_before_anything_is_erased():
    flash = NorFlash(1024, 256)
    pager = Pager(flash)
    for number in (-1, 65536, 70000):
        assert str(number) in raises(PagerError, pager.page_out, number, page(0))
    assert sum(flash.erases) == pager.erases == 0
    pager.page_out(65535, page(0))
    pager.page_in(65535, page(0))
    for options in ({"endurance": -1}, {"erases": -5}):
        assert "0 or more" in raises(ValueError, lambda: Pager(flash, **options))  # noqa: B023
