# SPDX-License-Identifier: MIT
"""Labels as given: texts, and whole numbers outside 0..254. A model numbers them, keeps them
beside its decision functions and in its file, and answers with them."""

from array import array

from acclimate.svm.rows import PIECE

NUMBERS, TEXTS = 4, 5  # tags of the parts of a model file
_MOST = 255


class Labels:
    """The given label of each class number.

    :param list values: whole numbers that 32 bits hold, or texts
    """

    def __init__(self, values):
        self.values = values

    def bind(self, _m, call):
        """What answers a row with its label; `call` answers with the class number."""
        values = self.values

        def predict(row):
            return values[call(row)]

        return predict

    def check(self, label):
        """A label as it is kept.

        :raises ValueError: one of the other sort, or one too many
        """
        label = _checked(label, "label")
        if isinstance(label, str) != isinstance(self.values[0], str):
            raise ValueError("label: expected one like %r, got %r" % (self.values[0], label))
        if len(self.values) == _MOST and label not in self.values:
            raise ValueError("label: expected at most %d different ones, got one more" % _MOST)
        return label

    def number(self, label):
        """Class number of a label that was checked; one that is new gets the next."""
        if label not in self.values:
            self.values.append(label)
        return self.values.index(label)

    def sections(self, _m):
        values = self.values
        if isinstance(values[0], str):
            tag, data = TEXTS, "\0".join(values).encode()
        else:
            tag, data = NUMBERS, bytes(array("i", values))
        return bytes((tag, 0, len(data) & 255, len(data) >> 8)), data

    @staticmethod
    def read(tag, data, classes):
        """Labels from the part of a model file."""
        if tag == TEXTS:
            values = bytes(data).decode().split("\0")
        else:
            values = [_signed(data, at) for at in range(0, len(data), 4)]
        if len(values) <= max(classes):
            raise ValueError("model file: expected a label for class %d" % max(classes))
        return Labels(values)


def _signed(data, at):
    value = data[at] | data[at + 1] << 8 | data[at + 2] << 16
    return value + ((data[at + 3] ^ 128) - 128) * (1 << 24)


def _checked(label, name):
    """A text as it is, a whole number as int."""
    if isinstance(label, str):
        if "\0" in label or len(label) > 200:
            raise ValueError("%s: expected a text of 200 letters without a zero" % name)
        return label
    try:
        if label == int(label) and -(2**31) <= label < 2**31:
            return int(label)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError("%s: expected a whole number of 32 bits or a text, got %s" % (name, label))


def encode_pieces(y):
    """(Labels, class number of each row as bytes) for labels of any sort, in pieces."""
    seen = {}
    for i in range(len(y)):
        seen[_checked(y[i], "y[%d]" % i)] = i
        if not (i + 1) % PIECE:
            yield
    texts = [label for label in seen if isinstance(label, str)]
    if texts and len(texts) < len(seen):
        raise ValueError("y: expected texts or numbers, got both, as %r" % texts[0])
    if len(seen) > _MOST:
        raise ValueError("y: expected at most %d labels, got %d" % (_MOST, len(seen)))
    values = sorted(seen)
    yield
    numbers = {}
    for k in range(len(values)):
        numbers[values[k]] = k
    out = bytearray(len(y))
    for i in range(len(y)):
        out[i] = numbers[_checked(y[i], "y")]
        if not (i + 1) % PIECE:
            yield
    return Labels(values), out
