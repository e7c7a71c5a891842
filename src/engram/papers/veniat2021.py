"""Veniat et al. 2021, Efficient Continual Learning with Modular Networks and Task-Driven Priors: CTrL and MNTDP.

A cell is a learner on a stream. Tables and figures are views of the same cells, trained once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from engram.errors import BadSetting
from engram.learners import learner_settings
from engram.papers.cross_table import Cell, by_cell
from engram.papers.paper import Answer, Experiment, Paper
from engram.papers.shown_table import ShownTable
from engram.papers.veniat2021_claims import claims_of, remarks
from engram.papers.veniat2021_figures import along, bars, left_out, path_table, paths, radar
from engram.papers.veniat2021_models import (
    ABLATION,
    AGAIN,
    ALEXNET,
    INDEPENDENT,
    MODELS,
    MODULAR,
    PARTS,
    STANDARD,
    STREAM_LEVEL,
    STREAMS,
    TIERS,
    TRANSFER,
    WIDE,
    Entrant,
    dataset_of,
    known,
    network_settings,
    plain,
)
from engram.papers.veniat2021_tables import (
    AVERAGE,
    DETAILS,
    FORGETTING,
    SPEED,
    TOTALS,
    UNRELATED,
    ablation_table,
    published,
    stream_table,
    total_table,
)
from engram.papers.veniat2021_tables import STANDARD as STANDARD_COLUMNS
from engram.papers.veniat2021_words import BEYOND, FALL, LONG, NORMALISED, about, caveats
from engram.reports.content import Column, Table, TableRow
from engram.streams import ctrl, ctrl_long
from engram.streams.drawn import ROLES, is_here

BATCHES = tuple(range(6))  # of LCA@5


class _Cells:
    """The rows of every experiment of a tier."""

    def __init__(self, tier: str):
        self.tier, self.scale = tier, TIERS[tier]

    def of(self, *streams: str) -> tuple[Cell, ...]:
        return tuple(
            self.cell(label, model, stream, instance)
            for stream in streams
            for instance in (self.scale.instances if stream == "S_long" else (1,))
            for label, model in self.models(stream).items()
        )

    def models(self, stream: str) -> dict[str, Entrant]:
        """The learners that a stream has here; where all have the AlexNet or none a choice of networks, once each."""
        found = {label: m for label, m in known(STREAMS[stream].family).items() if self.has(label, stream)}
        if not self.scale.alexnet and stream != "pMNIST":
            return found
        mark = ALEXNET if stream != "pMNIST" else ""
        named = {plain(label): (label.endswith(STREAM_LEVEL), model) for label, model in found.items()}
        return {name + mark + STREAM_LEVEL * level: model for name, (level, model) in named.items()}

    def has(self, label: str, stream: str) -> bool:
        """Small digits are too small for the AlexNet."""
        tiny = ALEXNET in label and STREAMS[stream].family in self.scale.data
        return label not in self.scale.without and (not tiny or stream == "pMNIST")

    def ablation(self) -> tuple[Cell, ...]:
        """MNTDP-D, and with one thing changed."""
        base = MODULAR + ALEXNET * self.scale.alexnet
        cut = {"10 modules"} if self.scale.alexnet else set()  # which has only six
        changed = {name: changes for name, changes in ABLATION.items() if name not in cut}
        variants = {base: {}, **{f"{base} {name}": changes for name, changes in changed.items()}}
        return tuple(
            self.cell(label, replace(MODELS[MODULAR], settings=changes), stream)
            for stream in AGAIN
            for label, changes in variants.items()
        )

    def parts(self) -> tuple[Cell, ...]:
        """MNTDP-D with one part of the wide search, and with all of them."""
        mark = ALEXNET * self.scale.alexnet
        variants = {MODULAR + mark: {}, **{f"{MODULAR}{mark} + {name}": changes for name, changes in PARTS.items()}}
        variants[WIDE + mark] = MODELS[WIDE].settings
        alone = {INDEPENDENT + mark: MODELS[INDEPENDENT]}
        found = alone | {name: replace(MODELS[MODULAR], settings=changes) for name, changes in variants.items()}
        return tuple(self.cell(name, model, stream) for stream in self.scale.shown for name, model in found.items())

    def cell(self, label: str, model: Entrant, stream: str, instance: int = 1) -> Cell:
        place = STREAMS[stream]
        table, variant = place.table, f"instance {instance}" if instance > 1 else ""
        beside = {m.column.metric: published(table, label, m, self.scale.alexnet) for m in (AVERAGE, FORGETTING, SPEED)}
        return Cell(
            " ".join(filter(None, (label, stream, variant))),
            {**self.stream(stream), **self.learner(label, model, stream, instance)},
            {metric: value for metric, value in beside.items() if value is not None},
            f"Veniat et al. 2021, Table {table.removeprefix('table')}",
            model=label,
            dataset=stream,
            variant=variant,
        )

    def stream(self, stream: str) -> dict[str, Any]:
        asked = {"stream": STREAMS[stream].stream, "dataset": dataset_of(stream, self.scale)}
        return {name: value for name, value in asked.items() if value is not None} | {"curve": BATCHES}

    def learner(self, label: str, model: Entrant, stream: str, instance: int) -> dict[str, Any]:
        whole = label.endswith(STREAM_LEVEL)
        network, times = self.network(label, stream), model.wider.get(STREAMS[stream].family, 1.0)
        settings = {**self.fit(model, whole, STREAMS[stream].family), **network_settings(network, self.scale, times)}
        settings |= model.on(STREAMS[stream].family)
        return {
            "learner": model.learner,
            "network": network,
            "protocol": "stream-level" if whole else "task-level",
            "settings": {**settings, **self.augmentation(stream), **self.options(stream, instance)},
        }

    def network(self, label: str, stream: str) -> str:
        if stream == "pMNIST":
            return "mlp"
        return "ctrl-alexnet" if ALEXNET in label else "ctrl-resnet"

    def fit(self, model: Entrant, whole: bool, family: str) -> dict[str, Any]:
        """What all learners are trained with, as far as they know it; one that is chosen by the whole stream has one
        rate, but where a family has rates of its own, and a choice of strengths, where it has a penalty."""
        scale, has = self.scale, learner_settings(model.learner)
        if model.by_itself:
            return dict(scale.less.get(model.learner, {}))
        penalised = whole and "strength" in has
        grid: dict[str, Any] = {"rate": scale.rates, "weight_decay": scale.decays, **scale.grids.get(family, {})}
        grid |= scale.own.get(model.learner, {})
        grid |= {**model.grid, **model.grids.get(family, {})} if self.tier == "paper" else {}
        if penalised:
            rates = grid["rate"] if family in scale.grids else grid["rate"][-1:]
            grid |= {"rate": rates, "strength": scale.strengths}
        several = {name: list(values) for name, values in grid.items()}
        return {name: value for name, value in {**scale.fit, **several}.items() if name in has}

    def options(self, stream: str, instance: int) -> dict[str, Any]:
        found = self.scale.options(stream)
        if stream == "S_long":
            found["instance"] = instance
        if self.tier == "quick" and stream not in STANDARD and not _data_is_here(stream):
            found["datasets"] = "+".join(["digits"] * len(_roles(stream)))
        return found

    def augmentation(self, stream: str) -> dict[str, Any]:
        return {} if stream == "pMNIST" else {"augment": "flip+crop"}


def _roles(stream: str) -> list[str]:
    return list(ctrl_long.NAMES) if stream == "S_long" else ctrl.roles(STREAMS[stream].stream)


def _data_is_here(stream: str) -> bool:
    """Whether every dataset of a stream, or what stands in for it, is on this machine."""
    return all(is_here(role) or is_here(ROLES[role].stand_in) for role in _roles(stream))


# Of single rows; what compares them with others is in the tables.
METRICS = tuple(Column(m.column.metric, m.column.metric) for m in (AVERAGE, FORGETTING, SPEED))
view = partial(ShownTable, columns=METRICS)


def _experiments(tier: str, dataset: str | None) -> Sequence[Experiment]:
    if dataset is not None:
        raise BadSetting(
            f"--dataset {dataset} cannot be had: the streams of veniat2021 are made of several datasets; 'engram run "
            "ctrl-minus --set datasets=NAME+NAME+…' takes others"
        )
    cells, claims = _Cells(tier), claims_of(tier)
    found = [*_transfer(cells), *_standard(cells), *_long(cells), *_searches(cells)]
    return [replace(experiment, claims=claims[experiment.name]) for experiment in found]


def _transfer(cells: _Cells) -> list[Experiment]:
    every, sizes = cells.of(*cells.scale.shown), cells.tier == "paper"
    searched = tuple(cell for cell in every if plain(cell.model).startswith("MNTDP") and cell.dataset in AGAIN)
    return [
        view("table1", "Table 1: the five transfer streams", questions=every, shown=total_table(sizes)),
        view(
            "fig1",
            "Figure 1: all dimensions",
            questions=every,
            whole=lambda answers: total_table(sizes)(answers)[0],
            figure=radar,
            about=NORMALISED,
            remarks=left_out,
        ),
        *(
            _of_stream(cells, s, UNRELATED if s == "S_pl" else DETAILS, ours=s not in cells.scale.shown)
            for s in TRANSFER
        ),
        view("paths", "Figures 7 and 8: paths", questions=searched, shown=path_table, figure=paths),
    ]


def _of_stream(cells: _Cells, stream: str, measures: Sequence[Any], **more: Any) -> Experiment:
    table = STREAMS[stream].table
    more["remarks"] = remarks(stream, table, cells.tier)
    shown = stream_table(stream, measures, cells.tier in ("alexnet", "paper"))
    title = f"Table {table.removeprefix('table')}: {stream}"
    return view(table, title, questions=cells.of(stream), shown=shown, **more)


def _standard(cells: _Cells) -> list[Experiment]:
    by_name: dict[str, Any] = {"ours": cells.tier in ("small", "alexnet")}
    each = [_of_stream(cells, stream, STANDARD_COLUMNS, **by_name) for stream in STANDARD]
    asked = cells.of(*STANDARD)
    title = "Figure 3: standard streams"
    return [*each, view("fig3", title, questions=asked, shown=_both, whole=_joined, figure=bars, **by_name)]


def _each(answers: Sequence[Answer]) -> dict[str, Table]:
    """The table of each standard stream, as far as they were asked for."""
    own = {s: [a for (_, stream, _), a in by_cell(answers).items() if stream == s] for s in STANDARD}
    return {s: stream_table(s, TOTALS, False)(found)[0] for s, found in own.items() if found}


def _both(answers: Sequence[Answer]) -> list[Table]:
    return list(_each(answers).values())


def _joined(answers: Sequence[Answer]) -> Table:
    """Both as one, with a column that says which."""
    rows = [TableRow((s, *row.names), row.numbers) for s, table in _each(answers).items() for row in table.rows]
    return Table(("stream", "learner"), tuple(measure.column for measure in TOTALS), tuple(rows))


def _long(cells: _Cells) -> list[Experiment]:
    by_name: dict[str, Any] = {"ours": cells.tier != "quick", "about": LONG}
    questions, shown = cells.of("S_long"), stream_table("S_long", TOTALS, cells.tier == "paper", "table2")
    source = "Veniat et al. 2021, Table 2"
    return [
        view("table2", "Table 2: the long stream", questions=questions, shown=shown, source=source, **by_name),
        _of_stream(cells, "S_long", STANDARD_COLUMNS, **by_name),
        view(
            "fig4",
            "Figure 4: along the long stream",
            questions=questions,
            shown=shown,
            figure=along("S_long"),
            source=source,
            **by_name,
        ),
    ]


def _searches(cells: _Cells) -> list[Experiment]:
    """What of the search matters."""
    title = "Ablation: what of MNTDP-D's search matters"
    more: dict[str, Any] = {"about": FALL, "ours": cells.tier != "paper"}
    own: dict[str, Any] = {"shown": total_table(False), "about": BEYOND, "ours": cells.tier != "paper"}
    return [
        view("ablation", title, questions=cells.ablation(), shown=ablation_table, **more),
        view("beyond", "Beyond the paper: what each part of the wide search brings", questions=cells.parts(), **own),
    ]


PAPER = Paper(
    name="veniat2021",
    title="Efficient Continual Learning with Modular Networks and Task-Driven Priors (Veniat et al. 2021)",
    about=about,
    caveats=caveats,
    experiments=_experiments,
    seeds="0,1,2",
    quick_seeds="0",
    tiers=tuple(TIERS),
)
