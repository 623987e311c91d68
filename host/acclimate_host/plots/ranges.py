# SPDX-License-Identifier: MIT
"""The picture of what each channel of a layer uses of the layer's int8 range."""

from .style import AFTER, BEFORE, pyplot, save

_MOST = 6  # layers in one picture


def channel_ranges(path, rows, title):
    """Draw the first layers of `layer_errors`: a bar from the least to the largest output."""
    plt = pyplot()
    rows = rows[:_MOST]
    figure, axes = plt.subplots(
        len(rows), 1, figsize=(11, 1.9 * len(rows)), layout="constrained", squeeze=False
    )
    for row, (box,) in zip(rows, axes, strict=True):
        low, high = zip(*row.ranges, strict=True)
        heights = [b - a for a, b in row.ranges]
        box.bar(range(len(low)), heights, bottom=low, color=AFTER, width=0.8)
        for bound in row.bounds:
            box.axhline(bound, color=BEFORE, linewidth=1)
        box.set(title=f"{row.layer}: {row.own_db:.1f} dB of its own", xlabel="channel")
    figure.suptitle(title)
    save(figure, path)
