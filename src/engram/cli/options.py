"""Options that several commands share, and what is written in them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engram.errors import BadSetting, UnknownName
from engram.seeds import seed_list as seed_list

if TYPE_CHECKING:
    from engram.store import Store

STORE = "engram-store"
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
Place = Annotated[str, typer.Option("--store", metavar="DIR", envvar="ENGRAM_STORE", help="Folder that keeps runs.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", help="Worker processes; 0 is one for every core.", min=0)]
Engine = Annotated[
    str, typer.Option("--engine", metavar="processes|ray", help="Workers on this machine, or those of a Ray cluster.")
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray-address", metavar="HOST:PORT", help="Ray's head; $RAY_ADDRESS, or a Ray of its own by default."
    ),
]
Figure = Annotated[
    str, typer.Option("--figure", metavar="FILE", help="Draw accuracy over time into this file (png, svg, pdf).")
]
Planned = Annotated[
    bool, typer.Option("--plan", help="Train nothing; say how many nodes there are to train and how long it may take.")
]
Seeds = Annotated[str, typer.Option("--seeds", metavar="N,N-N,..", help="Seeds, as 0,1,2 or 0-4.")]


def pairs(texts: list[str]) -> dict[str, Any]:
    """key=value, where several values between commas are a grid."""
    pairs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadSetting(f"--set {text!r} is not key=value; for example --set strength=100")
        name = name.strip()
        if name in pairs:
            raise BadSetting(f"{name} is set twice; give it once, as {name}=A,B where a protocol is to choose")
        pairs[name] = value.split(",") if "," in value else value
    return pairs


def numbers(option: str, text: str, separator: str) -> list[int]:
    try:
        return [int(part) for part in text.split(separator) if part.strip()]
    except ValueError:
        raise BadSetting(
            f"{option} {text!r} is not a list of whole numbers; write it as 0{separator}1{separator}2"
        ) from None


def number(option: str, text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        raise BadSetting(f"{option} {text!r} is not a whole number; for example {option} 5") from None


def labelled(stream: str, dataset: str | None, label: str | None) -> tuple[str | None, dict[str, Any]]:
    """What --label says of a dataset, or of a stream of files: the dataset and the stream's settings."""
    from engram.streams import is_files

    if label is None:
        return dataset, {}
    if dataset is not None:
        return f"{dataset}#{label}", {}
    if not is_files(stream):
        raise BadSetting(f"'{stream}' is no folder of files, which --label {label!r} is for; or give --dataset FILE")
    return None, {"label": label}


def check_engine(engine: str, ray_address: str | None) -> None:
    from engram.execute import ENGINES

    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    if ray_address is not None and engine != "ray":
        raise BadSetting(f"--ray-address {ray_address} is for the engine ray; add --engine ray")


def check_figure(figure: str) -> None:
    """A figure that cannot be drawn is refused before anything is trained."""
    if figure and not figure.lower().endswith((".png", ".svg", ".pdf")):
        raise BadSetting(f"--figure {figure!r} is no kind of figure; end it in .png, .svg or .pdf")
    check_file("--figure", figure)


def check_file(option: str, file: str, inputs: Iterable[str] = ()) -> None:
    """A file that cannot be written, or is one of the `inputs`, is refused before anything is done."""
    if file:
        if any(os.path.realpath(file) == os.path.realpath(each) or _is_same(file, each) for each in inputs):
            raise BadSetting(f"{option} {file!r} is what is read, and would be overwritten; choose another place")
        _check_place(option, file, is_folder=False)
        if os.path.exists(file) and not os.path.isfile(file):
            raise BadSetting(f"{option} {file!r} is not a regular file; choose another place")


def files_of(store: str) -> list[str]:
    """What a store has beside its checkpoints: nothing else may be written there."""
    return [os.path.join(store, name) for name in ("store.db", "store.db-wal", "store.db-shm", "workers.log")]


def check_folder(option: str, folder: str) -> None:
    """A folder that cannot be written to is refused before anything is trained."""
    if folder:
        _check_place(option, folder, is_folder=True)


def _check_place(option: str, place: str, is_folder: bool) -> None:
    try:
        if _is_there(place) and not is_folder:
            os.close(os.open(place, os.O_WRONLY | os.O_NONBLOCK))
        else:
            _try_folder(place if is_folder else os.path.dirname(place))
    except OSError as error:
        why = error.strerror or error
        raise BadSetting(f"{option} '{place}' cannot be written ({why}); choose another place") from error


def _is_same(one: str, other: str) -> bool:
    """Whether two names, as those of hard links, are of one file."""
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _is_there(path: str) -> bool:
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True


def _try_folder(folder: str) -> None:
    """Make a file without a name there, or in the nearest folder above it that is there already."""
    import tempfile

    while folder and not os.path.exists(folder):
        folder = os.path.dirname(folder)
    tempfile.TemporaryFile(dir=folder or ".").close()


def resume_command(store: str) -> str:
    """What goes on with the runs of a store, as it is typed."""
    return _with_store("engram resume", store)


def show_command(digest: str, store: str) -> str:
    """What shows an experiment again, as it is typed."""
    return _with_store(f"engram show {digest[:10]}", store)


def _with_store(command: str, store: str) -> str:
    named = store not in (STORE, os.environ.get("ENGRAM_STORE"))
    return f"{command} --store {shlex.quote(store)}" if named else command


def open_store(store: str, must_exist: bool = False) -> Store:
    from engram.store import Store, existing

    return existing(store) if must_exist else Store(store)


def one_run(place: Store, key: str) -> dict[str, Any]:
    """The run in a store whose key begins like this."""
    found = place.runs(key)
    if not found:
        raise BadSetting(f"no run in {place.folder} begins with '{key}'; 'engram runs' lists them")
    if len(found) > 1:
        raise BadSetting(f"{len(found)} runs in {place.folder} begin with '{key}'; give more of the key that you want")
    return found[0]
