"""What a search for a path may try beyond Veniat et al. 2021, who only change the end of an old path.

Where samples look different and mean the same, the end is what should stay: the first modules are renewed, or colours
are mixed before them. Features of old paths say little about such samples, so the source is not found by neighbours on
them but by screening: an adapter is fitted for a few steps before every past path with as many classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.parts.candidates import Recipe
from engram.parts.library import Path
from engram.settings import apply, setting

PARTS = ("front", "adapter", "screen", "warm", "ridge")
RENEWED = (1, 2)  # first modules of the candidates that renew some
KEPT = (0, 2)  # first modules of the warm ones that stay


class Wide:
    """The settings, and the plans that follow from them."""

    search = setting(
        "paper",
        f"candidates for a path: those of the paper, or wide: with {', '.join(PARTS)}, whatever these settings say",
        choices=("paper", "wide"),
        late=True,
        revised=(("wide", 3),),  # as `warm`, which is part of it
    )
    front = setting(False, "candidates that renew the first modules, from the source's, and keep the rest", late=True)
    adapter = setting(False, "a candidate that mixes colours before a whole frozen path", late=True)
    screen = setting(False, "for these two try all past paths of as many classes for a few steps", late=True)
    warm = setting(
        False,
        "candidates whose modules, but for the head, begin as the source's and are trained on: all of them, or all but "
        "the first two; and as those of other past paths, all of them",
        late=True,
        revised=((True, 3),),  # it was all but the first two alone
    )
    warm_sources = setting(
        5, "past paths that warm candidates begin as: all sources, then the next best; 0: all", at_least=0, late=True
    )
    ridge = setting(False, "a candidate with a head by ridge regression on the features of all modules", late=True)
    # on the last task of a small ctrl-in (one seed) rates from 0.01 to 0.1 did equally well
    adapter_rate = setting(0.03, "size of a step of adapters", above=0, late=True)
    screen_steps = setting(40, "steps for which a path is tried", at_least=1, late=True)
    finalists = setting(
        0,
        "with many past paths to screen, the better half of them goes on after a quarter of the steps and a quarter of "
        "them after half, but at least so many; 0: all of them are tried to the end",
        at_least=0,
        late=True,
    )
    halving = setting(
        0,
        "with stop=patience: of the trained candidates that are `halved`, the worse half ends after so many steps, and "
        "half of the others after twice and again after four times as many, until one is left; 0: none does",
        at_least=0,
        late=True,
    )
    halved = setting(
        "beyond",
        "which candidates that are: those beyond the paper's, or all but the network of its own, which `independent` "
        "trains too",
        choices=("beyond", "all"),
        late=True,
    )

    def __init__(self, values: Mapping[str, Any], layers: int):
        """`layers` of a whole path."""
        apply(self, values)
        self._layers = layers
        if self.search == "wide":
            apply(self, dict.fromkeys(PARTS, True))

    def plans(self, source: Path, is_whole: bool) -> list[Recipe]:
        """Those made from a source; some need its whole path, which can be used if it has as many classes."""
        kept = dict.fromkeys(min(first, self._layers - 2) for first in KEPT) if self.warm else ()
        found = [Recipe("warm", source, first) for first in kept]
        if self.ridge:
            found.append(Recipe("ridge", source))
        return found + self._input_side(source) if is_whole and not self.screen else found

    def warmed(self, others: list[Path], sources: int) -> list[Recipe]:
        """Those made from paths, the nearest first, that are none of so many sources: neighbours on frozen features
        say little about where it is best to begin."""
        most = max(self.warm_sources - sources, 0) if self.warm_sources else None
        return [Recipe("warm", path) for path in others[:most]] if self.warm else []

    def waiting(self) -> list[Recipe]:
        """Those that are made from what screening finds."""
        return [Recipe("whole", ()), *self._input_side(())] if self.screen else []

    def _input_side(self, source: Path) -> list[Recipe]:
        found = [Recipe("front", source, first) for first in RENEWED if first < self._layers] if self.front else []
        return [*found, Recipe("adapter", source)] if self.adapter else found
