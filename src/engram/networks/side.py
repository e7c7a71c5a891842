"""Images that are averaged to fewer pixels where they enter a network, for smaller machines."""

from __future__ import annotations

from torch import nn

from engram.errors import BadSetting
from engram.networks.cnn import image_shape
from engram.settings import setting

SIDE = setting(0, "pixels of the side to which images are averaged first (0: as they come)", at_least=0, at_most=4096)


def averaged(
    name: str, shape: tuple[int, ...], side: int, smallest: int
) -> tuple[tuple[int, int, int], list[nn.Module]]:
    """The shape of images once they are averaged to `side` pixels, and the layers that do it: none where nothing is to
    be done."""
    channels, height, width = image_shape(name, shape, smallest)
    if side in (0, height) and side in (0, width):
        return (channels, height, width), []
    if not smallest <= side <= min(height, width):
        raise BadSetting(
            f"side={side} is out of range: network '{name}' needs {smallest} pixels, and the images are "
            f"{height}×{width}; give a side between or 0"
        )
    return (channels, side, side), [nn.AdaptiveAvgPool2d(side)]
