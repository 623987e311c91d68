# SPDX-License-Identifier: MIT
"""``acclimate choose``: kernel, C, gamma and the number of vectors of an SVM for a board."""

import argparse
import zlib
from pathlib import Path
from zipfile import BadZipFile, is_zipfile

import numpy as np

from acclimate_host.commands import check_output, check_picture, progress, table, to_names
from acclimate_host.errors import AcclimateError
from acclimate_host.model.choose_svm import VECTORS, choose_svm


def add_arguments(parser):
    parser.add_argument(
        "data",
        help=".npz with x (rows, features), labels and, to be tried on people it has not seen, "
        "users; or .csv whose columns are features, then the label, then the user if --users",
    )
    parser.add_argument("--users", action="store_true", help="a .csv's last column is the user")
    parser.add_argument(
        "--ram", type=_size, metavar="BYTES", help="most that the machine keeps, such as 8k"
    )
    parser.add_argument(
        "--instructions", type=_size, metavar="N", help="most that a prediction takes (M4F)"
    )
    parser.add_argument("--kernels", default="linear,rbf", metavar="NAMES", help="linear,rbf,poly")
    parser.add_argument(
        "--vectors",
        default=",".join("all" if v is None else str(v) for v in VECTORS),
        metavar="N,...",
        help="most support vectors to try (all,64,32,16)",
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="write the best, trained on all rows")
    parser.add_argument("--picture", metavar="FILE", help="accuracy against bytes, .svg or .png")


def run(args):
    import acclimate_host.twin.svm  # noqa: F401  trains with the C core where it is built

    check_output(args.out)
    check_picture("picture", args.picture)
    X, y, users = _read(args.data, args.users)
    if len(set(np.asarray(y).ravel().tolist())) < 2:
        raise AcclimateError(f"{args.data}: all rows have one label: expected 2 or more")
    choice = choose_svm(
        X,
        y,
        users,
        args.ram,
        args.instructions,
        kernels=_kernels(args.kernels),
        vectors=_vectors(args.vectors),
        progress=lambda done, all_: progress(f"{done} of {all_} machines", done, all_),
    )
    progress("")
    args.result = {"machines": [_figures(c, choice.best) for c in choice.front]}
    table([_row(c, choice.best) for c in choice.front], _HEADS)
    if args.picture:
        from acclimate_host.plots.choice import pareto

        pareto(Path(args.picture), choice)
        print(f"wrote {args.picture}")
    if choice.best is None:
        limits = (("--ram", args.ram), ("--instructions", args.instructions))
        given = " and ".join(f"{name} {limit}" for name, limit in limits if limit)
        raise AcclimateError(
            f"{args.data}: no machine of {len(choice.candidates)} fits {given}: "
            "the smallest are listed"
        )
    if args.out:
        choice.machine.save(args.out)
        print(f"wrote {args.out}: {choice.machine!r}")


def _size(text):
    """A number above 0, as 8192 or 8k."""
    number = text[:-1] if text[-1:] in ("k", "K") else text
    if not number.isdigit() or not int(number):
        raise argparse.ArgumentTypeError(f"expected a number as 8192 or 8k, got {text!r}")
    return int(number) * (1024 if number != text else 1)


_HEADS = ("kernel", "C", "gamma", "vectors", "accuracy", "worst user", "RAM", "instructions", "")


def _row(c, best):
    gamma = "" if c.gamma is None else f"{c.gamma:.4g}"
    most = "all" if c.vectors is None else str(c.vectors)
    note = "chosen" if c is best else "" if c.fits else "too large"
    shares = f"{c.accuracy:.3f}", f"{c.worst:.3f}"
    sizes = f"{c.ram_bytes:,}", f"{c.instructions:,}"
    return (c.kernel, f"{c.C:g}", gamma, most, *shares, *sizes, note)


def _figures(c, best):
    names = ("kernel", "C", "gamma", "vectors", "accuracy", "ram_bytes", "instructions", "fits")
    found = {name: getattr(c, name) for name in names}
    return {**found, "worst_user": c.worst, "chosen": c is best}


def _kernels(text):
    names = to_names(text)
    bad = set(names) - {"linear", "rbf", "poly"}
    if bad or not names:
        raise AcclimateError(f"--kernels {text!r}: expected linear, rbf or poly")
    return names


def _vectors(text):
    try:
        found = [None if part == "all" else int(part) for part in text.split(",")]
        if all(v is None or v >= 2 for v in found):
            return found
    except ValueError:
        pass
    raise AcclimateError(f"--vectors {text!r}: expected numbers of 2 and more, or all")


def _read(name, with_users):
    """(rows, labels, users or None) of a file."""
    path = Path(name)
    if not path.exists():
        raise AcclimateError(f"{name}: no such file")
    if path.suffix == ".csv":
        return _read_csv(name, with_users)
    if not is_zipfile(path):
        raise AcclimateError(f"{name}: expected a .csv, or an .npz with x and labels")
    try:
        data = np.load(name, allow_pickle=False)
        if isinstance(data, np.ndarray):
            raise ValueError("it is one array")
        with data:
            return data["x"], data["labels"], data["users"] if "users" in data else None
    except (OSError, ValueError, KeyError, EOFError, MemoryError, BadZipFile, zlib.error) as error:
        text = " ".join(str(error).split())
        raise AcclimateError(f"{name}: expected an .npz with x and labels: {text}") from None


def _read_csv(name, with_users):
    try:
        text = Path(name).read_text("utf-8-sig")
    except OSError as error:
        raise AcclimateError(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise AcclimateError(f"{name}: not text, byte {error.start} is not UTF-8") from None
    rows = [line.split(",") for line in text.splitlines() if line]
    last = -2 if with_users else -1
    if rows and not _is_number(rows[0][0]):
        rows = rows[1:]  # names of the columns
    if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) < 1 - last:
        raise AcclimateError(f"{name}: expected rows of features and a label, all of one length")
    try:
        X = np.array([[float(v) for v in row[:last]] for row in rows])
    except ValueError as error:
        place = "before the user" if with_users else "last"
        raise AcclimateError(
            f"{name}: expected numbers as features, and the label {place}: {error}"
        ) from None
    labels = [row[last].strip() for row in rows]
    try:
        y = np.array([int(label) for label in labels], np.int64)
    except (ValueError, OverflowError):
        y = np.array(labels)
    return X, y, np.array([row[-1].strip() for row in rows]) if with_users else None


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True
