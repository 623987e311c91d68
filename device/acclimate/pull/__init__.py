# SPDX-License-Identifier: MIT
"""Pull a newer model from a repository: HTTP, MQTT, a serial line or blocks by radio."""

from acclimate import _face

_NAMES = {
    "Client": "acclimate.pull.client",
    "Refused": "acclimate.pull.exchange",
    "HttpError": "acclimate.pull.http",
    "Receiver": "acclimate.pull.blocks",
    "Mqtt": "acclimate.pull.mqtt",
    "MqttError": "acclimate.pull.mqtt",
    "receive": "acclimate.pull.mqtt",
    "SerialPull": "acclimate.pull.serial",
    "make_report": "acclimate.pull.reports",
    "send_report": "acclimate.pull.reports",
}
__getattr__ = _face("acclimate.pull", _NAMES)


def _seal(key):
    """Return what reads files that are encrypted with a key.

    :raises ImportError: the extra is missing.
    """
    try:
        from acclimate.pull.encrypted import Seal
    except ImportError:
        raise ImportError("object_key: acclimate install --with encrypted") from None
    return Seal(key)
