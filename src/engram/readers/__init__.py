"""Files of one's own, as tables: CSV, parquet, .npz, and folders of images with one folder a class.

    >>> from engram.readers import read
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "week1.csv"
    >>> _ = path.write_text("length,colour,species\\n3.5,red,finch\\n,green,tit\\n")
    >>> table = read(path, label="species")
    >>> {name: column.kind for name, column in table.columns.items()}
    {'length': 'number', 'colour': 'text'}
    >>> table.labels.tolist()
    ['finch', 'tit']

Files are hostile: sizes are checked before memory is taken, nothing in them is run, and what is wrong with one is said
in a sentence that names it.
"""

from __future__ import annotations

from engram.readers.naming import natural
from engram.readers.reading import SUFFIXES, as_written, is_readable, read
from engram.readers.sheet import Field, Sheet

__all__ = ["SUFFIXES", "Field", "Sheet", "as_written", "is_readable", "natural", "read"]
