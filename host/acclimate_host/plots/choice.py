# SPDX-License-Identifier: MIT
"""The picture of ``acclimate choose``: how right machines are for what they take on a board."""

from .style import AFTER, BEFORE, DROPPED, MUTED, pyplot, save


def pareto(path, choice):
    """Accuracy on users that were not seen against bytes, the front joined, the choice marked.

    :param path: .svg or .png
    :param choice: `acclimate_host.model.choose_svm.Choice`
    """
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for fits, color, label in ((True, MUTED, "fits"), (False, DROPPED, "too large")):
        some = [c for c in choice.candidates if c.fits is fits]
        if some:
            size = [8 + c.instructions**0.5 / 4 for c in some]
            axes.scatter(
                [c.ram_bytes for c in some],
                [100 * c.accuracy for c in some],
                size,
                color,
                label=label,
                alpha=0.6,
            )
    steps = sorted(choice.front, key=lambda c: (c.ram_bytes, c.accuracy))
    rising, best = [], -1.0
    for c in steps:
        if c.accuracy > best:
            rising.append(c)
            best = c.accuracy
    axes.step(
        [c.ram_bytes for c in rising],
        [100 * c.accuracy for c in rising],
        color=AFTER,
        where="post",
        label="nothing smaller is better",
    )
    if choice.best is not None:
        axes.plot(
            choice.best.ram_bytes,
            100 * choice.best.accuracy,
            "o",
            color=BEFORE,
            markersize=10,
            label="chosen",
        )
    axes.set_xscale("log")
    axes.set_xlabel("bytes of RAM on the board; the size of a dot is its instructions")
    axes.set_ylabel("% right on users not seen")
    axes.set_title("Machines by what they take")
    axes.legend(loc="lower right")
    save(figure, path)
