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

    def __init__(self, store, load):
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

    def predict(self, *args):
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

    def held(self):
        """Return a context manager, for ``with`` or ``async with``, that gives the model."""
        return _Held(self)

    def switch(self, step, timeout_ms=10000):
        """Call step (store.trial, confirm or rollback) with nobody predicting; load the model.

        Others wait meanwhile. When the model cannot be loaded the store is rolled back.

        :raises LiveModelError: the model was held for ``timeout_ms``, or could not be loaded.
        """
        waited = 0
        self._wants = True
        try:
            while not self._try_alone():
                if waited >= timeout_ms:
                    raise LiveModelError("switch: the model is held by %d" % self._holders)
                time.sleep(0.001)
                waited += 1
            try:
                self._change(step)
            finally:
                self._lock.release()
        finally:
            self._wants = False

    async def aswitch(self, step, timeout_ms=10000):
        """As ``switch``, but other tasks of asyncio go on while it waits."""
        import asyncio

        waited = 0
        self._wants = True
        try:
            while not self._try_alone():
                if waited >= timeout_ms:
                    raise LiveModelError("switch: the model is held by %d" % self._holders)
                await asyncio.sleep(0.001)
                waited += 1
            try:
                self._change(step)
            finally:
                self._lock.release()
        finally:
            self._wants = False

    def _try_alone(self):
        """Take the lock when nobody holds the model; tell whether it was taken."""
        self._lock.acquire()
        if not self._holders:
            return True
        self._lock.release()
        return False

    def _change(self, step):
        store = self.store
        before = store.active
        step()
        if store.active is None:
            self.model, self.version = None, 0
            return
        if store.active == before and self.model is not None:
            return
        try:
            model = self._load(store)
        except Exception as error:  # a model's code may raise anything
            self._back(before)
            text = "the new model cannot be loaded: %s: %s" % (type(error).__name__, error)
            raise LiveModelError(text) from None
        except BaseException:  # Ctrl-C or a cancelled task says nothing of the model
            self._back(before)
            raise
        self.model, self.version = model, store.head.version

    def _back(self, before):
        if before is not None or self.store.state == "trial":
            self.store.rollback()

    def _enter(self):
        while self._wants:  # whoever comes later lets the switch go first
            time.sleep(0.001)
        self._take()

    def _take(self):
        self._lock.acquire()
        if self.model is None:
            self._lock.release()
            raise LiveModelError("no model: %s" % self.store.note)
        self._holders += 1
        self._lock.release()

    def _leave(self):
        self._lock.acquire()
        self._holders -= 1
        self._lock.release()


class _Held:
    def __init__(self, current):
        self._current = current

    def __enter__(self):
        self._current._enter()
        return self._current.model

    def __exit__(self, *_):
        self._current._leave()

    async def __aenter__(self):
        import asyncio

        while self._current._wants:
            await asyncio.sleep(0.001)
        self._current._take()
        return self._current.model

    async def __aexit__(self, *_):
        self._current._leave()
