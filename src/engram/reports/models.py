"""Models in files, for people: what a test says, and what a model has learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from engram.reports.tables import print_mapping, print_wrapped, quantity

if TYPE_CHECKING:
    from engram.estimator.testing import Examined
    from engram.readers.sheet import RowPlace

MOST_CLASSES = 40
MOST_PLACES = 5


def print_examined(console: Console, title: str, found: Examined, place: RowPlace) -> None:
    worst = sorted(found.classes.items(), key=lambda item: item[1][1] / item[1][0])
    rows = [{"class": str(c), "rows": n, "right": right, "accuracy": f"{right / n:.3f}"} for c, (n, right) in worst]
    print_mapping(console, f"{title}: {found.accuracy:.3f} of {found.rows:,} rows are right", rows[:MOST_CLASSES])
    if len(rows) > MOST_CLASSES:
        print_wrapped(console, f"these are the {MOST_CLASSES} worst of {len(rows)} classes")
    if found.unlearned:
        print_wrapped(console, f"never learned: {_some(found.unlearned)}")
    print_wrapped(console, _flips(found, place))
    known = [line for line in found.sessions if line["then"] is not None]
    if known:
        print_mapping(console, "the same rows after earlier sessions, of classes known then", [_then(k) for k in known])
    elif len(found.sessions) > 1:
        print_wrapped(console, "no earlier test with these rows: test after each session to see what is forgotten")


def print_model(console: Console, about: Mapping[str, Any]) -> None:
    classes = len(about["classes"])
    size = quantity(about["bytes"], "B")
    print_wrapped(console, f"{about['model']}: {classes:,} classes of {about['rows']:,} rows, {size}", "bold")
    print_wrapped(console, f"learner {about['learner']}: {about['why']}{_values(about)}")
    print_wrapped(console, _inputs(about))
    print_mapping(console, "sessions", [_session(k, one) for k, one in enumerate(about["sessions"], 1)])
    counted = sorted(about["classes"], key=lambda one: -one["rows"])[:MOST_CLASSES]
    more = f", the {MOST_CLASSES} largest of {classes:,}" if classes > MOST_CLASSES else ""
    print_mapping(console, f"classes{more}", [{"class": str(one["label"]), "rows": one["rows"]} for one in counted])
    print_wrapped(
        console, "the last session can be taken back" if about["can_undo"] else "no session can be taken back"
    )


def _flips(found: Examined, place: RowPlace) -> str:
    if found.flips is None or found.gains is None:
        return "there is no version before the last session to compare with"
    where = f" ({_some([place(row) for row in found.flips])})" if found.flips else ""
    return (
        f"since the last session {len(found.flips):,} of {found.rows:,} rows that were right are wrong{where}, and "
        f"{len(found.gains):,} that were wrong are right"
    )


def _then(line: Mapping[str, Any]) -> dict[str, Any]:
    shares = {"then": f"{line['then']:.3f}", "now": f"{line['now']:.3f}"}
    return {"session": line["session"], **shares, "forgotten": f"{line['then'] - line['now']:.3f}"}


def _session(number: int, session: Mapping[str, Any]) -> dict[str, Any]:
    changed = session.get("new") or session.get("gone") or []
    return {
        "session": number,
        "kind": session["kind"],
        "rows": session["rows"],
        "seconds": session.get("seconds"),
        "new or gone": _some(changed),
        "file": session.get("file"),
        "when": session["when"].replace("T", " ").split("+")[0],
    }


def _inputs(about: Mapping[str, Any]) -> str:
    if not about["columns"]:
        return f"rows of shape {tuple(about['shape'])}"
    text = [column["name"] for column in about["columns"] if "categories" in column]
    words = f"{len(about['columns'])} columns" + (f", text: {_some(text)}" if text else "")
    words += f"; label '{about['label']}'" if about["label"] else ""
    return words + (f"; left out: {_some(about['without'])}" if about["without"] else "")


def _values(about: Mapping[str, Any]) -> str:
    values = {**about["settings"], **about["chosen"]}
    shown = ", ".join(f"{name}={v:.3g}" if isinstance(v, float) else f"{name}={v}" for name, v in values.items())
    return f" ({shown})" if shown else ""


def _some(values: Sequence[Any]) -> str:
    more = f" and {len(values) - MOST_PLACES} more" if len(values) > MOST_PLACES else ""
    return ", ".join(map(str, values[:MOST_PLACES])) + more
