# SPDX-License-Identifier: MIT
# Written by tools/faces.py.
from acclimate.pull.blocks import Receiver as Receiver
from acclimate.pull.client import Client as Client
from acclimate.pull.exchange import Refused as Refused
from acclimate.pull.http import HttpError as HttpError
from acclimate.pull.mqtt import Mqtt as Mqtt
from acclimate.pull.mqtt import MqttError as MqttError
from acclimate.pull.mqtt import receive as receive
from acclimate.pull.reports import make_report as make_report
from acclimate.pull.reports import send_report as send_report
from acclimate.pull.serial import SerialPull as SerialPull
