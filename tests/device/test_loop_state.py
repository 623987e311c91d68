# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "the loop and two of them in the test fill 32 KB"}
"""The closed loop's samples survive a reset, and bad bytes change nothing."""

from loop_models import DRIFTED, feed, make, refused, rows

from acclimate import energy as _energy  # noqa: F401  the file on the board that has it


def lived():
    loop = make()
    feed(loop, DRIFTED)
    loop.sense(rows(60))  # still waits for its truth
    return loop


def test_another_loop_goes_on_where_the_first_one_was():
    first, second = lived(), make()
    second.restore(bytes(first.state()))
    assert second.state() == first.state()
    for loop in (first, second):
        assert loop.observe(1) is True
    assert first.run_idle() == second.run_idle() == "kept"
    assert list(first.trainer.live.means) == list(second.trainer.live.means)
    feed(first, DRIFTED[:3])
    feed(second, DRIFTED[:3])
    assert second.state() == first.state()


def test_the_buffer_is_the_callers():
    loop = lived()
    buffer = loop.state()
    assert loop.state(buffer) is buffer and buffer == loop.state()
    refused(("buffer", str(len(buffer))), loop.state, bytearray(len(buffer) - 1))


def test_bytes_of_another_loop_or_damaged_ones_change_nothing():
    state = lived().state()
    loop = make()
    before = loop.state()
    refused(("state", "bytes"), loop.restore, state[:-1])
    refused(("state",), loop.restore, bytes(len(state)))
    numbers = 24
    for at in range(numbers):
        for byte in (0xFF, 0x7F):
            bad = bytearray(state)
            bad[4 * at + 3] = byte
            if at in (13, 14, 15, 17, 19, 21, 22, 23) and byte == 0x7F:  # counters without a limit
                continue
            refused(("state",), loop.restore, bad)
    assert loop.state() == before


def test_right_answers_are_as_many_as_were_kept():
    loop = lived()
    state, right = loop.state(), loop.feedback._recent_right
    for number in (0, right - 1, right + 1, 32):
        bad = bytearray(state)
        bad[4 * 20] = number
        refused(("state",), make().restore, bad)
    loop.feedback.new_model()  # the answers of before are forgotten, and lie there still
    loop.feedback.truth(0)
    other = make()
    other.restore(loop.state())
    assert other.state() == loop.state() and other.feedback.recent() == 1000


def test_bytes_that_are_refused_do_not_end_a_training():
    loop = lived()
    loop.observe(1)
    loop.idle()
    assert loop.trainer.busy()
    refused(("state",), loop.restore, bytes(len(loop.state())))
    assert loop.trainer.busy()
    loop.restore(loop.state())
    assert not loop.trainer.busy()


def test_trainings_that_a_change_left_due_survive_a_reset():
    first, second = make(), make()
    for loop in (first, second):
        loop._drift = Never()
    first.changed(0)
    assert second.run_idle() is None
    second.restore(first.state())
    assert second.drifts == 1
    for loop in (first, second):
        feed(loop, DRIFTED)
    assert first.run_idle() == second.run_idle() == "kept"


class Never:
    """The least that a detector may be."""

    def add(self, wrong):
        return False


def test_any_damaged_byte_is_refused_or_leaves_a_loop_that_works():
    state = lived().state()
    for at in range(len(state)):
        bad = bytearray(state)
        bad[at] ^= 0x84
        loop = make()
        try:
            loop.restore(bad)
        except ValueError:
            continue
        feed(loop, DRIFTED)
        loop.run_idle()
