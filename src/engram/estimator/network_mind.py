"""A mind that is any of the library's learners: a session is a lesson."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engram.core import Learner, Lesson, Outline, Split, State
from engram.errors import BadSetting
from engram.estimator.choosing import no_use_of
from engram.estimator.fixed_point import NumpyArray
from engram.estimator.mind import Mind
from engram.learner_file import packed, unpacked
from engram.learners import LEARNERS, learner_settings, look_ahead
from engram.networks import NETWORKS, Blueprint
from engram.settings import declared, resolve

AT_ONCE = 1024  # rows that are asked about at a time
FEW = 64  # rows are asked about one by one: in a batch the last bits of a row's scores depend on its place
TENTH = 10  # of each class's rows one in so many is held out, for learners that look at some
STEPS, MOST_EPOCHS = 400, 40  # of the first session, where nobody says how long to train


class NetworkMind(Mind):
    """A learner, and the number by which it knows each class: that of its first appearance."""

    def __init__(self, learner: Learner, known: NumpyArray, sessions: int):
        self.learner, self.settings = learner.name, learner.made_with[1]
        self._learner, self._known, self._sessions = learner, known, sessions

    @staticmethod
    def fresh(
        learner: str, settings: Mapping[str, Any], x: NumpyArray, network: str | None, seed: int, room: int | None
    ) -> NetworkMind:
        """Before it learns these rows, with so many bytes to keep some of them."""
        name = NETWORKS.name_of(network or "mlp")
        own, of_network = learner_settings(learner), declared(NETWORKS[name])
        resolve(f"learner '{learner}' or network '{name}'", {**own, **of_network}, settings)
        blueprint = Blueprint.of(name, **{key: value for key, value in settings.items() if key not in own})
        values = resolve(f"learner '{learner}'", own, {key: v for key, v in settings.items() if key in own})
        if "epochs" in own and not {"epochs", "iterations"} & set(settings):
            values["epochs"] = min(max(round(STEPS * values["batch"] / len(x)), 1), MOST_EPOCHS)
        if room is not None:
            values["exemplar_budget"] = _rows_in(room, x, learner, own, settings)
        outline = Outline(tuple(x.shape[1:]), ())
        look_ahead(learner, outline, blueprint, [values])
        made = LEARNERS[learner](outline, seed, blueprint, **values)
        if made.needs_task:
            raise BadSetting(
                f"learner '{learner}' must be told the task of every row that it answers, which nobody knows here; "
                "use one that needs no task, such as 'ridge', 'slda', 'icarl' or 'finetune' with exemplars"
            )
        return NetworkMind(made, np.array([], dtype=np.int64), 0)

    def learned(self, x: NumpyArray, y: NumpyArray, places: NumpyArray) -> NetworkMind:
        new = np.arange(len(self._known), len(self._known) + int((places < 0).sum()))
        known = np.zeros(len(places), dtype=np.int64)
        known[places < 0] = new
        known[places >= 0] = self._known[places[places >= 0]]
        learner = _copied(self._learner)
        for _ in learner.learn(self._lesson(learner, torch.from_numpy(x), torch.from_numpy(known[y]))):
            pass
        return NetworkMind(learner, known, self._sessions + 1)

    def _lesson(self, learner: Learner, x: Tensor, y: Tensor) -> Lesson:
        held = torch.zeros(len(y), dtype=torch.bool)
        settings = learner.made_with[1]
        for label in y.unique() if type(learner).uses_validation(settings) else ():
            held[(y == label).nonzero().squeeze(1)[1::TENTH]] = True
        whole = Split(x, y)
        train, validation = (whole.take(rows.nonzero().squeeze(1)) for rows in (~held, held))
        classes = tuple(int(label) for label in y.unique())
        return Lesson(f"session {self._sessions + 1}", self._sessions, classes, train, validation)

    def probabilities(self, x: NumpyArray) -> NumpyArray:
        parts = torch.from_numpy(x).split(1 if len(x) <= FEW else AT_ONCE)
        return torch.softmax(torch.cat([self.scores(part) for part in parts]).double(), 1).numpy()

    def scores(self, x: Tensor) -> Tensor:
        """A column for each class."""
        place = {label: column for column, label in enumerate(self._learner.columns())}
        return self._learner.predict(x)[:, [place[int(label)] for label in self._known]]

    def tensors(self) -> dict[str, NumpyArray]:
        return {name: value.detach().cpu().numpy() for name, value in packed(self._learner).tensors.items()}

    def plain(self) -> dict[str, Any]:
        return {"known": self._known.tolist(), "sessions": self._sessions, "packed": packed(self._learner).plain}

    @staticmethod
    def load(tensors: dict[str, NumpyArray], plain: Mapping[str, Any], path: Path) -> NetworkMind:
        state = State({name: torch.from_numpy(value) for name, value in tensors.items()}, plain["packed"])
        return NetworkMind(unpacked(state, path), np.array(plain["known"], dtype=np.int64), plain["sessions"])


def _rows_in(room: int, x: NumpyArray, learner: str, own: Collection[str], settings: Mapping[str, Any]) -> int:
    """How many rows can be kept; none would mean that nothing was said about it."""
    if "exemplar_budget" not in own:
        raise no_use_of(room, learner)
    for name in {"exemplars", "exemplar_budget"} & set(settings):
        raise BadSetting(f"memory={room} and {name}={settings[name]} both say how many rows are kept; give one of them")
    if room < x[0].nbytes:
        raise BadSetting(f"memory={room} has no room for one row, which takes {x[0].nbytes} bytes; give more")
    return int(room // x[0].nbytes)


def _copied(learner: Learner) -> Learner:
    """Another one that goes on as it would."""
    state = packed(learner)
    return unpacked(State({name: value.clone() for name, value in state.tensors.items()}, state.plain), Path("a copy"))
