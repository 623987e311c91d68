# SPDX-License-Identifier: MIT
"""Picture of the demo's second part: which model was in use, how good it was, what was sent."""

from .style import AFTER, BEFORE, MUTED, pyplot, save

_COLORS = {"old": MUTED, "worse": BEFORE, "better": AFTER}
_WORDS = {"old": "three people", "worse": "one window of each exercise", "better": "seven people"}


def updates(path, story, titles):
    """Write the picture.

    :param story: ``shares`` (step, version, % right), ``events`` (step number, what, detail),
        ``capsules`` {version: (name, bytes sent)}.
    :param titles: (what happened, where it ran).
    """
    plt = pyplot()
    figure = plt.figure(figsize=(11, 6.6), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.1, w_pad=0.1, rect=(0, 0, 1, 0.9))
    top, bottom = figure.subplots(2, 1, height_ratios=(2.4, 1))
    figure.text(0.012, 0.955, titles[0], fontsize=15, fontweight="bold", color="#111827")
    figure.text(0.012, 0.92, titles[1], fontsize=10, color=MUTED)
    _shares(top, story)
    _bytes(bottom, story)
    save(figure, path)


def _shares(axes, story):
    names = {version: name for version, (name, _) in story.capsules.items()}
    seen = set()
    for x, (_, version, share) in enumerate(story.shares):
        name = names[version]
        label = None if name in seen else f"trained on {_WORDS[name]}"
        seen.add(name)
        axes.bar(x, share, 0.94, color=_COLORS[name], label=label)
        axes.text(
            x,
            share - 3,
            f"{share:.0f} %\nversion {version}",
            ha="center",
            va="top",
            color="white",
            fontweight="bold",
        )
    for step, what, _ in story.events:
        axes.axvline(step - 0.5, color="#111827", linewidth=1.2, ymax=0.93)
        axes.text(step - 0.5, 101, what, ha="center", fontsize=9, color="#111827")
    axes.set_xticks(range(len(story.shares)), [_wrap(step) for step, _, _ in story.shares])
    axes.set_ylim(0, 108)
    axes.set_ylabel("right on later windows, %")
    axes.set_title("The model in use")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, fontsize=9)
    axes.tick_params(axis="x", length=0)


def _bytes(axes, story):
    versions = list(story.capsules)
    sent = [story.capsules[version][1] for version in versions]
    colors = [_COLORS[story.capsules[version][0]] for version in versions]
    bars = axes.barh(range(len(versions)), sent, 0.7, color=colors)
    axes.bar_label(bars, [f"{n:,} bytes" for n in sent], padding=4, fontsize=9, color=MUTED)
    axes.set_yticks(range(len(versions)), [f"version {version}" for version in versions])
    axes.invert_yaxis()
    axes.set_xlim(0, max(sent) * 1.18)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title("Sent over HTTP, manifests and what was sent twice included")


def _wrap(text, width=22):
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = (lines[-1] + " " + word).strip()
    return "\n".join(lines)
