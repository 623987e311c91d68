# SPDX-License-Identifier: MIT
"""The computer's side of keyword_network.py: record, train, make int8, compile.

pip install .
python examples/keyword_network_train.py      # writes heard/: the tables and the program
"""

from pathlib import Path

import numpy as np
from keyword_network import LONG, ROWS, WORDS, Pictures, Speaker

import acclimate_host.twin.frontend  # noqa: F401  (the board's C code, where it is built)
from acclimate.features import Frontend
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step
from acclimate_host.model.build import Builder
from acclimate_host.model.frontend import Input, log_mel
from acclimate_host.model.int8 import accuracy
from acclimate_host.model.pretrain import pretrain
from acclimate_host.model.quantize import quantize

BANDS, STEPS = 12, 3000
LEVEL = 1 / 666  # what the network reads for one step of a level: from 0 to about 1


def tables(to):
    return log_mel(8000, 16, channels=BANDS, high=3800.0, to=to)


def record(seed, steps=STEPS):
    """Return (pictures as the network reads them, labels) of running sound.

    A word is in the picture from its end until three windows later. Where the newest rows hold a
    part of one, nobody could say, and the picture is left out.
    """
    speaker, pictures = Speaker(seed), Pictures(Frontend(tables(Input(LEVEL, 1 / 255))))
    said, x, labels = [0] * ROWS, [], []
    for step in range(steps):
        said = said[1:] + [speaker.next(pictures.window, 1 + step % 3)]
        picture = np.frombuffer(bytes(pictures.add()), np.int8).reshape(1, ROWS, BANDS)
        spoken = [word for word in said[-LONG - 3 :] if word]
        if step >= ROWS and (len(spoken) == LONG or len(spoken) <= 2):
            x.append((picture.astype(np.float32) + 128) / 255)
            labels.append(spoken[0] if len(spoken) == LONG else 0)
    return np.array(x), np.array(labels)


def network():
    """Return the forward graph: two convolutions, then a layer over all that they found."""
    net = Builder("heard", (1, ROWS, BANDS))
    y = net.conv("c0", net.x, 8, 3, 2)
    y = net.conv("c1", y, 16, 3, 2)
    return net.classify(y, len(WORDS))


def main(folder="."):
    """Write all that the board needs into folder/heard."""
    folder = Path(folder, "heard")
    folder.mkdir(exist_ok=True)
    x, labels = record(seed=5)
    real = pretrain(network(), x, labels, epochs=12)
    small, _ = quantize(real, x[:300])
    others, labels = record(seed=77, steps=800)
    print(f"{accuracy(small, small.quantize_input(others), labels):.1%} of others' pictures right")
    scale, zero = small.graph[small.input].scale, small.graph[small.input].zero_point
    (folder / "heard.tables").write_bytes(tables(Input(LEVEL, scale, zero)))
    program = encode(inference_step(small.graph), small)
    (folder / "heard.program").write_bytes(program.code)
    print(f"program {len(program.code)} bytes, arena {program.arena_bytes}")


if __name__ == "__main__":
    main()
