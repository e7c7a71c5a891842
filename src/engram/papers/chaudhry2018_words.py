"""What a reader of the pages of Chaudhry et al. 2018 must know, in words that are true of the tier they stand in."""

from __future__ import annotations


def about(epochs_without: int, epochs_with: int, references: bool) -> str:
    """How the rows without and with exemplars are trained; `references`: whether joint models were."""
    joint = " Intransigence is measured against joint models trained with the same number of epochs."
    return (
        "Everything called EWC here is EWC++, as in the paper. The rows without samples and the multi-head rows are "
        f"trained with a softmax over the current task's labels, {_epochs(epochs_without)}, and an Adam whose moments "
        "are reset between tasks while its step count runs on; the rows with exemplars with a class-weighted loss over "
        f"all labels seen, {_epochs(epochs_with)} and centred images.{joint if references else ''}"
    )


def _epochs(number: int) -> str:
    return "one epoch" if number == 1 else f"{number} epochs"


def caveats(tier: str, published: str, measured: bool) -> str:
    """`published`: the columns of the published tables that ours stand beside, mnist or cifar. `measured`: whether
    these are the numbers that the text speaks of."""
    parts = [
        REGIMES,
        NORMALISED if measured else "",
        TEXT,
        TWO_MORE_ROWS if published == "mnist" else "",
        TRIED if measured else "",
        "The rows called exemplars are ours: kernel ridge regression on the stored exemplars and nothing else, the "
        "floor under every row that stores exemplars.",
        QUICK if tier == "quick" else "",
    ]
    return " ".join(part for part in parts if part)


REGIMES = (
    "The two regimes were picked by comparing a prototype's test accuracies on MNIST with the published table, because "
    "the paper does not state them; within a regime nothing was selected. EWC's Fisher information is taken from "
    "per-sample gradients; it is brought to 0 … 1 in the multi-head row, as the authors' released code does, and left "
    "as it is in the single-head rows, because on MNIST that is nearer to the published ones."
)
NORMALISED = (
    "The multi-head row with `normalise=none`, the same seeds and `fisher_update=interval` reached 98.4 ± 1.1 %."
)
TEXT = (
    "The strengths are the published ones. The running Fisher information of EWC and RWalk takes in every iteration's "
    "batch, because the text after equation 6 says that t counts training iterations; and RWalk's scores become 0 "
    "where their sum over a task is negative, because the text defines a score as the sum from one iteration to "
    "another and sets negative scores to zero. The authors' released code takes in the mean of every interval and "
    "clips in every interval. The rows follow the text because it is the paper that is reproduced, not because of the "
    "result."
)
TWO_MORE_ROWS = (
    "At the published strength and at two others both ways are on the page of the variants. Table 3 has two rows "
    "(RWalk at 10 and at 1000) that the paper does not print."
)
TRIED = (
    "Where RWalk's row of Table 1 is below the published one, what was tried is its strength (Table 3), the number of "
    "exemplars (Figure 4), how they are chosen (Figure 5), and what the paper leaves open about the method itself "
    "(`engram paper chaudhry2018 variants`, which has a page of its own). Both iCaRL rows are far above the published "
    "ones, and nothing was tried to bring them down."
)
QUICK = "The tier `quick` runs the code of the tier `paper` at a small size and claims nothing."
