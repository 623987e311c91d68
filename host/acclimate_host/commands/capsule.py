# SPDX-License-Identifier: MIT
"""``acclimate capsule``: build, inspect, verify, diff and key."""

import json
import secrets
from pathlib import Path

from acclimate_host.capsules import key_list, keys, region
from acclimate_host.capsules.build import KINDS, build
from acclimate_host.capsules.delta import describe as describe_update
from acclimate_host.capsules.delta import update
from acclimate_host.capsules.encryption import read_object_key
from acclimate_host.capsules.operators import describe, fields_of, operators
from acclimate_host.capsules.server import read_key
from acclimate_host.capsules.signing import SigningKey, read_public
from acclimate_host.commands import (
    add_board_arguments,
    open_chosen,
    read_bytes,
    read_capsule,
    write_bytes,
)
from acclimate_host.connect.mpy import ARCHS
from acclimate_host.errors import AcclimateError, Refused


def add_arguments(parser):
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _build_arguments(actions.add_parser("build", help="sections to a signed capsule"))
    inspect = actions.add_parser("inspect", help="show what a capsule says of itself")
    inspect.add_argument("capsule", help="a file that capsule build made")
    inspect.add_argument("--json", action="store_true", help="print JSON")
    verify = actions.add_parser("verify", help="integrity, and with a key authenticity")
    verify.add_argument("capsule", help="a file that capsule build made")
    verify.add_argument("--key", metavar="FILE", help="key file made by: acclimate capsule key")
    diff = actions.add_parser("diff", help="write the update from one capsule to another")
    diff.add_argument("base", help="the capsule that the device has")
    diff.add_argument("target", help="the signed capsule that it shall have")
    diff.add_argument("-o", "--output", metavar="FILE", required=True)
    key = actions.add_parser("key", help="make a key file; or bring a key to a board")
    key.add_argument("file", help="made, never over an old one; with a board or device: read")
    key.add_argument(
        "--ed25519",
        action="store_true",
        help="make a pair: FILE is private, FILE.pub goes to boards and lists",
    )
    key.add_argument(
        "--objects",
        action="store_true",
        help="bring FILE to a board as the key that its objects are encrypted with",
    )
    key.add_argument("--list", metavar="FILE", help="key list that the board begins with")
    key.add_argument(
        "--reports", metavar="FILE", help="fleet key: the board's reports are signed with its own"
    )
    key.add_argument("--device", type=int, metavar="N", help="the key that N alone has")
    key.add_argument("-o", "--output", metavar="FILE", help="write the device's key")
    add_board_arguments(key, needed=False)


def _build_arguments(parser):
    parser.add_argument("-o", "--output", metavar="FILE", required=True)
    parser.add_argument("--model", type=int, required=True, metavar="ID", help="model id")
    parser.add_argument("--version", type=int, required=True, help="above that of the last one")
    parser.add_argument("--kind", default="network", choices=[name.lower() for name in KINDS])
    parser.add_argument("--program", metavar="FILE", help="such as net_program")
    parser.add_argument("--weights", metavar="FILE", help="such as net_weights")
    parser.add_argument("--operators", metavar="FILE", help=".mpy, or .py to compile")
    parser.add_argument("--meta", metavar="FILE", help="whatever travels with the model")
    parser.add_argument(
        "--arch",
        choices=[arch for arch in ARCHS if arch],
        help="of native and viper functions in --operators FILE.py",
    )
    parser.add_argument("--temperature", type=float, default=1.0, help="of confidences (1)")
    parser.add_argument("--key", metavar="FILE", help="key file made by: acclimate capsule key")
    parser.add_argument(
        "--epoch", type=int, default=0, metavar="N", help="of the key list (%(default)s)"
    )


def run(args):
    actions = {"build": _build, "inspect": _inspect, "verify": _verify, "diff": _diff, "key": _key}
    return actions[args.action](args)


_MODEL_FILES = (".onnx", ".tflite", ".keras", ".h5", ".pt", ".pth")
_ADVICE = "acclimate compile makes net_program and net_weights"


def _build(args):
    sections, fields = {}, {}
    for name in ("program", "weights", "operators", "meta"):
        path = getattr(args, name)
        if path is None:
            continue
        if Path(path).suffix in _MODEL_FILES:
            raise AcclimateError(
                f"--{name} {path}: no board reads it: compile it first ({_ADVICE})"
            )
        sections[name.upper()] = (
            operators(path, args.arch) if name == "operators" else read_bytes(path)
        )
    if sections and not any(sections.values()):
        raise Refused("build: every file is empty")
    if args.operators:
        fields = fields_of(sections["OPERATORS"])
    if not 1 / 256 <= args.temperature <= 255:
        raise Refused(f"--temperature {args.temperature}: 1/256 to 255")
    data = build(
        sections,
        args.kind.upper(),
        args.model,
        args.version,
        temperature=round(args.temperature * 256),
        key=read_key(args.key) if args.key else None,
        epoch=args.epoch,
        **fields,
    )
    write_bytes(args.output, data)
    signed = "signed" if args.key else "not signed: give --key FILE"
    print(f"{args.output}: {len(data)} bytes, version {args.version}, {signed}")
    return 0


