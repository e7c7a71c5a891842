r"""A table as LaTeX: booktabs rules, numbers in math, everything else text in which nothing is a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engram.reports.cells import full
from engram.reports.content import Table
from engram.reports.harmless import harmless

_NUMBER = re.compile(r"([+-]?\d[\d.]*(?:e[+-]?\d+)?)(?: ± (\d[\d.]*))?")
_ESCAPES = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in '[]*"'},  # behind a row's end the first three would belong to it
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$", "×": r"$\times$", "∪": r"$\cup$", "Δ": r"$\Delta$",
    "Ω": r"$\Omega$", "–": r"\textendash{}", "…": r"\dots{}",
}  # fmt: skip


def latex(table: Table, notes: Sequence[str] = ()) -> str:
    """A table of content; what its rows share is a remark above it."""
    header, *rows = full(table)
    names = len(table.names)
    cells = [[*map(escaped, row[:names]), *map(number, row[names:])] for row in rows]
    return tabular(list(map(escaped, header)), cells, names, table.title, notes)


def tabular(header: Sequence[str], rows: Iterable[Sequence[str]], names: int, title: str, notes: Sequence[str]) -> str:
    """A `tabular` for a document that has the package booktabs, of cells that are LaTeX already: so many names at the
    left, then numbers."""
    wide = f"\\multicolumn{{{len(header)}}}{{p{{0.9\\linewidth}}}}"
    lines = [
        "% needs \\usepackage{booktabs}",
        *([f"% {harmless(title)}"] if title else []),
        f"\\begin{{tabular}}{{{'l' * names}{'r' * (len(header) - names)}}}",
        "\\toprule",
        _line(header),
        "\\midrule",
        *map(_line, rows),
        "\\bottomrule",
        *(f"{wide}{{\\footnotesize {escaped(note)}}} \\\\" for note in notes),
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def number(text: str) -> str:
    r"""A number with its deviation, if it is one.

    >>> print(number("-0.002 ± 0.004"), number("failed"))
    $-0.002 \pm 0.004$ failed
    """
    found = _NUMBER.fullmatch(text)
    if not found:
        return escaped(text)
    return f"${found[1]} \\pm {found[2]}$" if found[2] else f"${found[1]}$"


def p_value(p: float) -> str:
    """No probability is 0.

    >>> p_value(0.0004), p_value(0.0314)
    ('$<0.001$', '$0.031$')
    """
    return "$<0.001$" if p < 0.001 else f"${p:.3f}$"


def escaped(text: str) -> str:
    r"""A text of which LaTeX shows every character.

    >>> print(escaped("geppnet+stm_50% {x}"))
    geppnet+stm\_50\% \{x\}
    """
    return re.sub("-(?=-)", "-{}", "".join(_ESCAPES.get(sign, sign) for sign in harmless(text)))
