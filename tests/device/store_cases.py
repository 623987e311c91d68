# SPDX-License-Identifier: MIT
"""Stores in a small flash, in the states that the tests of rules begin from."""

from capsule_vectors import BASE, KEY, TARGET
from nor import NorFlash

from acclimate.store import Store
from acclimate.store.capsule import Wanted

PAGE = 128
PAGES = 8  # two of the journal, two slots of three


def open_store(flash, **options):
    return Store(flash, Wanted(model=7, kind=1, key=KEY), chunk_bytes=64, **options)


def empty(kind=NorFlash, **options):
    return open_store(kind(PAGES * PAGE, PAGE), **options)


def new(kind=NorFlash, **options):
    store = empty(kind, **options)
    store.swap_capsule(BASE)
    return store


def reset(store, **options):
    return open_store(store.flash, **options)


def staged(store, data=TARGET, **options):
    start = store.stage(data, len(data), **options)
    store.write(data[start:], len(data) - start)
    return start


def verified(store, data=TARGET):
    staged(store, data)
    store.finish()
    return store


def model(store):
    if store.active is None:
        return None
    start = store.slots.start(store.active)
    return bytes(store.flash.data[start : start + store.head.total])


def raised(kind, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        return error
    raise AssertionError("expected " + kind.__name__)
