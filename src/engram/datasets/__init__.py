"""Datasets by name or by path, as verified bytes.

    >>> from engram import datasets
    >>> datasets.load("digits").shape
    (1, 8, 8)

`load` never touches the network: bytes come from the folder in $ENGRAM_DATA, from Engram's cache or from an installed
package, and are compared with the digest in the catalogue each time. `fetch` fills the cache.
"""

from __future__ import annotations

from engram.datasets.api import describe, fetch, load, names, verify

__all__ = ["describe", "fetch", "load", "names", "verify"]
