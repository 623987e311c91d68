# SPDX-License-Identifier: MIT
"""The front end in pure Python: the same bits as the native module `_frontend`.

The names and the order of steps are those of `native_modules/frontend`.
"""

from array import array

_HEAD, _GAIN_NUMBERS, _LOG_NUMBERS = 16, 126, 130
_MEAN, _NOISE, _GAIN, _LOG = 1, 2, 4, 8
_HALF, _QUARTER = 32767 // 2, 32767 // 4


def run(tables, state, samples, out):
    """Return 0, or which argument does not fit, as the native function of that name."""
    if len(tables) < 2 * _HEAD or len(tables) % 2:
        return -1
    f = _Tables(tables)
    if not f.is_whole:
        return -1
    width = f.axes * f.count
    if len(state) != 4 * (width + 2 * f.n + 1 + f.count):
        return -2
    if len(samples) != f.samples * f.axes:
        return -3
    if len(out) != width:
        return -4
    is_wide = len(bytes(out)) == 2 * width
    for axis in range(f.axes):
        real, shift = _windowed(f, samples, axis)
        level = _bands(f, _fft(f, real), shift)
        for i in range(f.count):
            at = axis * f.count + i
            out[at] = _stored(f, _level(f, level[i], state, 4 * at, i & 1), is_wide, out)
    return 0


