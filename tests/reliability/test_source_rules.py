"""Calls that can run what they read, or write where they should not, do not occur in the source."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

import pytest

import engram

FORBIDDEN = {
    "pickle.load", "pickle.loads", "pickle.Unpickler", "dill.load", "dill.loads", "joblib.load", "torch.load",
    "yaml.load", "yaml.unsafe_load", "marshal.loads", "shelve.open", "eval", "exec", "os.system", "os.popen",
}  # fmt: skip
FILES = sorted(Path(engram.__file__).parent.rglob("*.py"))


def offences(source: str) -> list[str]:
    found = []
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        if name in FORBIDDEN or name.rsplit(".", 1)[-1] in ("extractall", "extract"):
            found.append(name)
        for word in call.keywords:
            if (word.arg, ast.unparse(word.value)) in (("shell", "True"), ("allow_pickle", "True")):
                found.append(f"{word.arg}=True")
    return found


def test_there_is_source_to_look_at():
    assert len(FILES) > 50


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_nothing_in_the_source_can_run_what_it_reads(path):
    assert offences(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    ["pickle.load(f)", "torch.load(f)", "eval('1')", "exec(x)", "yaml.load(f)", "t.extractall()", "run(c, shell=True)",
     "np.load(f, allow_pickle=True)"],
)  # fmt: skip
def test_the_rule_can_fail(line):
    assert offences(line)


PRINTING = {f"cli/{name}.py" for name in ("output", "__init__")}
PRINTING |= {f"reports/{name}.py" for name in ("tables", "listing", "comparison_text", "things", "watching")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_text_reaches_a_terminal_only_where_it_is_made_harmless(path):
    """Elsewhere `say`, `warn` and the tables are called."""
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    prints = [name for name in map(ast.unparse, calls) if name.split(".")[-1] in ("print", "echo")]
    assert not prints or "/".join(path.parts[-2:]) in PRINTING


def public_names(source: str) -> list[str]:
    """Classes and names of types that a module defines."""
    found = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in found if name[0].isupper() and name != name.upper()]


def test_two_things_never_have_one_name():
    places: dict[str, list[str]] = {}
    for path in FILES:
        for name in public_names(path.read_text()):
            places.setdefault(name, []).append("/".join(path.parts[-2:]))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
    assert len(places) > 100


def test_the_rule_about_names_finds_classes_and_types():
    source = "class Curve: ...\nLine = list[float]\nGrid: type = int\n_Own = 3\nMOST = 4\ndef f(): ...\n"
    assert public_names(source) == ["Curve", "Line", "Grid"]


def test_the_store_deletes_by_one_word():
    store = ast.parse((Path(engram.__file__).parent / "store.py").read_text())
    names = {node.name for node in ast.walk(store) if isinstance(node, ast.FunctionDef)}
    words = ("forget", "drop", "prune", "clean", "remove", "discard", "tidy")
    assert not [name for name in names if name.lstrip("_").split("_")[0] in words]
    assert {"delete_runs", "delete_partial", "delete_checkpoints"} <= names


def lines_of_functions(source: str) -> dict[str, int]:
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}


def test_files_and_functions_stay_small():
    """Whoever breaks this finds what can be said shorter, or what is two things."""
    lines = {path: len(path.read_text().splitlines()) for path in FILES}
    assert {path.name: count for path, count in lines.items() if count > 350} == {}
    assert statistics.median(lines.values()) < 100
    functions = {(path.name, name): n for path in FILES for name, n in lines_of_functions(path.read_text()).items()}
    assert len([name for name, count in functions.items() if count > 40]) <= 5
    assert lines_of_functions("def f():\n    x = 1\n    return x\n") == {"f": 3}
