# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "32 KB have no room for what only prints"}
"""What a prompt shows of a store, its flash and what brings models; keys are never shown."""

from capsule_vectors import BASE, KEY, UPDATE
from nor import NorFlash

from acclimate.flash import BlockFlash, RetryingDevice
from acclimate.pull import Client, Mqtt, Receiver, SerialPull
from acclimate.store import LiveModel, Store, Updater, Wanted


class Device:
    def __repr__(self):
        return "a card"

    def ioctl(self, what, number):
        return {4: 4, 5: 128}[what]


def test_flash_and_wanted():
    assert repr(BlockFlash(Device(), 8)) == "BlockFlash: 512 bytes, pages of 128, units of 8"
    assert repr(RetryingDevice(Device())) == "RetryingDevice(a card)"
    assert repr(Wanted()) == "Wanted(model=0, kind=0): unsigned"
    told = repr(Wanted(model=7, kind=1, key=KEY))
    assert told == "Wanted(model=7, kind=1): signed"


def new():
    return Store(NorFlash(1024, 128), Wanted(model=7, key=KEY), chunk_bytes=64)


def test_a_store_and_what_comes_into_it():
    store = new()
    assert repr(store).startswith("Store(no model, empty): slots of 384 bytes, ")
    store.swap_capsule(BASE)
    assert repr(store).startswith("Store(model 7, version 1, confirmed): slots of 384 bytes, ")
    store.trouble = "the flash is worn"
    assert repr(store).endswith(", the flash is worn")
    store.trouble = ""
    updater = Updater(store)
    assert repr(updater) == "Updater: waits for its head"
    updater.feed(UPDATE[:180], 180)
    assert repr(updater) == "Updater: 124 of 256 bytes"
    live = LiveModel(store, lambda store: "a model")
    assert repr(live) == "LiveModel('a model'): version 1, held by 0"


def test_ways_to_bring_models():
    store = new()
    client = Client(store, "http://h:81", device=17)
    assert repr(client) == "Client('http://h:81/models/7/all.man', device=17): no pull yet"
    client.reason = "current"
    assert repr(client).endswith("device=17): current")
    receiver = Receiver(store, 4, 64)
    assert repr(receiver) == "Receiver(4, 64): idle "
    receiver.state, receiver.reason = 3, "magic"
    assert repr(receiver) == "Receiver(4, 64): refused magic"
    assert repr(SerialPull(store, "http://h")) == "SerialPull: open"
    told = repr(Mqtt("device-17", "h", user="me", password="secret"))
    assert told == "Mqtt('device-17', 'h', 1883): not connected"
