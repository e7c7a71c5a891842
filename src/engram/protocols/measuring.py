"""What a run measures on its way, beside what its protocol needs: learning curves, and after which tasks which ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from engram.errors import BadSetting


@dataclass(frozen=True)
class Measuring:
    """`curve`: the steps of each task after which it is measured. `evaluate`: all (every task seen after every task),
    diagonal (the task just learned), last (nothing) or every N (everything after every N-th task); after the last task
    of a stream always everything."""

    curve: tuple[int, ...] = ()
    evaluate: str = "all"

    def after(self, task: int, tasks: int) -> dict[str, Any]:
        """What the node has measured that learns this one of so many tasks, as `Node.child` takes it.

        >>> [Measuring(evaluate="every 2").after(task, 5)["evaluate"] for task in range(5)]
        ['none', 'all', 'none', 'all', 'all']
        """
        return {"curve": self.curve, "evaluate": "all" if task == tasks - 1 else self._evaluated(task)}

    def _evaluated(self, task: int) -> str:
        if self.evaluate.startswith("every "):
            return "none" if (task + 1) % int(self.evaluate[6:]) else "all"
        return {"all": "all", "diagonal": "current", "last": "none"}[self.evaluate]


PLAIN = Measuring()


def read_evaluate(text: Any) -> str:
    """The option as a record has it, `BadSetting` where it means nothing.

    >>> read_evaluate("every  010"), read_evaluate("every 1")
    ('every 10', 'all')
    """
    found = re.fullmatch(r"(all|diagonal|last)|every\s+0*([1-9][0-9]{0,8})", str(text).strip())
    if found is None:
        raise BadSetting(f"evaluate={text!r} is none of all, diagonal, last and every N; write it as in 'every 10'")
    return found[1] or ("all" if found[2] == "1" else f"every {found[2]}")
