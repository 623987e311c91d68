# SPDX-License-Identifier: MIT
"""Mount the flash filesystem at / (formatting it on the first boot) and add /lib to the path."""

import sys

import qboard
import vfs

flash = qboard.Flash(qboard.FS_START, qboard.FS_BYTES)
if hasattr(vfs, "VfsLfs2"):
    kind, options = vfs.VfsLfs2, {"progsize": 4}
else:
    kind, options = vfs.VfsLfs1, {}
try:
    filesystem = kind(flash, **options)
except OSError:
    kind.mkfs(flash, **options)
    filesystem = kind(flash, **options)
vfs.mount(filesystem, "/")
sys.path.append("/lib")
