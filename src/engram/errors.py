"""One small class per kind of mistake. Each message says what was wrong, with what value, and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EngramError(Exception):
    """Anything Engram says on purpose. The command line prints it in one line and leaves with `exit_code`."""

    exit_code = 2


def of_kind(kind: str | None, text: str) -> EngramError:
    """The error that was written down as this kind and this text; `Diverged` where no kind was kept."""
    kinds, known = [EngramError], {}
    for cls in kinds:
        known[cls.__name__] = cls
        kinds += cls.__subclasses__()
    cls = Diverged if kind is None else known.get(kind, EngramError)
    return cls.__new__(cls, text)  # some kinds make their text themselves


class UnknownName(EngramError):
    """A name that is in no registry; perhaps it is known what was `meant`."""

    def __init__(self, kind: str, name: str, known: Iterable[str], meant: str | None = None):
        known = sorted(known)
        close = [meant] if meant else difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
        hint = f"did you mean '{close[0]}'?" if close else f"choose one of: {', '.join(known)}"
        super().__init__(f"there is no {kind} '{name}'; {hint}")


class BadSetting(EngramError):
    """A setting with a value that it cannot take."""


class BadData(EngramError):
    """Samples, labels or files that no learner can be trained on."""


class BadInput(BadData, ValueError):
    """Rows or labels that a classifier cannot take: a `ValueError` too, as scikit-learn has it."""


class TooLarge(EngramError):
    """What would take more memory than there is. Another machine may have it, so it is never stored as a failure."""


class BadRecord(EngramError):
    """Numbers from which a metric cannot be computed."""


class BadState(EngramError):
    """A learner's state that would not come back from a file as it was."""


class NeedsTask(EngramError):
    """A learner with a part of its own for every task was asked to predict without being told the task."""


class DataUnavailable(EngramError):
    """A dataset whose bytes are not here and cannot be fetched."""


class MissingPackage(EngramError):
    """An optional package that is not installed."""


class DamagedFile(EngramError):
    """A file whose content is not what its digest says."""

    exit_code = 1


class DamagedModel(DamagedFile):
    """A model that cannot be used, though somebody asked for it."""

    exit_code = 2


class StoreTrouble(EngramError):
    """The store cannot be read or written: no permission, damaged, locked, written by a newer version."""


class DiskFull(StoreTrouble):
    """There was no room for something that was to be saved."""

    exit_code = 1


class ModelInUse(EngramError):
    """A model's file that another process is updating, has changed meanwhile, or that would be overwritten."""


class ClusterTrouble(EngramError):
    """A cluster that does not answer, or whose machines are not like this one."""


class Diverged(EngramError):
    """Training produced a loss that is not a number."""

    exit_code = 1


class Elsewhere(Exception):
    """Another process is growing the node."""


class Stopped(Exception):
    """Somebody asked to stop (Ctrl-C, SIGTERM); everything worth keeping has been saved. The command line adds what
    goes on with it."""
