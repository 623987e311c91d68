# SPDX-License-Identifier: MIT
"""The model in use, handed over while others predict: no call ever sees half of a switch.

    current = LiveModel(store, load)          # load(store) makes a model of the one in use
    label = current.predict(row)             # from any thread or task
    current.switch(store.trial)              # waits for running predictions, then switches

One call of ``predict`` runs at a time. A thread that predicts in steps holds the model meanwhile,
so does a task that awaits between them (there always with ``async with``):

    with current.held() as model:
        ...

``switch`` makes the new model before the old one goes, so a model that cannot be loaded leaves
the old one in use and the store rolled back. Stage, write and finish need no hold: they
touch only the slot that is not in use. One Store still belongs to one thread.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Callable
except ImportError:
    pass

import time

try:
    from _thread import allocate_lock
except ImportError:
    allocate_lock = None


class LiveModelError(RuntimeError):
    """The model is held by others, or cannot be loaded."""


class _NoLock:
    """Where the firmware has no threads."""

    def acquire(self, *_):
        return True

    def release(self):
        pass


class LiveModel:
    """One model of one Store; ``version`` is that of the model that predicts.

    :param load: takes the Store, returns an object with ``predict``; called when a model is in
        use at first and after each switch, with nobody predicting.
    """

    def __init__(self, store: "Any", load: "Callable[[Any], Any]") -> None:
        self.store = store
        self._load = load
        self._lock = allocate_lock() if allocate_lock else _NoLock()
        self._holders = 0
        self._wants = False
        self.model = None
        self.version = 0
        if store.active is not None:
            self.model = load(store)
            self.version = store.head.version

    def __repr__(self):
        return "LiveModel(%r): version %d, held by %d" % (self.model, self.version, self._holders)

    def predict(self, *args: "Any") -> "Any":
        """Predict with the model in use. :raises LiveModelError: there is none."""
        if self._wants:  # a thread that predicts without a pause lets the switch go first
            time.sleep(0.001)
        self._lock.acquire()
        try:
            if self.model is None:
                raise LiveModelError("no model: %s" % self.store.note)
            return self.model.predict(*args)
        finally:
            self._lock.release()

    def held(self) -> "Any":
        """Return a context manager, for ``with`` or ``async with``, that gives the model."""
        return _Held(self)

    def switch(self, step: "Callable[[], Any]", timeout_ms: int = 10000) -> None:
        """Call step (store.trial, confirm or rollback) with nobody predicting; load the model.

        Others wait meanwhile. When the model cannot be loaded the store is rolled back.

        :raises LiveModelError: the model was held for ``timeout_ms``, or could not be loaded.
        """
        self._wants = True
        try:
            while not self._try_alone(timeout_ms):
                time.sleep(0.001)
                timeout_ms -= 1
            self._change(step)
        finally:
            self._wants = False

    async def aswitch(self, step, timeout_ms=10000):
        """As ``switch``, but other tasks of asyncio go on while it waits."""
        import asyncio

        self._wants = True
        try:
            while not self._try_alone(timeout_ms):
                await asyncio.sleep(0.001)
                timeout_ms -= 1
            self._change(step)
        finally:
            self._wants = False

    def _try_alone(self, left_ms):
        """Take the lock when nobody holds the model; tell whether it was taken."""
        self._lock.acquire()
        if not self._holders:
            return True
        self._lock.release()
        if left_ms <= 0:
            raise LiveModelError("switch: the model is held by %d" % self._holders)
        return False

    def _change(self, step):
        """Step and load with the lock that `_try_alone` took, and give it back."""
        store = self.store
        before = store.active
        try:
            step()
            if store.active is None:
                self.model, self.version = None, 0
            elif store.active != before or self.model is None:
                self._renew(store, before)
        finally:
            self._lock.release()

    def _renew(self, store, before):
        try:
            self.model = self._load(store)
            self.version = store.head.version
        except BaseException as error:
            # Ctrl-C or a cancelled task says nothing of the model.
            if before is not None or store.state == "trial":
                store.rollback()
            if not isinstance(error, Exception):
                raise
            text = "the new model cannot be loaded: %s: %s" % (type(error).__name__, error)
            raise LiveModelError(text) from None

    def _take(self):
        self._lock.acquire()
        if self.model is None:
            self._lock.release()
            raise LiveModelError("no model: %s" % self.store.note)
        self._holders += 1
        self._lock.release()
        return self.model

    def _leave(self):
        self._lock.acquire()
        self._holders -= 1
        self._lock.release()


class _Held:
    def __init__(self, current):
        self._current = current

    def __enter__(self):
        while self._current._wants:  # whoever comes later lets the switch go first
            time.sleep(0.001)
        return self._current._take()

    def __exit__(self, *_):
        self._current._leave()

    async def __aenter__(self):
        import asyncio

        while self._current._wants:
            await asyncio.sleep(0.001)
        return self._current._take()

    async def __aexit__(self, *_):
        self._current._leave()
