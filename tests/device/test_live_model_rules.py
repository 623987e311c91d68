# SPDX-License-Identifier: MIT
"""A model in use: who waits for whom, when another one is loaded, and what an error leaves."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

import sys

from store_cases import raised

from acclimate.store import LiveModel, LiveModelError
from acclimate.store import live_model as module


class Lock:
    """A lock that knows who would wait for ever."""

    def __init__(self):
        self.is_held = False

    def acquire(self):
        assert not self.is_held, "it would wait for ever"
        self.is_held = True

    def release(self):
        assert self.is_held, "nobody holds it"
        self.is_held = False


class Time:
    """Stands for `time` and `asyncio`: counts pauses, and does something at one of them."""

    def __init__(self):
        self.slept = []
        self.then = {}
        self.model = None

    def sleep(self, seconds):
        assert not self.model._lock.is_held, "others cannot go on"
        self.slept.append(seconds)
        self.then.pop(len(self.slept), int)()


class Tasks:
    def __init__(self, clock):
        self.clock = clock

    async def sleep(self, seconds):
        self.clock.sleep(seconds)


class Head:
    version = 3


class Store:
    """A store as far as a model in use looks at it."""

    def __init__(self, active):
        self.active, self.head, self.state, self.note = active, Head(), "confirmed", "empty flash"
        self.rolled_back = 0

    def rollback(self):
        self.rolled_back += 1
        self.become(0, 3)

    def become(self, active, version, state="confirmed"):
        self.active, self.head.version, self.state = active, version, state


class Model:
    def __init__(self, store):
        self.version = store.head.version

    def predict(self, *row):
        if row == ("bad",):
            raise KeyError("row")
        return self.version, row


class Using:
    """(store, its model in use, the clock), where threads and pauses are those of the test."""

    def __init__(self, active=0, lock=Lock):
        self.before = module.allocate_lock, module.time, sys.modules.get("asyncio")
        module.allocate_lock, module.time = lock, Time()
        sys.modules["asyncio"] = Tasks(module.time)
        store = Store(active)
        module.time.model = LiveModel(store, Model)
        self.all = store, module.time.model, module.time

    def __enter__(self):
        return self.all

    def __exit__(self, *_):
        module.allocate_lock, module.time, asyncio = self.before
        if asyncio is None:
            del sys.modules["asyncio"]
        else:
            sys.modules["asyncio"] = asyncio


def is_free(current):
    """Nobody holds the lock, and nobody is waited for."""
    before = len(module.time.slept)
    if current.model is not None:
        current.predict()
        with current.held():
            pass
    return not current._lock.is_held and len(module.time.slept) == before


def run(coroutine):
    """Run a coroutine that only waits by our clock."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waits for something else")


def names(words, call, *args):
    told = str(raised(LiveModelError, call, *args))
    for word in words:
        assert word in told, told


def test_the_model_in_use_predicts_and_tells_its_version():
    with Using() as (_, current, clock):
        assert current.predict(1, 2) == (3, (1, 2)) and current.version == 3
        with current.held() as model, current.held() as again:
            assert model is again is current.model
            assert repr(current).endswith("version 3, held by 2")
        assert repr(current).endswith("held by 0")
        raised(KeyError, current.predict, "bad")
        assert is_free(current) and not clock.slept


def test_without_a_model_each_way_says_why():
    with Using(None) as (store, current, _):
        assert current.model is None and current.version == 0
        for call in (lambda: current.predict(1), lambda: current.held().__enter__()):
            names(("no model", "empty flash"), call)
            assert is_free(current) and current._holders == 0
        current.switch(lambda: store.become(0, 5))
        assert current.predict() == (5, ()) and current.version == 5


def test_a_switch_loads_where_another_model_is_in_use_and_only_there():
    with Using() as (store, current, _):
        first = current.model
        current.switch(lambda: None)
        assert current.model is first
        current.switch(lambda: store.become(1, 4, "trial"))
        assert current.predict() == (4, ()) and current.version == 4
        assert current.model is not first
        current.switch(lambda: store.become(None, 0))
        assert current.model is None and current.version == 0
        current.switch(lambda: None)
        assert current.model is None and is_free(current)
        current.switch(lambda: store.become(0, 6))
        assert current.version == 6 and not store.rolled_back


