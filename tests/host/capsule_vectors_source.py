# SPDX-License-Identifier: MIT
"""Write tests/device/capsule_vectors.py: `python tests/host/capsule_vectors_source.py`."""

import random
from pathlib import Path

from acclimate_host.capsules.build import build
from acclimate_host.capsules.delta import update

TARGET = Path(__file__).resolve().parents[1] / "device" / "capsule_vectors.py"
KEY = bytes(range(1, 33))


def vectors():
    draw = random.Random(11)
    old = bytes(draw.choice((0, 255, 127, 128, 3, 90)) for _ in range(20))
    old += draw.randbytes(107)
    new = bytes((byte + draw.choice((-2, -1, 0, 0, 1, 40))) & 255 for byte in old)
    base = build({"PROGRAM": b"prog", "WEIGHTS": old}, "SVM", 7, 1, key=KEY, temperature=300)
    target = build({"PROGRAM": b"prog", "WEIGHTS": new}, "SVM", 7, 2, key=KEY)
    return {"KEY": KEY, "BASE": base, "TARGET": target, "UPDATE": update(base, target)}


def text():
    lines = ["# SPDX-License-Identifier: MIT"]
    lines.append('"""Made by tests/host/capsule_vectors_source.py: capsules and an update."""')
    for name, data in vectors().items():
        lines += ["", f"{name} = ("]
        for at in range(0, len(data), 16):
            escaped = "".join(f"\\x{byte:02x}" for byte in data[at : at + 16])
            lines.append(f'    b"{escaped}"')
        lines.append(")")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())
