"""Code that is not the library's own: found by its place, known by the digest of its source.

    mas.py:MAS          a file and a name in it
    my.package:MAS      a module and a name in it

A learner, network or stream of one's own enters the keys of the tree with its digest, so that an edited method never
returns yesterday's result; and with its place, so that worker processes and another day find it again.
"""

from engram.own.folder import in_folder
from engram.own.origins import Origin, origin
from engram.own.parcels import pack, unpack
from engram.own.places import NotFound, absolute, file_name, is_place, load
from engram.own.registry import Registry

__all__ = [
    "NotFound",
    "Origin",
    "Registry",
    "absolute",
    "file_name",
    "in_folder",
    "is_place",
    "load",
    "origin",
    "pack",
    "unpack",
]
