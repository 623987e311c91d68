# SPDX-License-Identifier: MIT
"""Write the measured tables of README.md from what the benches left in out/bench.

usage: python tools/readme_tables.py [--check]

With --check nothing is written; the exit status tells whether the measured tables are up to date
(bytecode grows with every change, and may be 10 % off).
"""

import ast
import json
import re
import sys

from acclimate_host.connect import merge, package
from acclimate_host.paths import built, repository

README = repository() / "README.md"
FIGURES = repository() / "docs" / "measured.md"
# Room or module -> the files that belong to it on a board.
MODULES = {
    "svm": ("svm", "_svm_train", "_svm_more", "_svm_solver", "_svm_small"),
    "features": ("features",),
    "loop": ("loop",),
    "net": ("net", "_net_python"),
    "store": ("store", "_store_update", "flash"),
    "pull": ("pull", "_pull_more"),
    "acceptance": ("acceptance", "reservoir"),
    "pager": ("pager",),
}
ARCHS = {
    "armv7emsp": "nRF52840",
    "armv6m": "SAMD21",
    "xtensawin": "ESP32",
    "x64": "desktop",
}
# Bench, field in its JSON, what it is, how it is printed.
MEASURED = (
    (
        "net",
        "per_mac.m4f.pointwise",
        "instructions per MAC, int8 pointwise convolution, Cortex-M4F",
        "{:.2f}",
    ),
    ("net", "per_mac.m4f.conv3x3", "the same, 3x3 convolution", "{:.2f}"),
    ("net", "per_mac.m4f.depthwise", "the same, depthwise 3x3", "{:.2f}"),
    ("net", "ratio_ref.m4f.pointwise", "plain C over ours, pointwise", "{:.1f} times"),
    (
        "memory",
        "arena.mbv2_49",
        "arena to train MobileNetV2-w0.35 (128x128, 49 KB scheme)",
        "{:,} bytes",
    ),
    ("memory", "arena.mcunet_99", "the same, MCUNet with the 99 KB scheme", "{:,} bytes"),
    (
        "memory",
        "ratio.full_mbv2",
        "full update over sparse update, MobileNetV2",
        "{:.1f} times",
    ),
    (
        "transfer",
        "rotated.int8_minus_float",
        "accuracy after int8 training minus float32, rotated digits",
        "{:+.1%}",
    ),
    (
        "transfer",
        "rotated.int8_minus_classifier",
        "the same minus training the classifier only",
        "{:+.1%}",
    ),
    (
        "acceptance",
        "right.label_free",
        "updates judged rightly by the board without a label",
        "{:.1%}",
    ),
    ("acceptance", "right.labels_10", "the same with ten labels asked", "{:.1%}"),
    ("acceptance", "right.dcg", "the same by the published rule, DCG > 0", "{:.1%}"),
    (
        "powercut",
        "model.states",
        "power cuts in a model of flash, none lost, mixed or unbootable",
        "{:,}",
    ),
    ("powercut", "board.cuts", "power cuts of a running emulated board, same result", "{:,}"),
    ("fuzz", "inputs", "damaged inputs to every parser, no crash, none taken", "{:,}"),
    (
        "capsule",
        "update.m0_peak_ram_bytes",
        "RAM of a whole update on the 32 KB board",
        "{:,} bytes",
    ),
    ("capsule", "delta.ratio_whole", "update over whole capsule after fine-tuning", "{:.2f}"),
    ("capsule", "sha256.m4f", "instructions per byte of SHA-256, Cortex-M4F", "{:.1f}"),
    (
        "poet",
        "solve.vgg16.m4.50.cpu_seconds",
        "processor time to the proven optimum, VGG16 on a Cortex-M4 at 50 % RAM",
        "{:.1f} s",
    ),
    (
        "poet",
        "solve.bert.m0.50.cpu_seconds",
        "the same, BERT on a Cortex-M0 at 50 % RAM",
        "{:.1f} s",
    ),
)


def block(text, name):
    """The text between the marks of a generated part."""
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)


def bytecode_is_near(text):
    """True when the sizes in the table of modules are within 10 % of what is compiled now."""
    numbers = [
        [int(n.replace(",", "")) for n in re.findall(r"\| ([\d,]+) \|$", part, re.MULTILINE)]
        for part in (block(text, "modules").group(1), modules_table())
    ]
    shown, now = numbers
    return len(shown) == len(now) and all(
        abs(a - b) <= b // 10 for a, b in zip(shown, now, strict=True)
    )


def replaced(text, name, content):
    found = block(text, name)
    return text[: found.start(1)] + content + text[found.end(1) :]


def summary(name):
    """First sentence of the docstring of a room or module."""
    text = merge.modules()[name].read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(text)).splitlines()[0].rstrip(".")


def modules_table():
    """Bytes of bytecode of each module."""
    lines = ["| module | what it does | bytecode, bytes |", "|---|---|---|"]
    sizes = {name: len(data) for name, data in package.build(pure=True).items()}
    for name, files in MODULES.items():
        size = sum(sizes[file + ".mpy"] for file in files)
        lines.append(f"| `acclimate.{name}` | {summary(name)} | {size:,} |")
    return "\n".join([*lines, ""])


