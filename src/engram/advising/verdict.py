"""Which candidate: chosen by the past, judged by the next session, and set beside floors. No model is needed here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from engram.advising.candidates import RETRAINED, Budget, Tryout
from engram.advising.trials import Trial
from engram.statistics import DIFFERENT, Difference, differences


@dataclass(frozen=True)
class Evidence:
    """All trials of a candidate."""

    candidate: Tryout
    trials: tuple[Trial, ...]

    @property
    def label(self) -> str:
        return self.candidate.label

    def past(self, session: int) -> float:
        """What a choice after a session (from 0) looks at: accuracy on validation rows of all sessions up to it."""
        return fmean(fmean(trial.validation[session]) for trial in self.trials)

    def judged(self, session: int) -> dict[int, float]:
        """By seed: accuracy on the test rows of all sessions up to this one, after it."""
        return {trial.seed: fmean(trial.test[session]) for trial in self.trials}

    def score(self, session: int) -> float:
        return fmean(self.judged(session).values())

    def kept(self, session: int) -> int:
        """The most bytes that it kept in the sessions up to this one."""
        return max(max(trial.bytes[: session + 1]) for trial in self.trials)

    @property
    def bytes(self) -> int:
        """The most that it kept."""
        return max(max(trial.bytes) for trial in self.trials)

    @property
    def seconds(self) -> float:
        """Of learning a session."""
        return fmean(fmean(trial.seconds) for trial in self.trials)

    @property
    def latency(self) -> float:
        return fmean(trial.latency for trial in self.trials)


class PastChoice(NamedTuple):
    """What a choice by the sessions before one (from 0) came to when that one arrived, and the best of what it could
    have been."""

    session: int
    chosen: str
    score: float
    best: str
    best_score: float


@dataclass(frozen=True)
class Advice:
    """What was tried on a user's own sessions, and what follows from it."""

    evidence: tuple[Evidence, ...]
    sessions: tuple[str, ...]
    budget: Budget = field(default_factory=Budget)

    @property
    def last(self) -> int:
        return len(self.sessions) - 1

    def contestants(self, session: int) -> list[Evidence]:
        """Those that could be recommended after a session, by what they kept until then. How long an answer takes was
        measured in the end alone."""
        return [each for each in self.evidence if not each.candidate.floor and not self._too_much(each, session)]

    @property
    def floors(self) -> list[Evidence]:
        return [each for each in self.evidence if each.candidate.floor]

    def too_much(self, each: Evidence) -> str:
        """What of the budget it does not keep to."""
        return self._too_much(each, self.last)

    def _too_much(self, each: Evidence, session: int) -> str:
        if self.budget.memory is not None and each.kept(session) > self.budget.memory:
            return "too much memory"
        if self.budget.latency is not None and each.latency > self.budget.latency:
            return "too slow"
        return ""

    def _chosen(self, session: int) -> Evidence | None:
        """By validation rows of the sessions up to this one; of equals the smallest. None where nothing fits."""
        found = self.contestants(session)
        return max(found, key=lambda each: (each.past(session), -each.kept(session))) if found else None

    @cached_property
    def recommended(self) -> Evidence | None:
        """None where nothing fits the budget."""
        return self._chosen(self.last)

    @cached_property
    def past_choices(self) -> list[PastChoice]:
        """The choice that each past would have made, and how it did when the next session came."""
        found = [self._past_choice(session) for session in range(1, len(self.sessions))]
        return [each for each in found if each is not None]

    def _past_choice(self, session: int) -> PastChoice | None:
        chosen = self._chosen(session - 1)
        if chosen is None:
            return None
        best = max(self.contestants(session - 1), key=lambda each: each.score(session))
        return PastChoice(session, chosen.label, chosen.score(session), best.label, best.score(session))

    @cached_property
    def differences(self) -> list[Difference]:
        """What is recommended minus every other, in the end, corrected over all these pairs."""
        if self.recommended is None:
            return []
        rows = {each.label: each.judged(self.last) for each in self.evidence}
        return differences(rows, [(self.recommended.label, label) for label in rows if label != self.recommended.label])

    @property
    def verdicts(self) -> list[str]:
        """Sentences about the floors."""
        if self.recommended is None:
            return ["nothing that was tried fits the budget; give it more room, or more time"]
        beside = {each.second: each for each in self.differences}
        return [_against(floor, beside[floor.label], self.recommended.bytes) for floor in self.floors]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "sessions": list(self.sessions),
            "recommended": None if self.recommended is None else dict(self.recommended.candidate.parameters),
            "verdicts": self.verdicts,
            "past_choices": [each._asdict() for each in self.past_choices],
            "candidates": [self._plain(each) for each in self.evidence],
        }

    def _plain(self, each: Evidence) -> Mapping[str, Any]:
        gap = next((d for d in self.differences if d.second == each.label), None)
        return {
            "label": each.label,
            "floor": each.candidate.floor or None,
            "parameters": dict(each.candidate.parameters),
            "validation": each.past(self.last),
            "accuracy": each.score(self.last),
            "by_seed": each.judged(self.last),
            "bytes": each.bytes,
            "session_seconds": each.seconds,
            "row_seconds": each.latency,
            "over_budget": self.too_much(each) or None,
            "recommended_minus_this": None if gap is None else gap.mean,
            "p": None if gap is None or math.isnan(gap.corrected) else gap.corrected,
        }


def _against(floor: Evidence, difference: Difference, size: int) -> str:
    """What is known of the recommended one, which takes so many bytes, beside a floor."""
    words = f"{floor.label}, which {floor.candidate.floor}"
    if difference.verdict == DIFFERENT and difference.mean > 0:
        return f"better than {words} ({difference.mean:+.3f})"
    told = "worse" if difference.verdict == DIFFERENT else difference.verdict
    beside = "retraining" if floor.candidate is RETRAINED else "this floor"
    share = f"; it takes {size / floor.bytes:.2g} of its memory" if floor.candidate is RETRAINED else ""
    return f"no method was shown to be better than {beside} here: {words} ({difference.mean:+.3f}, {told}){share}"
