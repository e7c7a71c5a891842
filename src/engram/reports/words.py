"""Numbers as people say them."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def duration(seconds: float) -> str:
    """As people say it, in at most two units.

    >>> duration(0.2), duration(40), duration(710), duration(6000), duration(200_000)
    ('1 s', '40 s', '12 min', '1 h 40 min', '2 d 7 h')
    """
    if seconds < 59.5:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"
