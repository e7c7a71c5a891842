"""The options of `engram run`: one alias each, in the order in which --help shows them."""

from __future__ import annotations

from typing import Annotated

import typer

StreamOption = Annotated[
    str,
    typer.Argument(
        help="A stream such as split-digits or permuted-mnist, yours as streams.py:rotated, or a folder of your files; "
        "several with commas; or an experiment file, as experiment.toml."
    ),
]
LearnerOption = Annotated[
    str | None,
    typer.Option(
        "--learner",
        metavar="NAME,..",
        help="The method ('engram list learners'), or yours as mas.py:MAS; several with commas are compared.",
    ),
]
DatasetOption = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="A dataset's name, or the path of a file of your own.")
]
LabelOption = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="The label's column, in files of your own.")
]
TasksOption = Annotated[str | None, typer.Option("--tasks", metavar="N", help="How many tasks.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of learner, network or stream; KEY=A,B makes a grid; ewc.KEY=VALUE is for one learner only.",
    ),
]
NetworkOption = Annotated[
    str | None, typer.Option("--network", metavar="NAME", help="The network; mlp by default. Yours as net.py:Net.")
]
ProtocolOption = Annotated[
    str, typer.Option("--protocol", metavar="NAME", help="How settings are chosen; see 'engram list protocols'.")
]
HeadOption = Annotated[
    str | None, typer.Option("--head", metavar="single|multi", help="Is the task given at test time? (multi: yes)")
]
EpochsOption = Annotated[str | None, typer.Option("--epochs", metavar="N", help="Passes over each task's data.")]
BatchOption = Annotated[str | None, typer.Option("--batch", metavar="N", help="Samples in a mini-batch.")]
RateOption = Annotated[str | None, typer.Option("--rate", metavar="X", help="Size of a step.")]
StreamSeedOption = Annotated[
    str | None, typer.Option("--stream-seed", metavar="N", help="Seed of the stream; the run's own by default.")
]
CurveOption = Annotated[
    str, typer.Option("--curve", metavar="N-N-..", help="Measure a learning curve at these steps, as 0-1-2-5-10.")
]
EvaluateOption = Annotated[
    str,
    typer.Option(
        "--evaluate", metavar="WHEN", help="Test after tasks: all, diagonal (the task learned), last, 'every N'."
    ),
]
ReferencesOption = Annotated[
    bool, typer.Option("--references", help="Also train what intransigence, transfer and Ω are measured against.")
]
OfflineOption = Annotated[
    str | None,
    typer.Option(
        "--offline",
        metavar="base|seen|no",
        help="Of these only Ω's offline models: of the first session, or also of all seen.",
    ),
]
DeviceOption = Annotated[
    str, typer.Option("--device", metavar="NAME", help="Where networks compute: cpu, cuda, cuda:1, mps, or auto.")
]
PrecisionOption = Annotated[
    str | None, typer.Option("--precision", metavar="float32|bf16", help="Of convolutional networks; bf16 is faster.")
]
FloorsOption = Annotated[
    bool, typer.Option("--floors", help="Beside them finetune, joint, and exemplars-only or ridge: what to be above.")
]
ByOption = Annotated[
    str | None, typer.Option("--by", metavar="METRIC", help="Compare by this metric; average_accuracy by default.")
]
SaveOption = Annotated[
    str, typer.Option("--save", metavar="FILE", help="Write all this into an experiment file, for 'engram run FILE'.")
]
