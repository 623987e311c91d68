# SPDX-License-Identifier: MIT
"""``acclimate send FILE --mqtt HOST --topic TOPIC``: a capsule or update in numbered blocks."""

from acclimate_host.capsules.blocks import Sender
from acclimate_host.capsules.encryption import read_object_key, seal
from acclimate_host.capsules.mqtt import send
from acclimate_host.commands import (
    add_object_key_argument,
    progress,
    read_bytes,
    read_text,
    to_positive,
)
from acclimate_host.errors import AcclimateError


def add_arguments(parser):
    parser.add_argument("file", help="a signed capsule, or an update made by capsule diff")
    parser.add_argument("--mqtt", metavar="HOST[:PORT]", required=True, help="the broker")
    parser.add_argument(
        "--topic", required=True, help="of the device: TOPIC/down has blocks, TOPIC/up answers"
    )
    parser.add_argument("--block", type=int, default=240, help="bytes of a block (%(default)s)")
    add_object_key_argument(parser)
    parser.add_argument("--user", help="name of this computer at the broker")
    parser.add_argument("--password-file", metavar="FILE", help="has the password of --user")
    parser.add_argument("--tls", action="store_true", help="with the system's certificates")
    parser.add_argument("--cafile", metavar="FILE", help="with --tls: the certificates that count")
    parser.add_argument(
        "--rate",
        type=to_positive,
        default=2500,
        metavar="BYTES_PER_S",
        help="of the line, for the estimate (%(default)s)",
    )


def run(args):
    data = read_bytes(args.file)
    if args.object_key:
        data = seal(data, read_object_key(args.object_key))
    host, port = _broker(args)
    if args.cafile and not args.tls:
        raise AcclimateError("--cafile: it counts with --tls only")
    password = read_text(args.password_file).strip() if args.password_file else None
    estimate = Sender(data, args.block).estimate_s(args.rate)
    print(f"{len(data):,} bytes, at least {estimate:.0f} s at {args.rate:g} bytes/s")
    packets, seconds = send(
        data,
        args.topic,
        host,
        port,
        block_bytes=args.block,
        user=args.user,
        password=password,
        tls=args.tls,
        cafile=args.cafile,
        progress=lambda done, count: progress(f"block {done} of {count}", done, count),
    )
    progress("")
    rate = len(data) / max(seconds, 1e-3)
    args.result = {"bytes": len(data), "packets": packets, "seconds": seconds}
    print(f"verified by the device: {packets} packets, {seconds:.1f} s, {rate:,.0f} bytes/s")


def _broker(args):
    """Return (host, port) of --mqtt."""
    host, _, port = args.mqtt.partition(":")
    port = port or ("8883" if args.tls else "1883")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise AcclimateError(f"--mqtt {args.mqtt}: expected HOST or HOST:PORT, ports 1 to 65535")
    return host, int(port)
