# SPDX-License-Identifier: MIT
"""All targets of the Python path: those of the device and those of the host."""

from bench import fuzz_host, fuzz_models, fuzz_pull, fuzz_targets

TARGETS = {
    **fuzz_targets.TARGETS,
    "pull": fuzz_pull.of_pull,
    **fuzz_host.TARGETS,
    **fuzz_models.TARGETS,
}


def seeds(name):
    """Return the inputs that a target starts from."""
    if name == "pull":
        return fuzz_pull.seeds()
    return fuzz_host.seeds(name) or fuzz_models.seeds(name) or fuzz_targets.seeds(name)