def _inspect(args):
    data = read_bytes(args.capsule)
    is_update = data[:4] == b"AUPD"
    values = describe_update(data) if is_update else _values(read_capsule(args.capsule)[1])
    if args.json:
        print(json.dumps(values, indent=1))
        return 0
    for name, value in values.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {size} bytes" for key, size in value.items())
        print(f"{name:16} {value}")
    return 0


def _values(capsule):
    return {
        "kind": capsule.kind,
        "model": capsule.model,
        "version": capsule.version,
        "bytes": capsule.total,
        "arch": capsule.arch,
        "abi": capsule.abi,
        "board": capsule.board,
        "device": capsule.device,
        "epoch": capsule.epoch,
        "temperature": capsule.temperature / 256,
        "saved_by_device": bool(capsule.flags & 1),
        "operators_for": describe(capsule.arch, capsule.abi),
        "sections": {name: len(content) for name, content in capsule.sections},
        "sha256": capsule.digest.hex(),
        "intact": capsule.intact,
    }


def _verify(args):
    data, capsule = read_capsule(args.capsule)
    if not capsule.intact:
        raise Refused(f"{args.capsule}: integrity: its SHA-256 is not that of its content")
    print("integrity: the content has the SHA-256 of the header")
    if args.key is None:
        print("authenticity: not checked; give --key FILE")
        return 0
    if not capsule.authentic(_verifying(args.key), data):
        raise Refused(f"{args.capsule}: authenticity: it was not signed with this key")
    print("authenticity: signed with this key")
    return 0


def _diff(args):
    (base, old), (target, new) = read_capsule(args.base), read_capsule(args.target)
    for path, capsule in ((args.base, old), (args.target, new)):
        if not capsule.intact:
            raise Refused(f"{path}: integrity: its SHA-256 is not that of its content")
    made = update(base, target)
    write_bytes(args.output, made)
    share = len(made) / len(target)
    print(f"{args.output}: {len(made)} bytes, the whole capsule has {len(target)} ({share:.0%})")
    if len(made) >= len(target):
        print("send the whole capsule: it is not larger")
    return 0


def _verifying(path):
    """Return what is_signed takes: an HMAC key, or the public keys of a file."""
    data = read_bytes(path)
    return read_key(path) if 16 <= len(data) < 64 else (read_public(path),)


def _key(args):
    named = args.port or args.board
    if args.objects:
        return _bring_object_key(args, named)
    if args.ed25519 and named:
        return _provision(args)
    if args.ed25519:
        secret = SigningKey(secrets.token_bytes(32))
        keys.write_new_pair(args.file, secret.pem(), secret.public.hex().encode() + b"\n")
        print(f"{args.file}: a new private key; keep it off the network")
        print(f"{args.file}.pub: {secret.public.hex()}")
        return 0
    if args.device is None and not named:
        keys.write_new(args.file)
        print(
            f"{args.file}: a new key of {keys.KEY_BYTES} bytes; "
            "bring it to the device by another way"
        )
        return 0
    key, whose = read_key(args.file), "the key"
    if not isinstance(key, bytes):
        raise AcclimateError(
            f"{args.file}: a private key goes to no board: --ed25519 {args.file}.pub"
        )
    if args.device is not None:
        key, whose = keys.device_key(key, args.device), f"the key of device {args.device}"
    if args.output:
        keys.write_new(args.output, key)
        print(f"{args.output}: {whose}")
    if named:
        with open_chosen(args, **region.open_options(args.board)) as board:
            region.give_key(board, key)
            print(f"{board.name}: {whose} is in {region.key_path(board)}, and reads back as sent")
    elif not args.output:
        raise AcclimateError("--device: say where to: -o FILE, --port or --board")
    return 0


def _bring_object_key(args, named):
    if not named or args.ed25519 or args.device is not None or args.output or args.list:
        raise AcclimateError("--objects: brings FILE to a board: give --port or --board alone")
    key = read_object_key(args.file)
    with open_chosen(args, **region.open_options(args.board)) as board:
        region.give_object_key(board, key)
        path = region.object_key_path(board)
        print(f"{board.name}: the key of objects is in {path}, and reads back as sent")
    return 0


def _provision(args):
    """Give a board its trust by cable: the root's public key, its own secret, the first list."""
    root = read_public(args.file)
    fleet = read_key(args.reports) if args.reports else None
    if (fleet is None) != (args.device is None):
        raise AcclimateError("--reports FILE and --device N: the key of reports needs both")
    report = keys.device_key(fleet, args.device) if fleet else secrets.token_bytes(32)
    first = read_bytes(args.list) if args.list else b""
    made = key_list.unpack(first, root) if first else None
    trust = key_list.trust(root, secrets.token_bytes(32), report, True)
    with open_chosen(args, **region.open_options(args.board)) as board:
        region.give_trust(board, trust, first)
        print(f"{board.name}: it takes what root {root.hex()[:16]}... allows")
        if made:
            print(f"{board.name}: key list {made.sequence}, epoch {made.epoch}")
    return 0
