# SPDX-License-Identifier: MIT
"""What every network of the device tests is asked."""

from acclimate.net import Net, NetError, bytes_needed

try:
    from micropython import heap_lock, heap_unlock
except ImportError:

    def heap_lock():
        pass

    heap_unlock = heap_lock


def open_net(v, program=None):
    """A net of the vectors; without a program theirs is copied to where it is aligned."""
    net = Net(program or bytearray(v.PROGRAM), v.WEIGHTS, seed=v.SEED)
    net.set_rate(*v.RATE)
    return net


def lock(net):
    """Lock the heap, but for the interpreter in Python, which allocates."""
    if not hasattr(net._native, "Layer"):
        heap_lock()


def unlock(net):
    if not hasattr(net._native, "Layer"):
        heap_unlock()


def check_predictions(v):
    net = open_net(v)
    for x, wanted in zip(v.INPUTS, v.OUTPUTS):  # noqa: B905
        lock(net)
        found = net.predict(x)
        unlock(net)
        assert bytes(net.outputs()) == wanted
        most = max([byte ^ 128 for byte in wanted])
        assert wanted[found] ^ 128 == most


def check_training(v):
    net = open_net(v)
    for x, label, share in zip(v.INPUTS, v.LABELS, v.SHARES):  # noqa: B905
        lock(net)
        found = net.train_step(x, label)
        unlock(net)
        assert found == share
    assert net.moved == v.MOVED and net.rails == v.RAILS
    assert bytes(net.weights()) == v.TRAINED


def check_generator(v):
    net = open_net(v)
    steps = 0
    for _ in net.train(zip(v.INPUTS, v.LABELS), 3):  # noqa: B905
        steps += 1
    assert steps > len(v.INPUTS)
    assert bytes(net.weights()) == v.TRAINED


def refused(function, *arguments):
    try:
        function(*arguments)
    except NetError as error:
        return str(error)
    raise AssertionError("not refused")


def check_refusals(v):
    program = bytearray(v.PROGRAM)  # one for all: the 32 KB board has no room for three
    net = open_net(v, program)
    before = bytes(net.weights())
    assert "x: expected" in refused(net.predict, b"1")
    assert "label: expected 0 to 2" in refused(net.train_step, v.INPUTS[0], 3)
    assert "weights: expected" in refused(net.load, b"12")
    assert "arena: 8 bytes" in refused(Net, program, v.WEIGHTS, bytearray(8))
    assert "ANET" in refused(bytes_needed, b"nothing")
    program[90] ^= 1
    assert "CRC" in refused(Net, program, v.WEIGHTS)
    program[90] ^= 1
    assert bytes(net.weights()) == before
    assert "%d trained" % len(before) in repr(net)