def test_nobody_predicts_meanwhile():
    with Using() as (store, current, _):
        seen = []

        def step():
            seen.append(current._lock.is_held and current._wants)
            store.become(1, 4)

        def load(store):
            seen.append(current._lock.is_held and current._wants)
            return Model(store)

        class Looks(Model):
            def predict(self):
                seen.append(current._lock.is_held)

        current._load = load
        current.switch(step)
        run(current.aswitch(lambda: store.become(0, 5)))
        assert is_free(current) and current.version == 5
        current.model = Looks(store)
        current.predict()
        assert seen == [True] * 4


def test_a_step_that_fails_leaves_all_as_it_was():
    with Using() as (_, current, _):

        def step():
            raise ValueError("no model waits")

        for call in (lambda: current.switch(step), lambda: run(current.aswitch(step))):
            assert str(raised(ValueError, call)) == "no model waits"
            assert is_free(current) and current.predict() == (3, ())


def test_a_model_that_cannot_be_loaded_goes_back_where_there_is_a_way():
    for active, state, back in (
        (0, "trial", 1),
        (0, "confirmed", 1),
        (None, "trial", 1),
        (None, "confirmed", 0),
    ):
        for error in (KeyError("operator"), KeyboardInterrupt()):
            with Using(active) as (store, current, _):
                before = current.model

                def load(_, error=error):
                    raise error

                current._load = load
                kind = LiveModelError if isinstance(error, KeyError) else KeyboardInterrupt
                step = lambda s=store, t=state: s.become(1, 4, t)  # noqa: E731
                told = raised(kind, current.switch, step)
                assert told is error or "cannot be loaded: KeyError: operator" in str(
                    told
                ).replace("'", "")
                assert store.rolled_back == back and current.model is before
                assert current.version == (0 if active is None else 3)
                assert is_free(current)


def test_what_could_not_be_loaded_is_loaded_by_the_next_switch():
    with Using(None) as (store, current, _):

        def load(_):
            raise MemoryError

        current._load = load
        names(("MemoryError",), current.switch, lambda: store.become(1, 4))
        current._load = Model
        current.switch(lambda: None)
        assert current.predict() == (4, ())


def test_a_switch_waits_for_who_holds_the_model_and_no_longer_than_it_was_told():
    for way in (
        lambda current, step, ms: current.switch(step, ms),
        lambda current, step, ms: run(current.aswitch(step, ms)),
    ):
        with Using() as (store, current, clock):
            hold, steps = current.held(), []

            def step(store=store, steps=steps):
                steps.append(1)
                store.become(1, 4)

            hold.__enter__()
            for timeout_ms in (0, 1, 5):
                clock.slept = []
                names(("held", "1"), way, current, step, timeout_ms)
                assert clock.slept == [0.001] * timeout_ms and not steps
                assert current.predict() == (3, ()) and not current._wants
            clock.slept = []
            clock.then[3] = hold.__exit__
            way(current, step, 9)
            assert clock.slept == [0.001] * 3 and steps == [1] and current.version == 4
            clock.slept = []
            way(current, step, 0)
            assert not clock.slept and is_free(current)


def test_a_switch_waits_ten_seconds_where_nothing_is_said():
    for way in (LiveModel.switch, lambda current, step: run(current.aswitch(step))):
        with Using() as (store, current, clock):
            with current.held():
                names(("held by 1",), way, current, store.rollback)
            assert len(clock.slept) == 10000 and not store.rolled_back


def test_whoever_comes_while_a_switch_waits_lets_it_go_first():
    with Using() as (_, current, clock):

        def switched():
            current._wants = False

        current._wants = True
        assert current.predict() == (3, ()) and clock.slept == [0.001]  # a pause, and on
        clock.then[5] = switched
        with current.held() as model:
            assert model is current.model and clock.slept == [0.001] * 5
        current._wants = True
        clock.then[7] = switched
        hold = current.held()
        assert run(hold.__aenter__()) is current.model
        assert current._holders == 1 and clock.slept == [0.001] * 7
        run(hold.__aexit__())
        assert current._holders == 0 and is_free(current)


def test_without_threads_there_is_nothing_to_lock():
    with Using(0, None) as (store, current, _):
        assert current.predict(7) == (3, (7,))
        current.switch(lambda: store.become(1, 4))
        with current.held() as model:
            assert model.predict(8) == (4, (8,))
        lock = current._lock
        assert lock.acquire() is True and lock.acquire(0) is True and lock.release() is None
