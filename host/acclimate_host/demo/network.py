# SPDX-License-Identifier: MIT
"""The network's part of the demo: a board fine-tunes an int8 network to a new user, whose watch
sits the other way round than all that the network was trained on.

One arena of a fixed size holds all that changes; what was learned leaves as a delta capsule.
"""

import base64
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from acclimate_host.capsules.build import build
from acclimate_host.capsules.delta import update
from acclimate_host.commands.showing import progress
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import Options, training_step
from acclimate_host.demo.network_task import factory_network, turned, user_task
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.paths import built
from acclimate_host.sparse.scheme import Scheme

SCHEME = Scheme(4)  # the last four biases and the classifier
EPOCHS, RATE = 6, 0.03
LEARN, TEST = 60, 60  # what fits the smallest board's files
PURE_LEARN, PURE_TEST, PURE_EPOCHS = 30, 30, 2  # Python alone: a step is 500 times slower
CALIBRATION = 300
KEY = b"demo key, not for products"
_ON_BOARD = Path(__file__).with_name("on_board_net.py")
_CHUNK_BYTES = 384


@dataclass(frozen=True)
class Setup:
    """All that the host prepares: the network, its step and program, and the user's samples."""

    user: int
    network: object
    step: object
    program: object
    samples: bytes
    learn: int
    test: int
    epochs: int = EPOCHS


@dataclass
class Result:
    """What the board said: right answers by epoch, ticks of training and prediction, weights."""

    shares: list = field(default_factory=list)
    step_ticks: float = 0.0
    predict_ticks: float = 0.0
    weights: bytes = b""


def prepare(recordings, user, cache=None, native=True, show=None):
    """Return the Setup of a new user, who wears the watch the other way round.

    :param native: without native kernels fewer samples and passes must do
    :param show: called with (passes done, of how many) while the network is trained here
    :raises ValueError: for a user who is not in the recordings
    """
    task = turned(user_task(recordings, user))
    small, _ = quantize(factory_network(task, cache, show=show), task.base[0][:CALIBRATION])
    network = with_loss(small)
    step = training_step(network.graph, SCHEME, Options(patch_grid=1))
    counts = (LEARN, TEST, EPOCHS) if native else (PURE_LEARN, PURE_TEST, PURE_EPOCHS)
    learn, test = _spread(task.tune, counts[0]), _spread(task.test, counts[1])
    rows = b"".join(
        x + bytes([label])
        for part in (learn, test)
        for x, label in zip(as_bytes(network.quantize_input(part[0])), part[1], strict=True)
    )
    return Setup(
        user, network, step, encode(step, network), rows, len(learn[1]), len(test[1]), counts[2]
    )


def _spread(part, most):
    """Return at most so many samples, evenly over the part."""
    chosen = np.linspace(0, len(part[1]) - 1, min(most, len(part[1]))).astype(int)
    return part[0][chosen], part[1][chosen]


def strides(plan):
    """Return the stride of each epoch: each visits all samples, in an order of its own."""
    found = [n for n in range(7, 7 + 8 * plan.learn) if math.gcd(n, plan.learn) == 1]
    return [found[3 * i] for i in range(plan.epochs)]


def rates():
    """Return the learning rate of each epoch as (whole number, exponent of two)."""
    return [(round(RATE * 65536 * (1 - 0.9 * i / EPOCHS)), -16) for i in range(EPOCHS)]


def scratch_folder(board, port):
    """Return the folder for the demo's files; the desktop binary's is on this computer."""
    if port or board not in (None, "", "desktop"):
        return ""
    folder = built("demo", "board")
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def is_native(board):
    """Tell whether the board runs networks by native code."""
    code = "from acclimate import _native\nprint(_native.load('net') is not None)"
    return board.exec(code, timeout_s=60).strip() == "True"


def run(board, plan, say=print, folder=""):
    """Let the board learn; return the Result.

    :param board: an open board that has the module `net`
    """
    for name, data in (
        ("net_program", plan.program.code),
        ("net_weights", plan.program.weights),
        ("net_samples", plan.samples),
    ):
        board.put_bytes(data, f"{folder}/{name}")
    board.put(_ON_BOARD, board.lib + "/on_board_net.py")
    board.exec("from on_board_net import Learner", timeout_s=60)
    board.exec(
        f"n = Learner({folder!r}, {plan.program.arena_bytes}, {plan.learn}, {plan.test})",
        timeout_s=60,
    )
    result = Result()

    def numbers(code):
        return [int(word) for word in board.exec(code, timeout_s=600).split()]

    def tested(epoch):
        right, ticks = numbers("n.test()")
        result.shares.append(right / plan.test)
        result.predict_ticks = ticks / plan.test
        passes = "1 pass" if epoch == 1 else f"{epoch} passes"
        say(f"  after {passes}: {right} of {plan.test} later windows right")

    progress("the board learns", 0, plan.epochs)
    tested(0)
    for epoch, (stride, rate) in enumerate(zip(strides(plan), rates(), strict=False)):
        _, _, ticks = numbers(f"n.epoch({stride}, {rate[0]}, {rate[1]})")
        result.step_ticks = ticks / plan.learn
        tested(epoch + 1)
        progress("the board learns", epoch + 1, plan.epochs)
    progress("")
    count = len(plan.program.weights)
    for at in range(0, count, _CHUNK_BYTES):
        text = board.exec(f"n.weights({at}, {min(_CHUNK_BYTES, count - at)})", timeout_s=60)
        result.weights += base64.b64decode(text)
    return result


def capsules(plan, weights):
    """Return (capsule of the factory, capsule with new weights, update between them)."""
    made = [
        build({"PROGRAM": plan.program.code, "WEIGHTS": content}, "NETWORK", 1, version, key=KEY)
        for version, content in ((1, plan.program.weights), (2, weights))
    ]
    return (*made, update(*made))
