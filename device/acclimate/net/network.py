# SPDX-License-Identifier: MIT
"""A network that predicts, and goes on learning, in int8 on the board.

    >>> from acclimate.net import Net
    >>> net = Net(program, weights)             # bytes that the host compiled
    >>> net.predict(x)                          # x: input_bytes stored values (int8)
    3
    >>> net.set_rate(0.02)
    >>> for done in net.train(samples):         # (x, label) pairs
    ...     pass
    >>> store.save(net.weights())               # what it learned, as a capsule of its own

The program is read in place and may lie in flash; all that changes lies in one arena. Nothing is
allocated by `predict` and `train_step`.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Callable, Iterable, Iterator, Sequence

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from array import array

from acclimate import _native
from acclimate.net.fields import NetError
from acclimate.net.fields import as_bytes as _as_bytes
from acclimate.net.fields import is_within as _is_within
from acclimate.net.fields import number as _number
from acclimate.net.fields import operand as _operand
from acclimate.net.fields import signed as _signed

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_FORMAT = const(6)
_P_FORMAT = const(4)
_P_DTYPE = const(5)
_P_OPTIMIZER = const(6)
_P_INPUT_ZERO = const(7)
_P_ARENA_BYTES = const(8)
_P_CONSTANTS = const(12)
_P_WEIGHTS = const(20)
_P_WEIGHTS_BYTES = const(24)
_P_INPUT_BYTES = const(28)
_P_OUTPUT = const(32)
_P_STATE = const(36)
_P_KEPT_BYTES = const(40)
_P_TABLE = const(44)
_P_OUTPUTS = const(48)
_P_FORWARD = const(52)
_P_TRAINING = const(54)
_P_WINDOWS = const(56)
_P_OUTPUT_ZERO = const(58)
_P_NEEDS = const(59)
_P_INPUT_SCALE = const(60)
_P_OUTPUT_SCALE = const(64)
_P_INPUT = const(68)
_P_CRC = const(72)
_P_BYTES = const(76)
_S_SEED = const(0)
_S_RATE_MANTISSA = const(4)
_S_RATE_EXPONENT = const(8)
_S_MOMENTUM = const(12)
_S_MOVE = const(16)
_S_SHARE = const(20)
_S_RAILS = const(24)
_S_MOVED = const(28)
_S_DEAD = const(32)
_OPT_MOMENTUM16 = const(1)
_OPT_MOMENTUM8 = const(2)
_OPT_ACCUMULATE = const(3)
_OP_LOSS = const(16)
_OP_MAX_POOL_GRADIENT = const(23)
_OP_PAGE_IN = const(25)
_OP_RARE = const(28)
_NEEDS_ALL = const(1)
_NEEDS_RARE = const(2)
_NEEDS_TARGET = const(4)
_DONE = const(0)
_MORE = const(1)
_PAGE = const(2)
_BAD_CODE = const(-1)
_NOT_FINITE = const(-3)
_OTHER = const(3)
# program: end
# layout: begin
_SEC_WEIGHTS = const(2)
# layout: end
_AT = const(0)
_UNTIL = const(1)
_LABEL = const(2)
_TRAINING = const(3)
_BUDGET = const(4)
_PAGE_OP = const(5)
_PAGE_NUMBER = const(6)
_PAGE_AT = const(7)
_PAGE_N = const(8)
_PASSES = const(9)  # how many were begun: no attribute, which would take heap at the first
_ALL = const(1 << 29)
_BYTES = (bytes, bytearray, memoryview)
_OF_ANOTHER = "program damaged or native module of another release: install again"


def bytes_needed(program: "ReadableBuffer") -> int:
    """Return the bytes of the arena that a program needs.

    :raises NetError: when it is no program of this release
    """
    if len(program) < _P_BYTES or bytes(program[:4]) != b"ANET":
        raise NetError("program: expected ANET and more, got %d bytes" % len(program))
    if program[_P_FORMAT] != _FORMAT:
        raise NetError("program: format %d; this release runs %d" % (program[_P_FORMAT], _FORMAT))
    return _number(program, _P_ARENA_BYTES)


def _is_whole(program, at, start, always):
    """Compare the CRC of the bytes before `at` and from `start` on with the four at `at`.

    Without binascii large programs are taken as they are, unless `always`.
    """
    try:
        from binascii import crc32

        view = memoryview(program)
        found = crc32(view[start:], crc32(view[:at]))
        found = bytes([found >> 8 * i & 255 for i in range(4)])
    except ImportError:
        if not always and len(program) > 32768:
            return True
        from acclimate import _crc as crc

        found = bytearray(4)
        crc.start(found)
        crc._update(found, program, 0, at)  # no native module for this
        crc._update(found, program, start, len(program))
        crc.finish(found)
    return found == bytes(program[at : at + 4])


def _interpreter():
    from acclimate.net import interpreter

    return interpreter


def _no_room(need):
    """Return what to say when the heap has no such block: needed, free and the largest one."""
    try:
        from acclimate._heap import out_of_memory

        return str(out_of_memory(need, "arena"))
    except ImportError:  # frozen without it
        return "arena: needs %d bytes in one block" % need


def _checked_arena(arena: "Any", need: int) -> memoryview:
    """Return a view of the caller's arena, or of a new one where it is None."""
    try:
        arena = bytearray(need) if arena is None else arena
    except MemoryError:
        raise NetError(_no_room(need)) from None
    arena = _as_bytes("arena", arena)
    if len(arena) < need:
        raise NetError("arena: %d bytes; this program needs %d" % (len(arena), need))
    try:
        arena[:1] = arena[:1]
    except TypeError:
        raise NetError("arena: expected a bytearray, got what cannot be written") from None
    return arena


