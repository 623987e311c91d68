# SPDX-License-Identifier: MIT
"""What a test wants of an error: its reason, or what it names; not how it is worded.

>>> with pytest.raises(CapsuleError, check=because("integrity")):     # doctest: +SKIP
>>> with pytest.raises(ValueError, check=naming(24, 23)):             # doctest: +SKIP
"""

import re


def because(reason):
    """Return a check of an error's ``reason``."""
    return lambda error: error.reason == reason


def naming(*parts):
    """Return a check that an error is one line with these numbers and names, in this order."""
    pattern = ".*".join(rf"(?<![\w.]){re.escape(str(part))}(?!\w)" for part in parts)

    def check(error):
        return bool(re.fullmatch(f".*{pattern}.*", str(error)))

    return check
