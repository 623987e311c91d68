# SPDX-License-Identifier: MIT
"""Ed25519 (RFC 8032): does a signature belong to a message and a public key?

The native module where it loads, else Python's long integers; both take and refuse the same. Keys,
points and numbers that are not canonical are refused, and so are keys of small order. The equation
is R = [S]B - [h]A, byte by byte. Nothing here is secret, so nothing takes constant time.
"""

from acclimate import _native

_P = (1 << 255) - 19
_ORDER = (1 << 252) + 27742317777372353535851937790883648493
_core = _native.load("ed25519")


def verify(data, n, keys, at):
    """Tell whether the 64 bytes after the first n of data are the signature of these n.

    :param keys: a buffer with the public key at its byte ``at``.
    :raises ValueError: a buffer is too short.
    """
    if _core:
        return _core.verify(data, n, keys, at)
    signature, key = _part(data, n, 64), _part(keys, at, 32)
    s = int.from_bytes(signature[32:], "little")
    point = _key(key)
    if s >= _ORDER or point is None:
        return False
    digest = _sha512(signature[:32] + key + bytes(data[:n]))
    h = int.from_bytes(digest, "little") % _ORDER
    x, y, z, t = point
    return _encoded(_combined(s, _base(), h, (-x, y, z, -t))) == signature[:32]


def is_key(keys, at):
    """Tell whether the 32 bytes at ``at`` are a key that ``verify`` takes."""
    if _core:
        return _core.is_key(keys, at)
    return _key(_part(keys, at, 32)) is not None


def _part(data, at, size):
    part = bytes(data[at : at + size]) if at >= 0 else b""
    if len(part) != size:
        raise ValueError("buffer too short")
    return part


def _d():
    return -121665 * _power(121666, _P - 2) % _P


def _base():
    return _decoded(b"\x58" + b"\x66" * 31)


def _key(key):
    """Return the point of a key; None where it is not canonical, no point, or of small order."""
    point = _decoded(key)
    eight = point
    for _ in range(3):
        eight = eight and _sum(eight, eight)
    return point if point and eight[0] else None


def _decoded(data):
    """Return a point as (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z, or None."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= _P:
        return None
    u, v = (y * y - 1) % _P, (_d() * y * y + 1) % _P
    x = u * v**3 * _power(u * v**7 % _P, (_P - 5) // 8) % _P
    if v * x * x % _P != u:
        x = x * _power(2, (_P - 1) // 4) % _P
    if v * x * x % _P != u or (sign and not x):
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _encoded(point):
    x, y, z, _ = point
    over = _power(z, _P - 2)
    x, y = x * over % _P, y * over % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _power(base, exponent):
    """base to the exponent modulo P: not every firmware has pow() of three numbers."""
    result = 1
    while exponent:
        if exponent & 1:
            result = result * base % _P
        base = base * base % _P
        exponent >>= 1
    return result


_D2 = 2 * _d() % _P


def _sum(p, q):
    """The sum of two points, which may be the same (RFC 8032, 5.1.4)."""
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = p[3] * _D2 * q[3] % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _combined(s, p, h, q):
    """Return [s]p + [h]q."""
    both = _sum(p, q)
    result = (0, 1, 1, 0)
    for i in range(252, -1, -1):
        result = _sum(result, result)
        which = s >> i & 1 | (h >> i & 1) << 1
        if which:
            result = _sum(result, (p, q, both)[which - 1])
    return result


def _sha512(data):
    try:
        from hashlib import sha512
    except ImportError:
        return _sha512_in_python(data)
    return sha512(data).digest()


def _roots(count, power, bits=64):
    """The first bits behind the point of the square or cube roots of the first primes."""
    found, n = [], 2
    while len(found) < count:
        if all(n % k for k in range(2, n)):
            low, high = 0, n << bits
            while high - low > 1:
                middle = (low + high) // 2
                if middle**power <= n << bits * power:
                    low = middle
                else:
                    high = middle
            found.append(low & ((1 << bits) - 1))
        n += 1
    return found


def _sha512_in_python(data):
    """SHA-512 (FIPS 180-4) where hashlib has none, as in CircuitPython."""
    mask = (1 << 64) - 1

    def ror(x, n):
        return (x >> n | x << 64 - n) & mask

    k, state = _roots(80, 3), _roots(8, 2)
    data += b"\x80" + bytes(-(len(data) + 17) % 128) + (8 * len(data)).to_bytes(16, "big")
    for at in range(0, len(data), 128):
        w = [int.from_bytes(data[i : i + 8], "big") for i in range(at, at + 128, 8)]
        a, b, c, d, e, f, g, h = state
        for i in range(80):
            if i > 15:
                x, y = w[i - 15], w[i - 2]
                s0 = ror(x, 1) ^ ror(x, 8) ^ x >> 7
                s1 = ror(y, 19) ^ ror(y, 61) ^ y >> 6
                w.append((w[i - 16] + s0 + w[i - 7] + s1) & mask)
            one = h + (ror(e, 14) ^ ror(e, 18) ^ ror(e, 41)) + (g ^ e & (f ^ g)) + k[i] + w[i]
            two = (ror(a, 28) ^ ror(a, 34) ^ ror(a, 39)) + (a & b | c & (a | b))
            a, b, c, d, e, f, g, h = one + two & mask, a, b, c, d + one & mask, e, f, g
        new = (a, b, c, d, e, f, g, h)
        state = [x + y & mask for x, y in zip(state, new)]  # noqa: B905
    return b"".join(x.to_bytes(8, "big") for x in state)
