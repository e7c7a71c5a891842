"""Options of the commands about a model in a file, and what several of them do."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engram.errors import BadSetting

if TYPE_CHECKING:
    from engram.estimator import ContinualClassifier

ModelFile = Annotated[str, typer.Argument(help="The model's file, such as birds.engram.", show_default=False)]
DataPath = Annotated[
    str, typer.Argument(help="A .csv, .parquet or .npz file, or a folder of images.", show_default=False)
]
DataPaths = Annotated[
    list[str],
    typer.Argument(help="CSV, parquet or .npz files, or folders of images: a session each.", show_default=False),
]
LabelColumn = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="The label's column; it is remembered.")
]
ModelLearner = Annotated[
    str | None,
    typer.Option("--learner", metavar="NAME", help="auto by default; ridge, slda or any of 'engram list learners'."),
]
ModelSettings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the learner or its network.")
]
Room = Annotated[
    str | None,
    typer.Option("--memory", metavar="10MB", help="Room for rows that are kept, of learners with a budget for them."),
]
ModelNetwork = Annotated[str | None, typer.Option("--network", metavar="NAME", help="Of learners that have one.")]
ModelSeed = Annotated[str | None, typer.Option("--seed", metavar="N", help="Decides every random choice; 0.")]
LeftOut = Annotated[
    str | None,
    typer.Option("--without", metavar="COLUMN,..", help="Columns to leave out, such as row numbers."),
]
ImageSize = Annotated[
    str | None, typer.Option("--image-size", metavar="32|32x48", help="Height and width that images are brought to.")
]


def side_of(text: str | None) -> tuple[int, int] | None:
    """Height and width of images.

    >>> side_of("32"), side_of("32x48"), side_of(None)
    ((32, 32), (32, 48), None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,4})(?:x([0-9]{1,4}))?", text)
    if found is None or not int(found[1]) or int(found[2] or 1) == 0:
        raise BadSetting(f"--image-size {text!r} is no size of images; for example --image-size 32, or 32x48")
    return int(found[1]), int(found[2] or found[1])


def names_of(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def open_model(path: str) -> ContinualClassifier:
    """The model in a file."""
    from pathlib import Path

    from engram.estimator.model_file import load_model

    require_model(path)
    return load_model(Path(path))


def require_model(path: str) -> None:
    if not os.path.exists(path):
        raise BadSetting(f"there is no model {path}; 'engram learn {path} FILE --label COLUMN' makes one")


def few(values: list[Any], most: int = 5) -> str:
    """Some of them, for people."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more