def native_table():
    """Bytes of each native module on each architecture."""
    lines = [
        "| native module, bytes | "
        + " | ".join(f"{board} (`{arch}`)" for arch, board in ARCHS.items())
        + " |"
    ]
    lines.append("|---" * (len(ARCHS) + 1) + "|")
    names = sorted({p.stem for arch in ARCHS for p in built("native", arch).glob("_*.mpy")})
    for name in names:
        files = [built("native", arch, name + ".mpy") for arch in ARCHS]
        sizes = [f"{f.stat().st_size:,}" if f.exists() else "" for f in files]
        lines.append(f"| `{name}` | " + " | ".join(sizes) + " |")
    return "\n".join([*lines, ""])


def measured_table(text):
    """The table of figures in a text, with the rows of the benches that have run here renewed."""
    known = {line.split(" | ")[0]: line for line in block(text, "measured").group(1).splitlines()}
    lines = ["| measured | | by `make bench NAME=` |", "|---|---|---|"]
    for bench, field, what, form in MEASURED:
        path = built("bench", bench + ".json")
        if path.exists():
            value = json.loads(path.read_text())
            for key in field.split("."):
                value = value.get(key, {})
            if value != {}:
                lines.append(f"| {what} | {form.format(value)} | {bench} |")
                continue
        if f"| {what}" in known:
            lines.append(known[f"| {what}"])
    return "\n".join([*lines, ""])


def svm_table(svm):
    """What the native core needs for the paper's two tasks."""
    full = svm["size"]["armv6m"]
    steps, energy = svm["steps"], svm["energy"]
    lines = [
        "The native solvers; instructions to train (iris: 70 rows of 4, digits: 84 rows of 64). "
        f"On the SAMD21 it is the linear one; the one with all kernels has {full:,} bytes there:",
        "",
        "| board class | native module, bytes | iris | digits | digits, more kernel rows kept "
        "| one prediction of 64 features |",
        "|---|---|---|---|---|---|",
    ]
    for board, arch, title in (
        ("m4f", "armv7emsp", "nRF52840 (Cortex-M4F)"),
        ("m0", "armv6m_linear", "SAMD21 (Cortex-M0)"),
    ):
        c = svm["instructions"][board]
        lines.append(
            f"| {title} | {svm['size'][arch]:,} | {c['iris']:,} | {c['digits']:,} "
            f"| {c['digits_gram']:,} | {svm['predict'][board]:,} |"
        )
    lines += [
        "",
        "iris and digits keep 8 kernel rows, the next column 48 on the M4F and 28 on the M0. The "
        "prediction is from integer weights, without the call: through Python it takes "
        f"{svm['predict']['m4f_api']:,} with `SVM` and {svm['predict']['m0_api']:,} with "
        "`SVM(small=True)`. The longest step of a training of "
        f"`SVM` on the M4F, imports and all, takes {steps['m4f_max_instructions']:,} instructions "
        f"({steps['m4f_python_max_instructions']:,} in pure Python), of `SVM(small=True)` on the "
        f"M0 {steps['m0_max_instructions']:,}.",
        "",
        f"At one instruction a cycle and the current in the chips' data sheets digits takes "
        f"{1e6 * energy['m4f']['digits_j']:.0f} µJ on the nRF52840 and "
        f"{1e6 * energy['m0']['digits_j']:.0f} µJ on the SAMD21. That is not comparable with the "
        "paper's energy, whose currents are printed only inside a picture.",
        "",
        "Measured by `make bench NAME=svm` in the emulator.",
        "",
    ]
    return "\n".join(lines)


def personal_table(personal):
    """Before and after, over all users."""
    lines = [
        "Ten users, each in turn new to a model of the other nine; right on windows later "
        "in time than anything that the board learned from:",
        "",
        "| variant | factory samples | before | after | worst user, change "
        "| all windows of the others, no personal one |",
        "|---|---|---|---|---|---|",
    ]
    for name, text in (
        ("full", "7 exercises, 30 features, RBF kernel"),
        ("small", "7 exercises, 12 features, linear"),
        ("tiny", "3 exercises, 12 features, linear: the emulated SAMD21"),
    ):
        p = personal[name]
        lines.append(
            f"| {text} | {p['factory_samples']} | {100 * p['before']:.1f} % "
            f"| {100 * p['after']:.1f} % | {100 * p['gain_of_worst_user']:+.0f} points "
            f"| {100 * p['all_others']:.1f} % |"
        )
    lines += ["", "Measured by `make bench NAME=personal`.", ""]
    return "\n".join(lines)


def main():
    text = README.read_text()
    checking = "--check" in sys.argv
    if checking and not bytecode_is_near(text):
        return 1
    new = text
    if not checking:
        new = replaced(replaced(text, "modules", modules_table()), "native", native_table())
    figures = FIGURES.read_text()
    renewed = replaced(figures, "measured", measured_table(figures))
    if checking and renewed != figures:
        return 1
    FIGURES.write_text(renewed)
    for name, table in (("svm", svm_table), ("personal", personal_table)):
        path = built("bench", name + ".json")
        if path.exists():
            new = replaced(new, name, table(json.loads(path.read_text())))
        else:
            print(f"left out: {name}, run make bench NAME={name} first")
    if checking:
        return int(new != text)
    README.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
