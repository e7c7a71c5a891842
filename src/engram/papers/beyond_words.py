"""What the page about closed forms on fixed features says in words."""

from __future__ import annotations

ABOUT = {
    "split": (
        "Classes come two by two and are told apart from all others seen so far, no task given. Every sample is seen "
        "once; what is kept are sums over features. `patches`: filters are patches of the first task's training "
        "images; `filters`: they are random. The penalty is chosen on a fifth of the first task's training images, "
        "which are learned from afterwards; nothing is chosen later."
    ),
    "exemplars": (
        "All that is kept are ten training images of every class; patches, warped copies and the solution follow from "
        "them and the seed. `plain` is what `exemplars-only` does without a map."
    ),
    "permuted": (
        "A solution for every task, on waves of its own principal components. The task of a test sample is guessed: "
        "that under whose means and variances of single pixels it is most likely. The penalty comes from the first "
        "task."
    ),
    "pairs": (
        "The twelve streams of Pfülb et al. 2018 under their realistic protocol in its strict form: a twelfth of the "
        "training data is held out, D1 is not looked at again when D2 is learned. There is nothing to choose: neither "
        "a rate nor a penalty is tried. Where D2 has new classes, `ridge` stands on random filters, and the same "
        "learner is taught both tasks at once beside it: the difference on D2 is the third column. Accuracy on D1 is "
        "measured among all classes, and so falls when there are more of them, as it does for who learns both at once. "
        "In dp10-10 the same classes come back under another permutation: `ridge-each` guesses which."
    ),
}


def about(tier: str, dataset: str | None) -> str:
    return (
        "Nothing here is trained by gradients, and nothing is pretrained: features are fixed before the first task, "
        "and what is learned are sums over samples, from which linear equations are solved at the end of every task. "
        "Accuracy is the mean over all tasks after the last one, on test data that nothing was chosen by."
    )


def caveats(tier: str, dataset: str | None) -> str:
    if tier == "quick":
        return "The tier `quick` runs the code of the tier `paper` at a small size and claims nothing."
    return (
        "The kind of features (7 × 7 filters in steps of 2, squares of 4 × 4 places, square roots, unit length, "
        "waves) comes from an earlier prototype, and it is not known which data that was judged by. The width of "
        "the waves, components in place of plain waves, and filters, width and penalty of `exemplars-only` were "
        "compared on a sixth of MNIST's training images, held out from all training; Fashion-MNIST has the same. "
        "How many filters and waves there are was set by the time that they take. Penalties are chosen in the "
        "first task by the learner itself, of equally good ones the smallest; in `pairs` the penalty is 1. There "
        "is one seed. Minutes are by the clock, beside whatever else the machine had to do, on one thread; "
        "`benchmarks/beyond.py` counts processor time. Memory is what the learner keeps between tasks; random "
        "directions follow from the seed and are drawn again."
    )