class Net:
    """A network over one arena.

    :param program: the program section of a capsule; read in place, kept referenced
    :param weights: the weights section: `weights_bytes` of what training changes
    :param arena: ``bytearray`` of at least `bytes_needed(program)` bytes; None allocates one
    :param int seed: of the draws that round updates, 1 to 2**32 - 1
    :param pager: with ``page_out(number, view)`` and ``page_in(number, view)``, for programs
        that page; see acclimate.pager.core
    :param check: compare the CRC of the program; None: where that is quick (small, or with
        binascii). False where a capsule's SHA-256 was compared already
    :raises NetError: names what was expected and what came
    """

    # Where a program compiled with --input-in-arena reads: a view that the camera fills, and that
    # a pass writes over. None: the caller's own buffer.
    input = None
    # In the class, so that an instance has few attributes: its table is heap.
    _target = _schedule = None
    _group, _steps, _dtype = 1, 0, 0
    bytes_needed = staticmethod(bytes_needed)

    def __init__(
        self,
        program: "ReadableBuffer",
        weights: "ReadableBuffer" = b"",
        arena: "WriteableBuffer | None" = None,
        seed: int = 1,
        pager: "Any" = None,
        check: bool | None = None,
    ) -> None:
        need = bytes_needed(program)
        if check is not False:
            if not _is_whole(program, _P_CRC, _P_BYTES, check):
                raise NetError("program: its CRC differs; load it again")
        arena = _checked_arena(arena, need)
        self._program, self._arena, self._pager = program, arena, pager
        self._par, self._views = array("i", [0] * 10), {}
        self._until = _number(program, _P_FORWARD, 2)
        self._end = self._until + _number(program, _P_TRAINING, 2)
        self._native = self._trainer = None
        self._known = _BYTES  # what `_begin` looked at: nothing yet
        needs = program[_P_NEEDS]
        self._load(self._end > self._until, needs & _NEEDS_ALL)
        if needs & _NEEDS_RARE:
            self._load_rare()  # here, so that no step has to
        self._state = _number(program, _P_STATE)
        self._output, self._classes = _number(program, _P_OUTPUT), _number(program, _P_OUTPUTS, 2)
        self.input_bytes = _number(program, _P_INPUT_BYTES)
        at = _number(program, _P_INPUT)
        self.input = self._arena[at - 1 : at - 1 + self.input_bytes] if at else None
        self.weights_bytes = _number(program, _P_WEIGHTS_BYTES)
        self._weights_at = _number(program, _P_WEIGHTS)
        if program[_P_DTYPE] != self._dtype:
            raise NetError("program: float32 needs FloatNet, int8 Net")
        status = self._native.run(program, self._arena, b"", self._par)
        try:
            if status == _DONE:
                # What is read, cleared and filled from here; IndexError: it lies outside.
                if not self._dtype:
                    program[_number(program, _P_CONSTANTS) + _number(program, _P_TABLE) + 63]
                end = self._output + (self._classes << 2 * self._dtype)
                arena[max(end, at and at - 1 + self.input_bytes) - 1]
                self.reset(weights, seed)
                if needs & _NEEDS_TARGET:
                    from acclimate.net.targets import Target

                    self._target = Target(self)
        except IndexError:
            status = -1
        if status != _DONE or not self._classes:
            raise NetError(_OF_ANOTHER)

    def _load(self, trains, needs):
        """Load the module that predicts; where one does all, a program that trains takes that."""
        if trains:
            self._trainer = _native.load("net_all") if needs else _native.load("net_dense")
        self._native = self._trainer or _native.load("net") or _interpreter()

    def _load_trainer(self):
        """Load the module that trains, where the other one does not do it too."""
        if self._trainer is None:
            self._trainer = _native.load("net_train") or self._native
        elif self._trainer is self._native:
            self._trainer = _interpreter()

    def _load_rare(self):
        """Return the module of the rarer instructions, None for pure Python."""
        return _native.load("net_rare")

    def _other(self):
        """Return the module that has the instruction at which another one stopped."""
        op = self._program[_P_BYTES + self._par[_AT]]
        if op >= _OP_RARE:
            rare = self._load_rare()
            if rare is None:
                self._par[_BUDGET] = 1  # behind it the native modules go on
                rare = _interpreter()
            return rare
        if not _OP_LOSS <= op <= _OP_MAX_POOL_GRADIENT:
            return self._native
        if self._trainer is None or self._trainer is self._native:
            self._load_trainer()
        return self._trainer

    # ---- state -----------------------------------------------------------------------------

    def reset(self, weights: "ReadableBuffer", seed: int = 1) -> None:
        """Start from these weights with a clean state of optimizer, windows and draws.

        The learning rate is to be set again, unless the weights bring it: `save`.

        :raises NetError: for a seed or weights that do not fit; nothing has changed then
        """
        seed = seed or 1
        if isinstance(seed, float) or not _is_within(seed, 1, 0xFFFFFFFF):
            raise NetError("seed: expected 1 to 2**32 - 1, got %s" % (seed,))
        self._place(weights)
        arena, program, at = self._arena, self._program, self._state
        for i in range(at, at + _number(program, _P_KEPT_BYTES)):
            arena[i] = 0
        self._is_ready = False
        if self._schedule is not None or self._steps:
            self._schedule, self._steps = None, 0
        self._put(_S_SEED, seed)
        self._put(_S_MOMENTUM, 230)
        self._put(_S_MOVE, 1)
        constants = _number(program, _P_CONSTANTS)
        at = _P_BYTES + self._end
        for _ in range(_number(program, _P_WINDOWS, 2)):
            to, at = _operand(program, at)
            start, at = _operand(program, at)
            n, at = _operand(program, at)
            for i in range(n):
                arena[to + i] = program[constants + start + i]
        self.load(weights)

    def load(self, source: "Any") -> None:
        """Take weights: what `weights` gave, a capsule's section, or those of a Store's model.

        With the optimizer's state behind them training goes on as if it had not stopped.
        """
        view = self._place(source)
        if hasattr(source, "section"):
            source.readinto(_SEC_WEIGHTS, 0, view)
        elif len(view):
            view[:] = _as_bytes("weights", source)
        if len(view) > self.weights_bytes:
            self._is_ready = True
            if self._group == 1:  # the state may be that of an open group
                self._put(_S_MOVE, 1)

    def _place(self, source):
        """Return the view that weights go to, with the optimizer's state where they bring it."""
        if hasattr(source, "section"):
            size = source.section(_SEC_WEIGHTS)[1]
        else:
            size = len(_as_bytes("weights", source))
        view = self.weights(size > self.weights_bytes)
        if size != len(view):
            raise NetError("weights: expected %d bytes, got %d" % (self.weights_bytes, size))
        return view

    def weights(self, optimizer: bool = False) -> memoryview:
        """Return what training changes, as a view of `weights_bytes` in the arena.

        :param optimizer: with the state of optimizer, rate and draws behind it
        """
        until = self._weights_at + self.weights_bytes
        if optimizer:
            until = self._state + _number(self._program, _P_KEPT_BYTES)
        return self._arena[self._weights_at : until]

    def save(self, store: "Any", optimizer: bool = False) -> bool:
        """Save what was trained as a capsule of its own (acclimate.store); False: no change.

        :param optimizer: with its state: training goes on where it was after a restart
        """
        return store.save(self.weights(optimizer))

    def _put(self, field, value):
        at = self._state + field
        for i in range(4):
            self._arena[at + i] = value >> 8 * i & 255

    def _get(self, field):
        return _number(self._arena, self._state + field)

    @property
    def rails(self) -> int:
        """How many parameters a limit has held back since `reset`; many: lower the rate."""
        return self._get(_S_RAILS)

    @property
    def moved(self) -> int:
        """How many parameters have changed, counted over all steps since `reset`."""
        return self._get(_S_MOVED)

    @property
    def dead(self) -> int:
        """How many updates were left out since `reset` because their channel has no scale."""
        return self._get(_S_DEAD)

    def set_rate(self, rate: "float | Callable[[int], float]", exponent: int = 0) -> None:
        """Set the learning rate: a number, or rate * 2**exponent with both integers.

        :param rate: or a schedule: a function of how many steps are done, asked before each one

        >>> net.set_rate(lambda step: 0.05 * 0.999**step)      # doctest: +SKIP
        """
        if self._trainer is None and self._end > self._until:
            self._load_trainer()  # here, so that no step has to
        if callable(rate):
            self._schedule = rate
        else:
            self._put_rate(rate, exponent)
            if self._schedule is not None:
                self._schedule = None
        self._is_ready = True

    def _put_rate(self, rate, exponent=0):
        mantissa, exponent = _mantissa(rate, exponent)
        self._put(_S_RATE_MANTISSA, mantissa)
        self._put(_S_RATE_EXPONENT, exponent)

    def set_momentum(self, momentum: float) -> None:
        """Set the momentum, 0 to 1; 0.9 where it is not set. Stored in 1/256.

        :raises NetError: also for a program that was not compiled with momentum
        """
        if not _is_within(momentum, 0, 1):
            raise NetError("momentum: expected 0 to 1, got %s" % (momentum,))
        if not _OPT_MOMENTUM16 <= self._program[_P_OPTIMIZER] <= _OPT_MOMENTUM8:
            raise NetError("momentum: compile with --optimizer momentum16")
        self._put(_S_MOMENTUM, int(256 * momentum + 0.5))

    def set_group(self, steps: int) -> None:
        """Move weights once in so many training steps, by the sum of their gradients.

        A group begins with the next step, which takes over the gradients of one that is open.
        Divide the rate by `steps` for their mean.

        :raises NetError: for a program that was not compiled with --optimizer accumulate
        """
        if self._program[_P_OPTIMIZER] != _OPT_ACCUMULATE:
            raise NetError("group: compile with --optimizer accumulate")
        if not isinstance(steps, int) or steps < 1:
            raise NetError("group: expected 1 step or more, got %s" % (steps,))
        self._group, self._steps = steps, 0
        self._put(_S_MOVE, 1)

    # ---- running ---------------------------------------------------------------------------

    def predict(self, x: "ReadableBuffer") -> int:
        """Return the number of the largest output for one input of `input_bytes`.

        :param x: the input; `net.input` where that is a view: another one is copied there
        """
        self._begin(x, 0, self._until, 0)
        while self._run(x, _ALL):
            pass
        return self.best()

    def best(self) -> int:
        """Return the number of the largest output of the latest pass."""
        arena, at, best = self._arena, self._output, 0
        for i in range(1, self._classes):
            if arena[at + i] ^ 128 > arena[at + best] ^ 128:
                best = i
        return best

    def outputs(self) -> memoryview:
        """Return the stored outputs of the latest pass, as a view of the arena."""
        return self._arena[self._output : self._output + self._classes]

    def real_outputs(self) -> list[float]:
        """Return the outputs of the latest pass as a list of real numbers."""
        scale, zero = self._scale(_P_OUTPUT_SCALE), _signed(self._program[_P_OUTPUT_ZERO])
        return [(_signed(byte) - zero) * scale for byte in self.outputs()]

    def train_step(
        self, x: "ReadableBuffer", label: "int | list | ReadableBuffer | None" = None
    ) -> int:
        """Learn from one sample; return the share that `label` had, in 1/32768.

        :param label: a class; with another loss than cross-entropy a number or 0 and 1 for each
            output, and none where the target is the input. What returns is then no share: `loss`
        :raises NetError: when the loss is not finite; the weights are then as they were
        """
        self._begin_training(x, label)
        while self._run(x, _ALL):
            pass
        return self._get(_S_SHARE)

    def loss(self) -> float:
        """Return the loss of the latest training step as a real number."""
        from acclimate.net.targets import loss

        return loss(self)

    def anomaly_score(self, x: "ReadableBuffer") -> float:
        """Return how badly the network gives back its input: the mean squared error.

        It is in real units, squared, and small for what the network has learned to give back.

        :param x: one input, as `predict` takes it
        :raises NetError: where outputs and inputs differ in number
        """
        from acclimate.net.targets import anomaly_score

        return anomaly_score(self, x)

    def train(
        self,
        samples: "Iterable[tuple[ReadableBuffer, Any]]",
        budget: int = _ALL,
        replay: "Any" = None,
        old: int = 1,
    ) -> "Iterator[int]":
        """Learn from (x, label) pairs; yields how many are done, after each `budget` instructions.

        Leaving the loop early leaves weights that predict. Another pass of this network may run
        between two steps, not within one.

        :param budget: instructions (layers) from one yield to the next
        :param replay: an acclimate.reservoir.Reservoir of `input_bytes` a row, against
            forgetting: each sample is followed by `old` rows drawn from it by chance. What it
            is to remember is offered to it before: ``replay.offer(x, label, 0)``
        :raises NetError: also where a step goes on after another pass has run in the arena
        """
        done, turns = 0, 1
        if replay is not None:
            if self._target is not None or replay.width != self.input_bytes:
                raise NetError("replay: expected classes, and rows of %d bytes" % self.input_bytes)
            if not isinstance(old, int) or old < 0:
                raise NetError("old: expected 0 rows or more, got %s" % (old,))
            turns, row = old + 1, bytearray(self.input_bytes)
        for x, label in samples:
            for turn in range(turns):
                given, known = x, label
                if turn:
                    if not replay.count:
                        break
                    given, known = row, replay.predictions[replay.draw(row)]
                self._begin_training(given, known)
                current = self._par[_PASSES]
                while self._run(given, min(max(1, budget), _ALL)):
                    yield done
                    if self._par[_PASSES] != current:
                        raise NetError("train: another pass ran within a step")
            done += 1
            yield done

    def evaluate(self, samples: "Iterable[tuple[ReadableBuffer, Any]]") -> float:
        """Return the share of (x, label) pairs that are predicted right, or the mean loss."""
        if self._target is not None:
            from acclimate.net.targets import evaluate

            return evaluate(self, samples)
        right = total = 0
        for x, label in samples:
            right += self.predict(x) == label
            total += 1
        return right / total if total else 0.0

    def confidence(self) -> int:
        """Return the softmax share of the largest output of the latest pass, in 1/255."""
        arena, at, program = self._arena, self._output, self._program
        table = _number(program, _P_CONSTANTS) + _number(program, _P_TABLE)
        most, total = arena[at + self.best()] ^ 128, 0
        for i in range(self._classes):
            below = most - (arena[at + i] ^ 128)
            high = _number(program, table + 2 * (below >> 4), 2)
            low = _number(program, table + 32 + 2 * (below & 15), 2)
            total += (high * low + 16384) >> 15
        return (255 * 32768 + total // 2) // (total or 1 << 23)

    def _begin_training(self, x, label):
        if self._end == self._until:
            raise NetError("train: this program only predicts; compile a training step")
        if self._target is not None:
            self._target.put(self, label)
            label = 0
        else:
            try:
                self._par[_LABEL] = label if 0 <= label < self._classes else None
            except (TypeError, ValueError):  # of None, a float, a tuple, an array
                given = self._classes - 1, label
                raise NetError("label: expected 0 to %d, got %s" % given) from None
        self._begin(x, label, self._end, 1)
        if not self._is_ready:
            raise NetError("rate: not set: call set_rate first")
        if self._schedule is not None or self._group > 1:
            if self._schedule is not None:
                self._put_rate(self._schedule(self._steps // self._group))
            self._steps += 1
            self._put(_S_MOVE, self._steps % self._group == 0)

    def _begin(self, x, label, until, training):
        if not isinstance(x, _BYTES) and x is not self._known:
            _as_bytes("x", x)
            self._known = x  # looked at once: a loop takes no heap
        if len(x) != self.input_bytes or isinstance(x[0], float):  # real: its bytes would be taken
            got = self.input_bytes, len(x)
            raise NetError("x: expected %d bytes, as of quantize, got %d" % got)
        if self.input is not None and x is not self.input:
            self.input[:] = x
        par = self._par
        par[_PASSES] = par[_PASSES] + 1 & 65535
        par[_AT] = 0
        par[_UNTIL] = until
        par[_LABEL] = label
        par[_TRAINING] = training

    def _run(self, x, budget):
        """Run up to `budget` instructions; return whether more are to come."""
        self._par[_BUDGET] = budget
        status = self._native.run(self._program, self._arena, x, self._par)
        while status == _OTHER:
            status = self._other().run(self._program, self._arena, x, self._par)
        if status == _DONE:
            return False
        if status == _PAGE:
            self._page()
        elif status == _NOT_FINITE:
            raise NetError("loss: not finite; weights are kept, lower the rate")
        elif status == _BAD_CODE:
            raise NetError(_OF_ANOTHER)
        elif status != _MORE:
            raise NetError("program: damaged: fault %d at byte %d" % (status, self._par[_AT]))
        return True

    def _page(self):
        par = self._par
        if self._pager is None:
            raise NetError("program: needs a pager")
        view = self._views.get(par[_AT])
        if view is None:  # the first step only
            view = self._arena[par[_PAGE_AT] : par[_PAGE_AT] + par[_PAGE_N]]
            self._views[par[_AT]] = view
        if par[_PAGE_OP] == _OP_PAGE_IN:
            self._pager.page_in(par[_PAGE_NUMBER], view)
        else:
            self._pager.page_out(par[_PAGE_NUMBER], view)

    def quantize(self, values: "Sequence[float]", out: "WriteableBuffer") -> "WriteableBuffer":
        """Store real values as the network reads them, into a buffer of `input_bytes`.

        :raises NetError: where values or bytes are not as many as inputs, or are not finite
        """
        n = self.input_bytes
        if len(values) != n or len(out) != n:
            got = n, n, len(values), len(out)
            raise NetError("values: expected %d into %d bytes, got %d into %d" % got)
        scale, zero = self._scale(_P_INPUT_SCALE), _signed(self._program[_P_INPUT_ZERO])
        for i, value in enumerate(values):
            q = value / scale
            if not -1e30 < q < 1e30:
                raise NetError("values: number %d is %s; expected a finite one" % (i, value))
            q = (int(q + 0.5) if q >= 0 else -int(0.5 - q)) + zero
            out[i] = max(-128, min(127, q)) & 255
        return out

    def _scale(self, at):
        from struct import unpack

        return unpack("<f", bytes(self._program[at : at + 4]))[0]

    def __repr__(self):
        return "Net(%s, %d outputs): %d bytes of arena, %d trained, %s" % (
            "float32" if self._dtype else "int8",
            self._classes,
            _number(self._program, _P_ARENA_BYTES),
            self.weights_bytes,
            "trains" if self._end > self._until else "predicts only",
        )


def _mantissa(rate, exponent):
    """Return (m, e) with m * 2**e = rate * 2**exponent, 2**14 <= m < 2**15; (0, 0) for 0."""
    if not _is_within(rate, 0, 1 << 40):
        raise NetError("rate: expected a number from 0 to 2**40, got %s" % (rate,))
    if not isinstance(exponent, int) or not -100 <= exponent <= 40:
        raise NetError("exponent: expected -100 to 40, got %s" % (exponent,))
    if rate == 0:
        return 0, 0
    if isinstance(rate, int):
        rate, exponent = rate * 32768, exponent - 15
        while rate >= 65536:
            rate, exponent = rate >> 1, exponent + 1
    while rate < 32768:
        rate, exponent = rate * 2, exponent - 1
        if exponent < -120:
            raise NetError("rate: too small")
    while rate >= 65536:
        rate, exponent = rate / 2, exponent + 1
    m = (int(rate) + 1) >> 1
    return (16384, exponent + 2) if m == 32768 else (m, exponent + 1)
