"""What the documents name is there: a file that was renamed is renamed in them too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/design.md",
    "docs/metrics.md",
    "docs/papers.md",
    "docs/reliability.md",
)
DOCUMENTS += tuple(f"docs/add/{page}.md" for page in ("method", "network", "stream", "dataset"))
FOLDERS = (ROOT, ROOT / "src" / "engram", *(path for path in (ROOT / "src" / "engram").iterdir() if path.is_dir()))
TESTS = tuple(path for path in (ROOT / "tests", *(ROOT / "tests").iterdir()) if path.is_dir())
USERS = {"mine.py"}  # what stands for a file of the reader's own


def named(document: str) -> set[str]:
    """Files and folders between backticks, and what links lead to."""
    text = (ROOT / document).read_text(encoding="utf-8")
    quoted = re.findall(r"`([\w./-]+(?:\.(?:py|md|toml)|/))`", text)
    links = [str(Path(document).parent / link) for link in re.findall(r"\]\(([\w./-]+)\)", text)]
    return {*quoted, *links} - USERS


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_is_named_exists(document):
    found = named(document)
    assert found
    assert [name for name in found if not any((folder / name).exists() for folder in (*FOLDERS, *TESTS))] == []
