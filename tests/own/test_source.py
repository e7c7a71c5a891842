"""Whatever code imports from beside it is in its digest: an edit of it never returns yesterday's result."""

from __future__ import annotations

import pytest

from engram.own.source import digest_of

CASES = {
    "a name of the package": ({"pkg/__init__.py": "K = 1", "pkg/mas.py": "from . import K"}, "pkg/__init__.py"),
    "one of the package above": (
        {"pkg/__init__.py": "K = 1", "pkg/sub/__init__.py": "", "pkg/sub/mas.py": "from .. import K"},
        "pkg/__init__.py",
    ),
    "a module, whose package runs": (
        {"mas.py": "import pkg.helper", "pkg/__init__.py": "K = 1", "pkg/helper.py": ""},
        "pkg/__init__.py",
    ),
    "a file of a folder that is a package by name alone": (
        {"ns/mas.py": "from ns.helper import K", "ns/helper.py": "K = 1"},
        "ns/helper.py",
    ),
    "a file of another one": (
        {"ns/mas.py": "from helpers.tools import K", "helpers/tools.py": "K = 1"},
        "helpers/tools.py",
    ),
    "what that one imports from it": (
        {"ns/mas.py": "import helpers.tools", "helpers/tools.py": "import ns.deep", "ns/deep.py": "K = 1"},
        "ns/deep.py",
    ),
}


@pytest.mark.parametrize("files, edited", CASES.values(), ids=CASES)
def test_an_edit_of_what_is_imported_is_seen(tmp_path, files, edited):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    file = next(path for path in tmp_path.rglob("mas.py"))
    module = ".".join(file.relative_to(tmp_path).with_suffix("").parts)
    before = digest_of(file, module)
    assert before == digest_of(file, module)
    (tmp_path / edited).write_text("K = 2")
    assert digest_of(file, module) != before
