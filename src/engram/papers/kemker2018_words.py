"""What a reader of the reproduction of Kemker et al. 2018 is told, by tier."""

from __future__ import annotations


def about(tier: str, dataset: str | None) -> str:
    return (
        "Six models learn in sessions: data whose features are permuted anew each time, half of the classes and "
        "then one class at a time, or two modalities one after the other. Ω base is what is left of the first "
        "session, Ω new what is learned of the newest, Ω all what is known of everything seen, each a mean over "
        "the sessions after the first; Ω base and Ω all are shares of what an offline MLP reaches on the first "
        "session. Ω all, fair, is a share of what an offline MLP of everything seen so far reaches: the paper's "
        "ideal cannot be held even by that model, because more classes are harder to tell apart. ridge and SLDA "
        "are ours: linear, in closed form, of features as they are; they see every sample once and keep no data, "
        "and what is open about them is chosen in the first session. EWC has the penalty of the last session alone, "
        "which is of fixed size, as the paper says; EWC-all, ours, has one for every session. FEL-SGD is FEL with "
        "plain steps instead of Adam's."
    )


def caveats(tier: str, dataset: str | None) -> str:
    return f"{SIZES[tier]} {GENERAL} {DATA if dataset is None and tier != 'quick' else ''}".strip()


SIZES = {
    "quick": (
        "The tier `quick` runs the same code on digits of 8 × 8 pixels with small models, and claims nothing; a "
        "session ends after two epochs without a rise, and after ten in any case."
    ),
    "small": (
        "The tier `small` has four permutations and fewer iterations, and claims nothing; a session ends after "
        "two epochs without a rise, and after ten in any case."
    ),
    "paper": (
        "The tier `paper` has the published shapes, rates, batches and numbers of sessions; a session ends after "
        "five epochs (at least 100 steps) without a rise, and after 100 in any case."
    ),
}
GENERAL = (
    "The paper ends a session by test accuracy (`stop_on=test` would do that, and mark its results); here it ends "
    "by accuracy on a tenth of the session's training data, held out. The order of classes is random by the seed, "
    "as are the permutations; the first session is not permuted. All models but PathNet have one softmax over all "
    "classes. PathNet is told the session, and cannot learn classes one at a time. What the paper leaves open "
    "about PathNet, GeppNet and FEL are settings with calibrated defaults (`engram list learners`, `engram list "
    "networks`); those of GeppNet+STM's sleep and of the runs of Table S7 were found by comparing test accuracies "
    "with the published ones, so their agreement is a fit; so is that of FEL-SGD, and EWC of one penalty was taken for "
    "the paper's after EWC-all had been seen to forget less than the paper's. The strength of EWC's penalty is not "
    "printed. It is 10: of 10, 100, 1,000 and 10,000 the one that held-out data of the newest session preferred in two "
    "of three sessions, on three permutations of `cub200-lite0` with one seed and a penalty for every session; smaller "
    "ones were not tried. Accuracies are "
    "means over classes where sessions bring classes. Sizes count four bytes a number; the printed ones of "
    "GeppNet on CUB-200 are those of a readout of ten classes, and the printed Ω new of GeppNet+STM and Ω base of "
    "EWC in the multi-modal experiment (0.329, 1.000) are not what Table S8 gives (0.010, 1.022)."
)
DATA = (
    "The features of the paper are not to be had: `cub200-lite0` are 1,280 features of another network (the paper: "
    "2,048 of ResNet-50), `audioset100` has about a fifth of the paper's training clips. Features of one's own are "
    "given by `--dataset birds.npz+sounds.npz`; published numbers of MNIST, CUB-200 or AudioSet then stand beside "
    "data of 10, 200 or 100 classes."
)
TIMES = (
    "The published minutes are those of CUB-200. Ours are wall time, on a machine that may have had other work; "
    "operations are counted."
)
CUT = "By FCBF on the training samples, each feature cut into ten bins of equal frequency."
BUDGET = (
    "For each model three capacities, the first of them that of Table 2; the one that is best on the held-out data "
    "of all sessions after the last is shown, whatever it does on test data."
)
