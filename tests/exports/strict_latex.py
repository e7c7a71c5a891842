"""A reader of LaTeX tables that takes nothing but what is right: where no TeX is installed it is the judge."""

from __future__ import annotations

import re
import unicodedata

SPECIALS = set("&%$#_{}~^\\")
COMMANDS = {
    "toprule", "midrule", "bottomrule", "multicolumn", "footnotesize", "linewidth", "textbackslash", "textasciitilde",
    "textasciicircum", "textless", "textgreater", "textbar", "textendash", "pm", "times", "cup", "Delta", "Omega",
    "dots", "textbf",
}  # fmt: skip
RULES = re.compile(r"\\(toprule|midrule|bottomrule)\s*")
TOKEN = re.compile(r"\\([A-Za-z]+)(\{\})?|\\([&%$#_{}])|(.)", re.S)


def read(text: str) -> list[list[str]]:
    """The cells of every row, as they stand; an error for whatever TeX would stumble over."""
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert (begin := re.fullmatch(r"\\begin\{tabular\}\{([lrc]+)\}", lines[0])), lines[0]
    assert lines[-1] == r"\end{tabular}"
    body = RULES.sub("", "\n".join(lines[1:-1]))
    *rows, rest = re.split(r"(?<!\\)\\\\(?:\n|$)", body)
    assert not rest.strip(), f"behind the last row: {rest!r}"
    for row in rows:
        assert not row.lstrip().startswith(("[", "*")), f"it would belong to the row's end before it: {row}"
    cells = [re.split(r"(?<!\\)&", row) for row in rows]
    for row in cells:
        assert sum(map(_span, row)) == len(begin[1]), row
        for cell in row:
            _check(cell)
    return [[cell.strip() for cell in row] for row in cells]


def _span(cell: str) -> int:
    found = re.match(r"\s*\\multicolumn\{(\d+)\}", cell)
    return int(found[1]) if found else 1


def _check(cell: str) -> None:
    """Braces and dollars are balanced, commands are known, and no special sign stands alone."""
    depth, in_math = 0, False
    for command, _, _, sign in TOKEN.findall(cell):
        assert not command or command in COMMANDS, f"\\{command} in {cell!r}"
        if sign in ("{", "}"):
            depth += 1 if sign == "{" else -1
            assert depth >= 0, cell
        elif sign == "$":
            in_math = not in_math
        else:
            assert sign not in SPECIALS, f"{sign!r} alone in {cell!r}"
            assert in_math or sign not in {"<", ">", "|"}, f"{sign!r} outside of math in {cell!r}"
            assert not sign or sign == "\n" or unicodedata.category(sign) != "Cc", f"{sign!r} in {cell!r}"
    assert depth == 0, cell
    assert not in_math, cell


def shown(cell: str) -> str:
    """What a reader sees of a cell that is plain text."""
    words = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<", "textgreater": ">"}
    words |= {"textbar": "|", "dots": "…"}
    cell = re.sub(r"\{([][*\"])\}", r"\1", cell.replace("-{}", "-"))
    return re.sub(r"\\([A-Za-z]+)\{\}|\\(.)", lambda found: words[found[1]] if found[1] else found[2], cell)
