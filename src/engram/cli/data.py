"""Commands about datasets: data list, data fetch, data verify, redundancy."""

from __future__ import annotations

from typing import Annotated

import typer

from engram.cli.looking import list_ as list_anything
from engram.cli.options import Json, check_figure
from engram.cli.output import console, print_json, say, waiting, warn, working


def list_(as_json: Json = False) -> None:
    """Every dataset: shape, classes, licence, whether it is here."""
    list_anything("datasets", as_json=as_json)


def fetch(name: Annotated[str, typer.Argument(help="A dataset's name.")], as_json: Json = False) -> None:
    """Get a dataset by whichever road is open.

    The digest decides whether its bytes are the right ones.
    """
    from engram import datasets

    with waiting(f"fetching {name}"):
        path = datasets.fetch(name)
    if as_json:
        print_json({"name": name, "path": None if path is None else str(path)})
    else:
        say(f"{name} is here" + (f": {path}" if path else " (nothing to fetch)"))


def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets; all by default.")] = None, as_json: Json = False
) -> None:
    """Compare the digest of every file with the catalogue's.

    Without names those that are here count; a dataset that is named has to be here.
    """
    from engram import datasets

    with waiting("reading files"):
        rows = datasets.verify(names or None)
    if as_json:
        print_json({"files": rows})
    else:
        from engram.reports.tables import print_mapping

        print_mapping(console(), "files", [{n: row[n] for n in ("name", "file", "status")} for row in rows])
    missing = dict.fromkeys(row["name"] for row in rows if row["status"] == "missing") if names else {}
    for name in missing:
        warn(f"{name} is not here; 'engram data fetch {name}' gets it")
    if missing or any(row["status"] == "damaged" for row in rows):
        raise typer.Exit(1)


def redundancy(
    dataset: Annotated[str, typer.Argument(help="A dataset's name, or the path of an .npz file.")],
    figure: Annotated[
        str, typer.Option("--figure", metavar="FILE", help="Draw the matrix of all features (png, svg, pdf).")
    ] = "",
    bins: Annotated[int, typer.Option("--bins", metavar="N", help="Levels that each feature is cut into.")] = 10,
    cut: Annotated[
        str,
        typer.Option(
            "--cut", metavar="NAME", help="frequency: bins of as many samples; width: equal steps, 2 is a threshold."
        ),
    ] = "frequency",
    delta: Annotated[
        float, typer.Option("--delta", metavar="X", help="Features must tell more than this about the class.")
    ] = 0.0,
    as_json: Json = False,
) -> None:
    """How many features of a dataset repeat no other (FCBF).

    Symmetric uncertainty of every pair of features and of each with the class, on the training samples.
    """
    from pathlib import Path

    from engram import datasets
    from engram.redundancy import of_dataset
    from engram.reports.content import Squares
    from engram.reports.figure import save

    check_figure(figure)
    with working(f"comparing the features of {dataset}") as told:
        found = of_dataset(datasets.load(dataset), bins, delta, cut, told)
    if as_json:
        print_json(found.to_json())
    else:
        say(found.sentence())
    if figure:
        title = f"{found.dataset}: {len(found.kept)} of {found.features} features are not redundant"
        path = save(Squares({title: found.matrix}, "symmetric uncertainty"), Path(figure))
        if not as_json:
            say(f"figure: {path.resolve()}")
