"""What a record says: pure functions of accuracies, as nested lists or arrays.

`a` is the accuracy matrix: row k holds the accuracy on tasks 1 … k after task k was learned. A square matrix will do;
what lies above its diagonal is read by `forward_transfer` only. Accuracies are fractions from 0 to 1.

What is undefined is `nan`, never 0: the forgetting of a single task, a share of an ideal of 0, or anything that
depends on an accuracy that is `nan`. Names that mean different things in different papers carry the paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from engram.errors import BadRecord
from engram.metrics import given

Line = Iterable[float]
Matrix = Iterable[Iterable[float]]

METRICS: dict[str, str] = {
    "average_accuracy": "mean accuracy over all tasks at the end; high is good",
    "first_task_accuracy": "accuracy on the first task at the end; high is good",
    "mean_class_accuracy": "mean over classes of the accuracy on each at the end; high is good",
    "union_accuracy": "accuracy on the test samples of all tasks together at the end; high is good",
    "forgetting_rwalk": "best accuracy of the past minus accuracy now; positive is bad",
    "forgetting_ctrl": "accuracy now minus accuracy when just learned; negative is bad",
    "backward_transfer": "as forgetting_ctrl, averaged over all tasks including the last; negative is bad",
    "intransigence": "accuracy of joint training minus accuracy when just learned, last task; positive is bad",
    "transfer": "accuracy on the last task minus that of a learner of this task alone; positive is good",
    "lca": "area under the learning curve over the first mini-batches of every task; high is good",
    "omega_base": "accuracy on the first session as a share of the offline model's on it; 1 is as good as offline",
    "omega_new": "accuracy on the session just learned; high is good",
    "omega_new_share": "omega_new as a share of what the offline model reaches on the first session",
    "omega_all": "accuracy on everything seen as a share of what the offline model reaches on the first session",
    "omega_base_fair": "as omega_base, the offline model being one of everything seen so far",
    "omega_all_fair": "as omega_all, the offline model being one of everything seen so far",
    "omega_all_fair_lowest": "omega_all_fair of its lowest session; from 1 on no session is worse than offline",
}


SHOWN_AS = {"accuracy": "average_accuracy", "forgetting": "forgetting_rwalk"}  # what tables call them
LOWER_IS_BETTER = frozenset(name for name, text in METRICS.items() if text.endswith("positive is bad"))


def average_accuracy(a: Matrix) -> float:
    """A_T, the mean accuracy over all tasks after the last one (Chaudhry et al. 2018; Veniat et al. 2021, eq. 1).

    >>> round(average_accuracy([[0.7], [0.8, 0.85], [0.6, 0.7, 0.95]]), 6)
    0.75
    """
    rows = given.triangle(a)
    return _mean(rows[-1]) if rows else math.nan


def first_task_accuracy(a: Matrix) -> float:
    """Accuracy on the first task after the last one.

    >>> first_task_accuracy([[0.7], [0.8, 0.85], [0.6, 0.7, 0.95]])
    0.6
    """
    rows = given.triangle(a)
    return rows[-1][0] if rows else math.nan


def union_accuracy(accuracies: Line, samples: Line) -> float:
    """Accuracy on the test samples of several tasks together: that on each task, weighted by its number of samples.

    >>> round(union_accuracy([0.9, 0.1], [9000, 1000]), 6)
    0.82
    """
    line = given.line(accuracies, "the accuracies")
    counts = [given.finite(n) for n in given.items(samples, "the samples")]
    if len(line) != len(counts):
        raise BadRecord(f"{len(line)} accuracies came with {len(counts)} numbers of samples; give one for each")
    total = math.fsum(counts)
    return math.fsum(value * count for value, count in zip(line, counts, strict=True)) / total if total else math.nan


def mean_class_accuracy(accuracies: Line) -> float:
    """Mean over classes of the accuracy on each: rare classes count as much as common ones. A class without test
    samples has none, and is not among them.

    >>> round(mean_class_accuracy([0.9, 0.1]), 6)
    0.5
    """
    return _mean(given.line(accuracies, "the accuracies by class"))


def forgetting_rwalk(a: Matrix) -> float:
    """F_T of RWalk (Chaudhry et al. 2018, eq. 3): best accuracy since the task was learned and before the last task,
    minus accuracy now; mean over all tasks but the last. Positive is bad.

    >>> round(forgetting_rwalk([[0.7], [0.8, 0.85], [0.6, 0.7, 0.95]]), 6)
    0.175
    """
    rows = given.triangle(a)
    last = len(rows) - 1
    return _mean([_max([rows[k][j] for k in range(j, last)]) - rows[last][j] for j in range(last)])


def forgetting_ctrl(a: Matrix) -> float:
    """F(S) of CTrL (Veniat et al. 2021, eq. 2): accuracy now minus accuracy when just learned; mean over all tasks
    but the last. Negative is bad. It is also the backward transfer that the GEM paper defines.

    >>> round(forgetting_ctrl([[0.7], [0.8, 0.85], [0.6, 0.7, 0.95]]), 6)
    -0.125
    """
    return _mean(_changes(given.triangle(a))[:-1])


def backward_transfer(a: Matrix) -> float:
    """BWT as the code of GEM computes it (Lopez-Paz & Ranzato 2017, eq. 3, whose mean leaves the last task out):
    accuracy now minus accuracy when just learned; mean over all tasks, the last adding 0. Negative is bad.

    >>> round(backward_transfer([[0.7], [0.8, 0.85], [0.6, 0.7, 0.95]]), 6)
    -0.083333
    """
    changes = _changes(given.triangle(a))
    return _mean(changes) if len(changes) > 1 else math.nan


def forward_transfer(a: Matrix, baseline: float | Line) -> float:
    """FWT (Lopez-Paz & Ranzato 2017, eq. 4): accuracy on a task just before it is learned minus that of an untrained
    network; mean over tasks 2 … T. Positive is good. A triangular `a` does not hold these values: `nan`.

    >>> round(forward_transfer([[0.7, 0.3], [0.8, 0.85]], [0.1, 0.1]), 6)
    0.2
    """
    rows = given.rows(a)
    given.triangle(rows)
    untrained = given.each(baseline, len(rows), "the baseline")
    early = [_ahead(rows, k) for k in range(1, len(rows))]
    return _mean([before - chance for before, chance in zip(early, untrained[1:], strict=True)])


def intransigence(a: Matrix, reference: float | Line) -> float:
    """I_k of RWalk (Chaudhry et al. 2018, eq. 4) for the last task k: accuracy of a learner trained on tasks 1 … k at
    once, minus accuracy when just learned. Positive is bad. `reference` is that accuracy, or a list of all T of them.

    >>> round(intransigence([[0.7], [0.8, 0.85], [0.6, 0.7, 0.95]], 0.97), 6)
    0.02
    """
    rows = given.triangle(a)
    joint = given.each(reference, len(rows), "the reference of intransigence")
    return joint[-1] - rows[-1][len(rows) - 1] if rows else math.nan


def transfer(a: Matrix, isolated: float | Line) -> float:
    """T(S) of CTrL (Veniat et al. 2021, eq. 3): accuracy on the last task minus that of a learner that saw only this
    task. Positive is good. Of a list of isolated accuracies the last one counts.

    >>> round(transfer([[0.7], [0.8, 0.85], [0.6, 0.7, 0.95]], 0.9), 6)
    0.05
    """
    rows = given.triangle(a)
    alone = given.each(isolated, None, "the isolated accuracies")
    return rows[-1][len(rows) - 1] - alone[-1] if rows and alone else math.nan


def lca(curves: Matrix, beta: int) -> float:
    """LCA@beta (Veniat et al. 2021, appendix E.1): mean accuracy over 0 … beta mini-batches of a task, mean over tasks.

    Each curve holds the accuracy on its task after 0, 1, 2 … mini-batches; one that stops early keeps its last value.

    >>> round(lca([[0.1, 0.3, 0.5]], beta=2), 6)
    0.3
    """
    if isinstance(beta, bool) or not isinstance(beta, int) or beta < 0:
        raise BadRecord(f"beta={beta!r} is not a number of mini-batches; give a whole number of at least 0")
    lines = [given.line(curve, f"curve {t}") for t, curve in enumerate(given.items(curves, "the curves"), 1)]
    return _mean(
        [_mean([line[min(b, len(line) - 1)] for b in range(beta + 1)]) if line else math.nan for line in lines]
    )


def omega_base(base: Line, ideal: float | Line) -> float:
    """Omega_base (Kemker et al. 2018, eq. 2): accuracy on the first session after sessions 2 … T, as a share of the
    offline learner's; 1 is as good as offline, and more is possible.

    >>> round(omega_base([0.8, 0.6, 0.4], 0.9), 6)
    0.666667
    """
    return _share(base, ideal, "the base accuracies")


def omega_new(new: Line, ideal: float | Line | None = None) -> float:
    """Omega_new (Kemker et al. 2018, eq. 3): accuracy on session i right after learning it, i = 2 … T. As written it is
    not normalised; with `ideal` it is, as in the paper's data permutation results.

    >>> round(omega_new([0.9, 0.85, 0.8]), 6)
    0.85
    """
    return _share(new, 1.0 if ideal is None else ideal, "the new accuracies")


def omega_all(all: Line, ideal: float | Line) -> float:
    """Omega_all (Kemker et al. 2018, eq. 4): accuracy on everything seen after sessions 2 … T, as a share of the
    offline learner's. For several modalities see `omega_modalities`.

    >>> round(omega_all([0.85, 0.7, 0.6], 0.9), 6)
    0.796296
    """
    return _share(all, ideal, "the accuracies on everything")


def omega_modalities(accuracies: Matrix, ideals: Matrix) -> float:
    """Omega_all of several modalities, as the multi-modal results of Kemker et al. 2018 have it: after sessions 2 … T
    the mean over the modalities seen of accuracy as a share of that one's own ideal; mean over sessions.

    >>> round(omega_modalities([[0.3, 0.4]], [[0.6, 0.5]]), 6)
    0.65
    """
    return _mean(_shares(accuracies, ideals))


def omega_lowest(accuracies: Matrix, ideals: Matrix) -> float:
    """Of the sessions whose mean is `omega_modalities` the lowest value.

    >>> round(omega_lowest([[0.3], [0.6]], [[0.5], [0.5]]), 6)
    0.6
    """
    shares = _shares(accuracies, ideals)
    return -_max([-share for share in shares]) if shares else math.nan


def summary(
    rows: Matrix,
    *,
    per_class: Line | None = None,
    union: float | None = None,
    intransigence_reference: float | Line | None = None,
    isolated: float | Line | None = None,
    curves: Matrix | None = None,
    beta: int = 5,
) -> dict[str, float]:
    """Every metric that a record allows, by name. `per_class` are accuracies at the end, `union` is that on the test
    samples of all tasks together; `beta` is that of `lca`; 5 is what the CTrL paper reports.

    >>> list(summary([[0.7], [0.6, 0.9]], isolated=0.8))
    ['average_accuracy', 'first_task_accuracy', 'forgetting_rwalk', 'forgetting_ctrl', 'backward_transfer', 'transfer']
    """
    a = given.rows(rows)
    always = (average_accuracy, first_task_accuracy, forgetting_rwalk, forgetting_ctrl, backward_transfer)
    found = {f.__name__: f(a) for f in always}
    if per_class is not None:
        found["mean_class_accuracy"] = mean_class_accuracy(per_class)
    if union is not None:
        found["union_accuracy"] = given.accuracy(union, "the accuracy on the union")
    if intransigence_reference is not None:
        found["intransigence"] = intransigence(a, intransigence_reference)
    if isolated is not None:
        found["transfer"] = transfer(a, isolated)
    if curves is not None:
        found["lca"] = lca(curves, beta)
    return found


def spread(values: Line) -> dict[str, float]:
    """Mean, sample standard deviation (ddof 1) and number of values, such as one metric over several seeds. One `nan`
    makes both `nan`: a run without a result is not left out in silence.

    >>> spread([0.5, 1.0])
    {'mean': 0.75, 'std': 0.3535533905932738, 'n': 2}
    """
    numbers = [given.finite(value) for value in given.items(values, "the values")]
    mean = _mean(numbers)
    squares = math.fsum((value - mean) * (value - mean) for value in numbers)
    std = math.sqrt(squares / (len(numbers) - 1)) if len(numbers) > 1 else math.nan
    return {"mean": mean, "std": std, "n": len(numbers)}


def _changes(rows: list[list[float]]) -> list[float]:
    """Accuracy at the end minus accuracy when just learned, for every task."""
    return [rows[-1][t] - rows[t][t] for t in range(len(rows))]


def _ahead(rows: list[list[Any]], k: int) -> float:
    """The accuracy on task k + 1 after task k, if the matrix holds it."""
    row = rows[k - 1]
    return given.accuracy(row[k], f"row {k}") if len(row) > k else math.nan


def _share(values: Line, ideal: float | Line, what: str) -> float:
    """The mean of values / ideal."""
    line = given.line(values, what)
    ideals = given.each(ideal, len(line), "the ideal accuracies")
    return _mean([value / best if best else math.nan for value, best in zip(line, ideals, strict=True)])


def _shares(accuracies: Matrix, ideals: Matrix) -> list[float]:
    """For every session the mean of accuracy / ideal."""
    lines, bests = given.rows(accuracies), given.rows(ideals)
    if len(lines) != len(bests):
        raise BadRecord(f"{len(lines)} sessions came with the ideals of {len(bests)}; give a line of them for each")
    return [_share(line, best, "the accuracies on everything") for line, best in zip(lines, bests, strict=True)]


def _mean(values: list[float]) -> float:
    """Offsets from the first value are averaged, so that equal values have exactly this mean."""
    if not values:
        return math.nan
    return values[0] + math.fsum(value - values[0] for value in values) / len(values)


def _max(values: list[float]) -> float:
    """The largest; `max` would skip over a `nan` or keep it depending on the order."""
    return math.nan if any(map(math.isnan, values)) else max(values)
