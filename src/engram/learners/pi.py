"""PI, the name that Chaudhry et al. 2018 give to the path integral of synaptic intelligence: `si` by another name."""

from __future__ import annotations

from engram.learners.si import SI


class PI(SI):
    """One implementation: see `engram.learners.si`."""

    name = "pi"