class _Tables:
    """The parts of the tables as arrays."""

    def __init__(self, tables):
        signed, numbers = array("h", bytes(tables)), array("H", bytes(tables))
        self.head, self.flags = signed[:_HEAD], signed[6]
        self.samples, self.axes, self.count = signed[2], signed[4], signed[5]
        n = self.n = 1 << (signed[3] - 1)
        groups = self.groups = n >> 2 if n & 0x55555555 else n >> 1
        at = _HEAD + self.samples + (self.samples & 1)
        self.window = signed[_HEAD:at]
        self.order = numbers[at : at + groups]
        at += groups + (groups & 1)
        self.turns = signed[at : at + 3 * n // 2]
        at += 3 * n // 2
        self.splits = signed[at : at + n]
        at += n
        self.bands = numbers[at : at + 2 * (self.count + 1)]
        at += 2 * (self.count + 1)
        bands = [(self.bands[2 * i], self.bands[2 * i + 1]) for i in range(self.count + 1)]
        last = max([first + count for first, count in bands])
        weights = 2 * sum([count for _, count in bands])
        self.weights = numbers[at : at + weights]
        at += weights
        self.gain = signed[at : at + _GAIN_NUMBERS]
        at += _GAIN_NUMBERS if self.flags & _GAIN else 0
        self.log = numbers[at : at + _LOG_NUMBERS]
        at += _LOG_NUMBERS if self.flags & _LOG else 0
        self.is_whole = at == len(numbers) and last <= n + 1 and max(self.order) < groups


def _int16(x):
    return ((x + 32768) & 0xFFFF) - 32768


def _windowed(f, samples, axis):
    """Return (samples times the window as large as 16 bits hold, bits they grew by)."""
    axes, made, most, mean = f.axes, [0] * (2 * f.n), 0, 0
    if f.flags & _MEAN:
        total = 0
        for i in range(f.samples):
            total += samples[axis + i * axes]
        mean = total // f.samples
    for i in range(f.samples):
        v = max(-32768, min(32767, samples[axis + i * axes] - mean)) * f.window[i] >> 12
        made[i] = v
        if v != -32768:
            most = max(most, abs(v))
    shift = 15
    while most:
        most >>= 1
        shift -= 1
    return [_int16(v << shift) for v in made], shift


def _times(a, b, w, at):
    """Product of the complex numbers (a, b) and that of a table, 15 binary places."""
    c, d = w[at], w[at + 1]
    return _int16((a * c - b * d + 16384) >> 15), _int16((a * d + b * c + 16384) >> 15)


def _scaled(x, at, by):
    return (x[at] * by + 16384) >> 15, (x[at + 1] * by + 16384) >> 15


def _write4(x, at, m, a, b, c, d):
    """Four complex numbers, `m` places apart, from four that are turned already."""
    even, odd = (_int16(a[0] + c[0]), _int16(a[1] + c[1])), (a[0] - c[0], a[1] - c[1])
    total, other = (_int16(b[0] + d[0]), _int16(b[1] + d[1])), (b[0] - d[0], b[1] - d[1])
    for k, re, im in (
        (0, even[0] + total[0], even[1] + total[1]),
        (1, odd[0] + other[1], odd[1] - other[0]),
        (2, even[0] - total[0], even[1] - total[1]),
        (3, odd[0] - other[1], odd[1] + other[0]),
    ):
        x[at + 2 * k * m], x[at + 2 * k * m + 1] = _int16(re), _int16(im)


def _fft(f, real):
    """Return the transform of 2 n numbers: n + 1 pairs in one list."""
    n, x, m = f.n, [0] * (2 * f.n + 2), 4
    if n & 0x55555555:
        for g in range(f.groups):
            four = [_scaled(real, 2 * (f.order[g] + q * n // 4), _QUARTER) for q in range(4)]
            _write4(x, 8 * g, 1, *four)
    else:
        m = 2
        for g in range(f.groups):
            a, b = (_scaled(real, 2 * (f.order[g] + q * n // 2), _HALF) for q in range(2))
            x[4 * g : 4 * g + 4] = [a[0] + b[0], a[1] + b[1], a[0] - b[0], a[1] - b[1]]
    while m < n:
        step = n // (4 * m)
        for k in range(m):
            for at in range(k, n, 4 * m):
                four = [_scaled(x, 2 * (at + q * m), _QUARTER) for q in range(4)]
                for q in range(1, 4 if k else 1):
                    four[q] = _times(four[q][0], four[q][1], f.turns, 2 * q * k * step)
                _write4(x, 2 * at, m, *four)
        m *= 4
    return _split(f, x)


def _split(f, x):
    n = f.n
    a, b = _scaled(x, 0, _HALF)
    x[0], x[1], x[2 * n], x[2 * n + 1] = _int16(a + b), 0, _int16(a - b), 0
    for k in range(1, n // 2 + 1):
        low, high = 2 * k, 2 * (n - k)
        a, b = _scaled(x, low, _HALF)
        c, d = _scaled((x[high], _int16(-x[high + 1])), 0, _HALF)
        re, im = _int16(a + c), _int16(b + d)
        t, u = _times(_int16(a - c), _int16(b - d), f.splits, 2 * (k - 1))
        if low != high:
            x[low], x[low + 1] = (re + t) >> 1, (im + u) >> 1
        x[high], x[high + 1] = (re - t) >> 1, (u - im) >> 1
    return x


def _bands(f, x, shift):
    level, falling, at = [], 0, 0
    for i in range(f.count + 1):
        rising, first = 0, 2 * f.bands[2 * i]
        for k in range(first, first + 2 * f.bands[2 * i + 1], 2):
            energy = x[k] * x[k] + x[k + 1] * x[k + 1]
            falling += f.weights[at] * energy
            rising += f.weights[at + 1] * energy
            at += 2
        if i:
            level.append(_root(falling) >> shift)
        falling = rising
    return level


def _root(square):
    """Square root, rounded to the nearest."""
    left, root, bit = square, 0, 1 << 62
    while bit > left:
        bit >>= 2
    while bit:
        tried = root + bit
        root >>= 1
        if left >= tried:
            left -= tried
            root += bit
        bit >>= 2
    most = 0xFFFFFFFF if square >> 32 else 0xFFFF
    return root + (1 if left > root and root != most else 0)


def _bits(x):
    n = 0
    while x:
        x >>= 1
        n += 1
    return n


def _level(f, x, state, at, is_odd):
    """One band's level: without noise, with gain, as logarithm; what the flags say."""
    head = f.head
    noise = int.from_bytes(state[at : at + 4], "little")
    if f.flags & _NOISE:
        smoothing, bits = head[8 if is_odd else 7], head[10]
        up = (x << bits) & 0xFFFFFFFF
        noise = (up * smoothing + noise * (16384 - smoothing)) >> 14
        state[at : at + 4] = noise.to_bytes(4, "little")
        x = max(0 if noise > up else (up - noise) >> bits, x * head[9] >> 14)
    if f.flags & _GAIN:
        snr = (x * _gain(noise, f.gain) >> head[11]) & 0xFFFFFFFF
        x = snr * snr >> 20 if snr < 8192 else (snr >> 6) - 64
    if f.flags & _LOG:
        x = x >> -head[12] if head[12] < 0 else (x << head[12]) & 0xFFFFFFFF
        x = _log(x, f.log, head[13]) if x > 1 else 0
    return min(x, 0xFFFF)


def _gain(x, gain):
    if x <= 2:
        return gain[x]
    bits = _bits(x)
    at = 4 * bits - 6
    fraction = (x << (11 - bits) if bits < 11 else x >> (bits - 11)) & 1023
    y = ((gain[at + 2] * fraction >> 5) + gain[at + 1] * 32) * fraction
    return _int16(((y + 16384) >> 15) + gain[at])


def _log(x, table, shift):
    whole = _bits(x) - 1
    fraction = x - (1 << whole)
    fraction = fraction << (16 - whole) if whole < 16 else fraction >> (whole - 16)
    at = fraction >> 9
    between = (table[at + 1] - table[at]) * (fraction & 511) >> 16
    natural = (45426 * ((whole << 16) + fraction + table[at] + between) + 32768) >> 16
    return ((natural << shift) + 32768) >> 16


def _stored(f, level, is_wide, out):
    if is_wide:
        return level
    v = ((level * (f.head[14] & 0xFFFF) + 32768) >> 16) + f.head[15]
    v = max(-128, min(127, v))
    return v & 0xFF if isinstance(out, bytearray) else v
