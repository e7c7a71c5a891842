"""Streams of tasks: seeded, versioned, built when they are asked for.

    >>> from engram.streams import stream
    >>> [task.name for task in stream("split-digits", tasks=2)]
    ['digits 0-4', 'digits 5-9']
    >>> stream("permuted", dataset="digits", tasks=3, seed=7)[2].name
    'permutation 3'

The registry is the folder: a module here that has a `Kind` is a kind of stream, and `kinds` lists them. `from_arrays`
and `from_files` make streams of your own data, `rebuild` makes one again from its `spec`.
"""

from engram.streams.arrays import from_arrays
from engram.streams.files import from_files
from engram.streams.making import is_files, kind_of, kinds, options_of, rebuild, stand_ins, stream
from engram.streams.own import STREAMS
from engram.streams.plan import Kind

__all__ = [
    "STREAMS",
    "Kind",
    "from_arrays",
    "from_files",
    "is_files",
    "kind_of",
    "kinds",
    "options_of",
    "rebuild",
    "stand_ins",
    "stream",
]
