# SPDX-License-Identifier: MIT
"""The picture of an arena: which bytes hold what, over the nodes of one step."""

from .style import pyplot, save

COLOURS = {
    "trained": "#2a7f8e",
    "activation": "#c8553d",
    "gradient": "#7a5ea8",
    "mask": "#d9a441",
    "workspace": "#6b7280",
    "loss": "#111827",
    "input": "#b0b7c3",
    "state": "#4f9d69",
}


def arena_map(path, step, title):
    """Draw each buffer as a box: its life to the right, its bytes upwards."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(11, 6), layout="constrained")
    _draw(axes, step, title)
    save(figure, path)


def learning(path, step, title, shares, what):
    """Draw the arena of one training step, and beside it how often the network is right.

    :param shares: by pass over the samples, from before the first, 0 to 1
    :param what: title of the second picture
    """
    plt = pyplot()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(13, 5.5), layout="constrained", width_ratios=(2, 1)
    )
    _draw(left, step, title)
    right.plot(range(len(shares)), [100 * share for share in shares], "o-", color="#2a7f8e")
    for x, share in enumerate(shares):
        right.annotate(
            f"{100 * share:.0f} %",
            (x, 100 * share),
            (0, 8),
            textcoords="offset points",
            ha="center",
        )
    right.set(
        ylim=(0, 108),
        xticks=range(len(shares)),
        title=what,
        xlabel="passes over the samples",
        ylabel="% right, later windows",
    )
    right.grid(alpha=0.3)
    save(figure, path)


def _draw(axes, step, title):
    """Draw each buffer of a step into one pair of axes."""
    from matplotlib.patches import Patch, Rectangle

    used = []
    for buffer in step.buffers:
        tensor = step.graph.tensors.get(buffer.name)
        kind = tensor.kind if tensor else "workspace"
        used += [] if kind in used else [kind]
        low = step.layout.offsets[buffer.name] / 1024
        axes.add_patch(
            Rectangle(
                (buffer.first, low),
                buffer.last + 1 - buffer.first,
                buffer.size_bytes / 1024,
                facecolor=COLOURS[kind],
                edgecolor="white",
                linewidth=0.3,
            )
        )
    axes.set(
        xlim=(0, len(step.graph.nodes)),
        ylim=(0, step.layout.size_bytes / 1024 * 1.02),
        xlabel="node of the step",
        ylabel="KiB",
        title=title,
    )
    backward = [i for i, node in enumerate(step.graph.nodes) if node.phase == "loss"]
    for position in backward:
        axes.axvline(position, color="#111827", linewidth=0.8, linestyle=":")
    axes.legend(
        handles=[Patch(color=COLOURS[kind], label=kind) for kind in used],
        loc="lower center",
        bbox_to_anchor=(0.5, 1.06),
        ncols=len(used),
    )
