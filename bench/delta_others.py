# SPDX-License-Identifier: MIT
"""What other tools need for the same change: bsdiff4, every variant of detools, and zstd.

Their fixed headers are not counted, as ours is not.
"""

import io
import sys
import tempfile
from pathlib import Path

_BSDIFF_HEADER = 32
_DETOOLS_HEADER = 4  # type, compression and the length of the result
_ZSTD_HEADER = 4  # its magic number
_COMPRESSIONS = ("lzma", "bz2", "crle", "heatshrink", "zstd", "lz4")


def others(base, target):
    """Return {tool and variant: bytes of the patch from base to target}."""
    try:
        import bsdiff4
        import detools  # noqa: F401
        import zstandard  # noqa: F401
    except ImportError as error:
        sys.exit(f"{error.name} is needed for comparison; run: pip install -e '.[bench]'")
    return {
        "bsdiff4": len(bsdiff4.diff(base, target)) - _BSDIFF_HEADER,
        "zstd --patch-from": _zstd(base, target),
        **_sequential(base, target),
        **_hdiffpatch(base, target),
    }


def _zstd(base, target):
    """As `zstd --patch-from` does it, at its highest level: the base is the window before."""
    import zstandard

    known = zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    parameters = zstandard.ZstdCompressionParameters.from_level(
        22, enable_ldm=True, write_content_size=False, write_checksum=False, window_log=24
    )
    compressor = zstandard.ZstdCompressor(compression_params=parameters, dict_data=known)
    return len(compressor.compress(target)) - _ZSTD_HEADER


def _sequential(base, target):
    import detools

    sizes = {}
    for compression in _COMPRESSIONS:
        for form in (None, "arm-cortex-m4"):
            out = io.BytesIO()
            detools.create_patch(
                io.BytesIO(base),
                io.BytesIO(target),
                out,
                compression=compression,
                patch_type="sequential",
                data_format=form,
            )
            name = f"detools {compression}" + (f" {form}" if form else "")
            sizes[name] = len(out.getvalue()) - _DETOOLS_HEADER
    return sizes


def _hdiffpatch(base, target):
    """detools' other algorithms read files."""
    import detools

    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("base", "target", "patch")]
        paths[0].write_bytes(base)
        paths[1].write_bytes(target)
        for algorithm in ("hdiffpatch", "match-blocks"):
            for compression in _COMPRESSIONS:
                detools.create_patch_filenames(
                    *map(str, paths),
                    compression=compression,
                    patch_type="hdiffpatch" if algorithm == "hdiffpatch" else "sequential",
                    algorithm=algorithm,
                )
                size = paths[2].stat().st_size - _DETOOLS_HEADER
                sizes[f"detools {algorithm} {compression}"] = size
    return sizes
