# SPDX-License-Identifier: MIT
"""The looks that all pictures share, and how they are written."""

BEFORE, AFTER, MUTED, KEPT, DROPPED = "#c8553d", "#2a7f8e", "#6b7280", "#2a7f8e", "#b0b7c3"


def pyplot():
    """matplotlib with our looks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.titlesize": 11,
            "axes.edgecolor": "#9aa1ad",
            "axes.labelcolor": "#374151",
            "xtick.color": "#4b5563",
            "ytick.color": "#4b5563",
            "legend.frameon": False,
        }
    )
    return plt


def save(figure, path, dpi=130):
    """Write a figure as .svg or .png, the same bytes for the same picture, and close it."""
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    plt.rcParams["svg.hashsalt"] = "acclimate"
    figure.savefig(path, dpi=dpi, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
