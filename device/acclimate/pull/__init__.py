# SPDX-License-Identifier: MIT
"""Pull a newer model from a repository: HTTP, MQTT, a serial line or blocks by radio."""

from acclimate import face

_NAMES = {
    "Client": "acclimate.pull.client",
    "Refused": "acclimate.pull.exchange",
    "HttpError": "acclimate.pull.http",
    "Receiver": "acclimate.pull.blocks",
    "Mqtt": "acclimate.pull.mqtt",
    "MqttError": "acclimate.pull.mqtt",
    "receive": "acclimate.pull.mqtt",
    "SerialPull": "acclimate.pull.serial",
    "record": "acclimate.pull.reports",
    "send": "acclimate.pull.reports",
    "outcome_of": "acclimate.pull.reports",
}
__getattr__ = face("acclimate.pull", _NAMES)
