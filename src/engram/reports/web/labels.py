"""Names beside points, where there is room for them."""

from __future__ import annotations

from collections.abc import Sequence

LETTER, LINE = 6.0, 12.0  # about how wide a letter and how high a line is
AWAY = 8.0  # from the point
LONGEST = 26
# right, left, above, below, and then further away
AROUND = [(1, 0), (-1, 0), (0, -1), (0, 1), *((side, up) for up in (-0.9, 0.9, -1.8, 1.8) for side in (1, -1, 0))]

Label = tuple[float, float, str, str]  # x, y, the side of the text that is there, and the text
Box = tuple[float, float, float, float]


def label_places(
    points: Sequence[tuple[float, float]], labels: Sequence[str], width: float, height: float
) -> list[Label | None]:
    """For each point a place for its label that covers no other point and no other label, as far as there is one."""
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    found: list[Label | None] = [None] * len(points)
    for place in sorted(range(len(points)), key=lambda k: points[k][1]):
        if not labels[place]:
            continue
        own = taken[place]
        options = [_option(*points[place], _short(labels[place]), dx, dy) for dx, dy in AROUND]
        costs = [_cost(box, [t for t in taken if t is not own], width, height) for _, box in options]
        label, box = options[costs.index(min(costs))]
        found[place] = label
        taken.append(box)
    return found


def _option(x: float, y: float, text: str, dx: float, dy: float) -> tuple[Label, Box]:
    long = LETTER * len(text)
    anchor = {1: "start", -1: "end", 0: "middle"}[int(dx)]
    left = {"start": x + AWAY, "end": x - AWAY - long, "middle": x - long / 2}[anchor]
    middle = y + dy * (LINE + 1)
    at = {"start": left, "end": left + long, "middle": x}[anchor]
    return (round(at, 1), round(middle + 4, 1), anchor, text), (left, middle - LINE / 2, left + long, middle + LINE / 2)


def _cost(box: Box, taken: Sequence[Box], width: float, height: float) -> float:
    """Area that is covered twice, and very much for what is outside."""
    outside = max(0, -box[0]) + max(0, box[2] - width) + max(0, -box[1]) + max(0, box[3] - height)
    return 1000 * outside + sum(_overlap(box, other) for other in taken)


def _overlap(a: Box, b: Box) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
