"""Names come from files and command lines; what is shown of them must not steer a terminal or break a line."""

from __future__ import annotations

import re

# C0, DEL, C1 (with them escape sequences and line breaks), line separators, marks and overrides of writing direction,
# and halves of characters, which are what undecodable bytes of a file's name become
_STEERS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def harmless(text: object) -> str:
    r"""A text on one line that a terminal can only show.

    >>> harmless("a\x1b[31m\n\u202eb")
    'a\\x1b[31m\\n\\u202eb'
    """
    return _STEERS.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))
