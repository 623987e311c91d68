# SPDX-License-Identifier: MIT
"""Writes tests/device/frontend_vectors.py: small tables of a front end, for every runtime.

python tests/host/frontend_vectors_source.py
"""

from acclimate_host.model import frontend
from acclimate_host.paths import repository

PATH = repository() / "tests" / "device" / "frontend_vectors.py"
HEAD = "# SPDX-License-Identifier: MIT\n# Written by tests/host/frontend_vectors_source.py.\n"


def text():
    """Return the file's text."""
    made = {
        "SOUND": frontend.log_mel(rate=1000, window_ms=30, channels=5, low=40.0, high=480.0),
        "MOTION": frontend.motion(rate=50, samples=16, axes=2, channels=4),
    }
    parts = [HEAD]
    for name, tables in made.items():
        parts.append(f"{name} = bytes.fromhex(\n")
        digits = tables.hex()
        parts += [f'    "{digits[at : at + 88]}"\n' for at in range(0, len(digits), 88)]
        parts.append(")\n")
    return "".join(parts)


if __name__ == "__main__":
    PATH.write_text(text())
