# SPDX-License-Identifier: MIT
"""Write what `mpremote mip install http://HOST/mip/ARCH/ROOM.json` reads, for any web server.

usage: python tools/mip.py FOLDER ARCH...       (py: no native modules, for every board)
"""

import sys
from pathlib import Path

from acclimate_host.connect import mip


def main(folder, *archs):
    for arch in archs:
        print(f"{folder}/{arch}: " + ", ".join(mip.write(Path(folder), arch)))


if __name__ == "__main__":
    main(*sys.argv[1:])
