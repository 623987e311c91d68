# SPDX-License-Identifier: MIT
"""Compares a stream's network with TensorFlow Lite Micro: on numpy, the core and plain Python."""

import numpy as np
from tflite_micro.python.tflite_micro import runtime

from acclimate.net import Net
from acclimate.net import interpreter as in_python
from acclimate_host.compile.encode import encode
from acclimate_host.compile.instructions import read_code, split_program
from acclimate_host.compile.program_format import HEADER
from acclimate_host.compile.step import inference_step
from acclimate_host.model.import_tflite import network_from_tflite
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.network import as_bytes
from acclimate_host.twin import net as twin_net


def check_stream(data, calls=6):
    """Check the outputs of `calls` random inputs; return how many kinds of outputs came.

    :param data: bytes of an int8 .tflite file, whose state goes on from input to input
    """
    twin_net.register()
    theirs = runtime.Interpreter.from_bytes(data, arena_size=100_000)
    shape = theirs.get_input_details(0)["shape"]
    network = network_from_tflite(data, "m.tflite")
    program = encode(inference_step(network.graph), network)
    nets = [Net(bytearray(program.code), program.weights) for _ in range(2)]
    nets[1]._native = in_python
    run, random, seen = Int8Run(network), np.random.default_rng(3), set()
    channels, height, width = network.graph["x"].shape
    for _ in range(calls):
        x = random.integers(-128, 128, shape).astype(np.int8)
        theirs.set_input(x, 0)
        theirs.invoke()
        wanted = theirs.get_output(0).ravel()
        ours = x.reshape(1, height, width, channels).transpose(0, 3, 1, 2)
        assert np.array_equal(run(ours)[network.output].ravel(), wanted)
        for net in nets:
            net.predict(as_bytes(ours)[0])
            assert bytes(net.outputs()) == wanted.tobytes()
        seen.add(wanted.tobytes())
    return len(seen)


def last_operand(program, op):
    """Return where the last operand of the first such instruction lies, one byte in size."""
    made = list(read_code(split_program(program)[0]))
    following = made[1 + next(i for i, one in enumerate(made) if one.op == op)]
    return HEADER.bytes + following.at - 1
