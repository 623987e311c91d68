# SPDX-License-Identifier: MIT
"""Networks that predict, and go on learning, in int8 on the board; float32 beside it."""

from acclimate import _face

_NAMES = {
    "Net": "acclimate.net.network",
    "NetError": "acclimate.net.fields",
    "bytes_needed": "acclimate.net.network",
    "FloatNet": "acclimate.net.float32",
    "report": "acclimate.net.diagnosis",
    "troubles": "acclimate.net.diagnosis",
}


def __getattr__(name, load=_face("acclimate.net", _NAMES)):  # noqa: B008  made once
    """Return a public name at its first use."""
    try:
        return load(name)
    except ImportError:
        if name != "FloatNet":
            raise
        raise ImportError(
            "FloatNet: needs native code: acclimate install --with float32"
        ) from None
