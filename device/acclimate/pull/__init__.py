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
