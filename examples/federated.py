# SPDX-License-Identifier: MIT
"""Federated averaging: three boards learn one model, and no sample leaves a board.

Each board knows some digits only. A round: every board takes the newest model as a signed capsule,
trains it on its own samples and keeps the result as a capsule. This computer reads the weights of
the three, averages them (McMahan and others, 2017) and signs the next version.

    pip install '.[sklearn,desktop]'
    python examples/federated.py                     # three desktop binaries
    python examples/federated.py nrf52840 desktop /dev/ttyACM0
"""

import ast
import secrets
import sys
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from acclimate.store import WEIGHTS
from acclimate_host.capsules import cable
from acclimate_host.capsules.server import CapsuleServer
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.connect import open_board
from acclimate_host.connect.install import install
from acclimate_host.model.import_sklearn import import_mlp
from acclimate_host.model.losses import with_loss
from acclimate_host.sparse.scheme import full

KNOWN = ((0, 1, 2, 3, 4, 5), (3, 4, 5, 6, 7, 8), (6, 7, 8, 9, 0, 1))  # digits of each board
MODULES = ("net", "net.float32", "store", "flash")
DEVICE = Path(__file__).with_name("federated_device.py")


def data():
    """Return (rows of pixels, labels) in a fixed random order."""
    digits = load_digits()
    order = np.random.default_rng(1).permutation(len(digits.data))
    return digits.data[order].astype(np.uint8), digits.target[order].astype(np.uint8)


def first_model(x, labels):
    """Return (program, weights) of a float network that has seen 40 digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is stopped early
        mlp = MLPClassifier((24,), max_iter=15, random_state=1).fit(x / 16, labels)
    network = with_loss(import_mlp(mlp))
    program = encode(training_step(network.graph, full(network.graph)), network)
    return program.code, program.weights


def prepare(board, x, labels, digits, test, key):
    """Bring the package, the samples and the program to a board."""
    install(board, only=MODULES, yes=True)
    board.soft_reset()
    own = np.isin(labels, digits)
    rows = np.column_stack([x, labels])
    for name, content in (("own.bin", rows[own][:90]), ("test.bin", test), ("capsule.key", key)):
        board.put_bytes(bytes(content), f"{board.root.rstrip('/')}/{name}")
    board.run_file(DEVICE, 60)


def weights_of(board, key):
    """Return the weights in the capsule that the board keeps."""
    store = cable.open_store(board, key=key)
    found = bytearray(store.section(WEIGHTS)[1])
    store.readinto(WEIGHTS, 0, found)
    return np.frombuffer(found, "<f4")


def main(names=("desktop",) * 3, rounds=5, passes=3, rate=0.1):
    """Print a row a round; return [(right of the average, right of each board alone), ...]."""
    x, labels = data()
    program, weights = first_model(x[:40], labels[:40])
    test, key = np.column_stack([x, labels])[-100:], secrets.token_bytes(32)
    found = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = CapsuleServer({}, folder, model_id=9, key=key)
        boards = [stack.enter_context(open_board(name)) for name in names]
        for board, digits in zip(boards, KNOWN, strict=True):
            prepare(board, x[40:1000], labels[40:1000], digits, test, key)
        print("round | right of 100: the average, then each board alone after it trained")
        for n in range(rounds):
            server.model = {"PROGRAM": program, "WEIGHTS": weights}
            server.save()
            server.export()
            server.deploy(boards, setup="store")
            told = [
                ast.literal_eval(board.exec(f"print(train({passes}, {rate}))", 600))
                for board in boards
            ]
            weights = np.mean([weights_of(board, key) for board in boards], axis=0).tobytes()
            found.append((told[0][0], [after for _, after in told]))
            print("%5d %6d %8d %4d %4d" % (n, found[-1][0], *found[-1][1]))
    return found


if __name__ == "__main__":
    main(sys.argv[1:] or ("desktop",) * 3)
