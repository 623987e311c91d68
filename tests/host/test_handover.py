# SPDX-License-Identifier: MIT
"""A model is switched while threads and tasks predict: never half of one, never an old view."""

import asyncio
import threading
import time

import capsule_cases as cases
import pytest

from acclimate.store import WEIGHTS, LiveModel, LiveModelError
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.install import install
from harness.clock import HANG_S, wait_until
from harness.errors import naming
from harness.runtimes import copy_model


class Same:
    """A model whose weights are all one byte; predict looks at each, slowly."""

    def __init__(self, store):
        self.view = store.view(WEIGHTS)
        if self.view[0] == 13:
            raise ValueError("an unlucky model")

    def predict(self, pause_s=0.0):
        first = self.view[0]
        time.sleep(pause_s)
        if any(byte != first for byte in self.view):
            raise AssertionError("two models in one call")
        return first


def capsule(version, byte=None):
    return cases.capsule(version, bytes([byte or version]) * 300)


def start():
    store = cases.store(cases.flash())
    store.swap_capsule(capsule(1))
    return store, LiveModel(store, Same)


def bring(store, version, byte=None):
    data = capsule(version, byte)
    store.stage(data, len(data))
    store.write(data, len(data))
    store.finish()


def test_threads_never_see_half_of_a_switch():
    store, current = start()
    seen, errors, stop = [set() for _ in range(3)], [], threading.Event()

    def work(mine):
        try:
            while not stop.is_set():
                mine.add(current.predict(0.0001))
                with current.held() as model:
                    first = model.predict()
                    time.sleep(0.0002)
                    assert model.predict() == first
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    for version in range(2, 12):
        bring(store, version)
        current.switch(store.confirm)
        assert current.version == version
        wait_until(lambda v=version: errors or all(v in mine for mine in seen))
    stop.set()
    for thread in threads:
        thread.join(HANG_S)
    assert not errors and all(set(range(2, 12)) <= mine for mine in seen)


@pytest.mark.case("D5")
def test_tasks_hold_a_model_over_awaits():
    store, current = start()
    seen = []

    async def predict_in_steps():
        while not seen or seen[-1] < 6:
            async with current.held() as model:
                first = model.predict()
                await asyncio.sleep(0.001)
                assert model.predict() == first
            seen.append(current.predict())
            await asyncio.sleep(0)

    async def replace():
        for version in range(2, 7):
            bring(store, version)
            await current.aswitch(store.confirm)
            while version not in seen:
                await asyncio.sleep(0.001)

    async def main():
        await asyncio.wait_for(
            asyncio.gather(predict_in_steps(), predict_in_steps(), replace()), HANG_S
        )

    asyncio.run(main())
    assert seen == sorted(seen) and set(seen) >= set(range(2, 7))


def test_a_model_that_cannot_be_loaded_leaves_the_old_one():
    store, current = start()
    bring(store, 2, 13)
    with pytest.raises(LiveModelError, check=naming("an unlucky model")):
        current.switch(store.confirm)
    assert current.predict() == 1 and store.head.version == 1 and current.version == 1
    assert cases.active(cases.store(store.flash)) == capsule(1)


@pytest.mark.parametrize(
    "error",
    [KeyError(1), ImportError("no op"), SyntaxError("x"), IndexError(), ZeroDivisionError(),
     AttributeError("predict"), RuntimeError("x"), OSError(5), MemoryError(), StopIteration()],
)  # fmt: skip
@pytest.mark.parametrize("step", ["trial", "confirm"])
def test_whatever_a_load_raises_the_old_model_is_back(error, step):
    store, current = start()
    bring(store, 2)

    def load(store):
        raise error

    current._load = load
    with pytest.raises(LiveModelError, match=type(error).__name__):
        current.switch(getattr(store, step))
    assert current.predict() == 1 and store.head.version == 1
    store.confirm()
    again = cases.store(store.flash)
    assert cases.active(again) == capsule(1) and again.state != "trial"


def test_an_interrupted_load_leaves_the_old_model_and_goes_on_up():
    store, current = start()
    bring(store, 2)

    def load(store):
        raise KeyboardInterrupt

    current._load = load
    with pytest.raises(KeyboardInterrupt):
        current.switch(store.trial)
    assert current.predict() == 1 and store.state != "trial"


def test_a_model_that_is_held_too_long_is_named():
    store, current = start()
    bring(store, 2)
    with current.held():
        with pytest.raises(LiveModelError, check=naming(1)):
            current.switch(store.confirm, timeout_ms=20)
    assert store.state == "verified" and current.predict() == 1
    current.switch(store.trial)
    assert current.predict() == 2
    current.switch(store.rollback)
    assert current.predict() == 1


def test_without_a_model_predict_says_why():
    store = cases.store(cases.flash())
    current = LiveModel(store, Same)
    with pytest.raises(LiveModelError, match="no model: "):
        current.predict()
    bring(store, 1)
    current.switch(store.confirm)
    assert current.predict() == 1


_ON_MICROPYTHON = """
import _thread, time
from acclimate.store import WEIGHTS, Wanted
from acclimate.store import LiveModel
from nor import NorFlash
from acclimate.store import Store
class Same:
    def __init__(self, store): self.view = store.view(WEIGHTS)
    def predict(self):
        first = self.view[0]
        for byte in self.view:
            if byte != first: raise AssertionError('two models in one call')
        return first
store = Store(NorFlash(34 * 256, 256), Wanted(model=7, key={key!r}), chunk_bytes=64)
capsules = {capsules!r}
store.swap_capsule(capsules[0])
current = LiveModel(store, Same)
seen, errors, stop, ended = set(), [], [], []
def work():
    try:
        while not stop:
            seen.add(current.predict())
    except Exception as error:
        errors.append(error)
    ended.append(1)
def wait():  # a busy computer may let the other thread wait
    for _ in range(60000):
        if current.version in seen or errors: break
        time.sleep(0.01)
_thread.start_new_thread(work, ())
wait()
for data in capsules[1:]:
    store.stage(data, len(data)); store.write(data, len(data)); store.finish()
    current.switch(store.confirm)
    wait()
stop.append(1)
while not ended: time.sleep(0.01)
print(errors, sorted(seen), current.version)
"""


def test_micropython_threads_hand_over_too():
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    with open_board("desktop") as board:
        if board.exec("try:\n import _thread\n print(1)\nexcept ImportError:\n print(0)") == "0\n":
            pytest.skip("this desktop binary has no threads")
        install(board, only=["store"], yes=True)
        copy_model(board)
        board.soft_reset()
        code = _ON_MICROPYTHON.format(
            key=cases.KEY, capsules=[capsule(version) for version in range(1, 8)]
        )
        assert board.exec(code, HANG_S) == "[] [1, 2, 3, 4, 5, 6, 7] 7\n"
