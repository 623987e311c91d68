# SPDX-License-Identifier: MIT
"""The computer's side of sound.py: tables of 12 even bands of sound, 16 ms at 8 kHz.

    pip install .
    python examples/sound_tables.py      # writes sound.tables

Bands of `motion` are even, and no share of noise is taken away, which a machine's hum would be.
"""

from pathlib import Path

from acclimate_host.model.frontend import motion


def main(folder="."):
    """Write the tables into a folder."""
    tables = motion(rate=8000, samples=128, axes=1, channels=12)
    Path(folder, "sound.tables").write_bytes(tables)
    print(f"sound.tables: {len(tables)} bytes")


if __name__ == "__main__":
    main()
