"""What a reader of the reproduction of Veniat et al. 2021 is told, by tier."""

from __future__ import annotations


def about(tier: str, dataset: str | None) -> str:
    return (
        "Streams of tasks that ask one question each. S-: a large task, four others, then the first one again with few "
        "samples: is what was learned used again? S+: the same with the large task last: is it in the way? S_in: the "
        "first task again on another background colour. S_out: the first task again with other labels. S_pl: five "
        "tasks that have nothing in common. The long stream has a hundred tasks of five classes, most of them "
        "small.\n\n"
        "Independent trains a network of its own for every task; Finetune goes on with one; New-head and New-leg renew "
        "its last or first module and freeze the rest (or train it too: finetune); EWC, ER, PNN and HAT are methods of "
        "others; MNTDP looks for a path through the modules of all past tasks, trying all (D) or sampling (S). "
        "Learners with a † are chosen by validation accuracy at the end of the whole stream, all others task by task; "
        "those with a * have the AlexNet, the others the ResNet (on permuted digits a perceptron). "
        "What is called wide is ours: a search that may renew the first modules too.\n\n"
        "T is the accuracy on the last task less that of Independent, Δ the same less the accuracy on the first task "
        "when it was learned; A is the mean accuracy on all tasks at the end, F what was lost of earlier ones "
        "(negative is bad), LCA@5 the mean test accuracy of a task after 0, 1, … 5 mini-batches; while MNTDP-D learns, "
        "that of the candidate which is best on validation data so far. Memory is what a learner must keep, operations "
        "(FLOPs) are those of learning: of all candidates that a search trains, looks at validation data included, but "
        "of one point of the grid; both are also shown as a share of Independent's on the same stream. A dash is what "
        "is not printed."
    )


def caveats(tier: str, dataset: str | None) -> str:
    return f"{SIZES[tier]} {GENERAL}"


SIZES = {
    "quick": (
        "The tier `quick` has a ResNet of 8 channels on images of 16 × 16 pixels, three tasks of few samples and at "
        "most 40 steps a task, on two of the five transfer streams and without some of the learners, and claims "
        "nothing. Where a dataset is not on the machine, small digits take all parts."
    ),
    "small": (
        "The tier `small` has the paper's numbers of training samples, as far as the datasets have them (a task's name "
        "says how many), a ResNet of 16 channels on images of 16 × 16 pixels, batches of 64, two rates (HAT: three) "
        "and no weight decay. A task ends after 120 steps and six epochs without a rise of validation accuracy, and "
        "after 2,200 steps in any case (600 on the long stream, 400 on permuted MNIST and CIFAR-100). The AlexNet has "
        "a quarter of its width, on images of 32 × 32 pixels, so that its operations and accuracies are not to be "
        "compared with the ResNet's; the perceptron has 500 units a layer. Samples that ER keeps are as large as "
        "published while networks are much smaller, so that its share of Independent's memory is about twelve times "
        "the printed one. Penalties have four strengths to choose from where the paper has nine. Tests have at most "
        "100 samples a class, on permuted MNIST all; the long stream's large tasks have 60 training samples a class "
        "where the paper's have 1,000. On permuted MNIST DEN has one epoch a round and RCL one epoch a trial, of "
        "which it has three where the paper has fifty."
    ),
    "alexnet": (
        "The tier `alexnet` has the paper's sizes with the AlexNet for all learners, at one point of the grid "
        "(rate 0.001, no weight decay). Learners that the paper shows with the ResNet only stand beside those numbers."
    ),
    "paper": "The tier `paper` has the published networks, sizes, grids and three instances of the long stream.",
}
GENERAL = (
    "The classes of a task and their order are drawn by the seed, where the paper has one draw; with the same seed S- "
    "and S_out have the same first five tasks, and in the last one the same samples under other labels, so that a "
    "learner whose tasks have outputs of their own nearly repeats itself on the other. T and shares of learners with "
    "the AlexNet are taken against Independent with the ResNet, as in the paper; T *, and where no ResNet is trained "
    "all of them, against Independent with the AlexNet, of which nothing is published. How operations were counted is "
    "not published: only shares of Independent's can be compared, and ours count what candidates have in common once. "
    "Streams are named with the datasets that they were made of: tiny-imagenet100-32 stands in for CIFAR-10 and "
    "CIFAR-100, svhn-crops for SVHN and dtd37 for DTD where those are not to be had, and they have other classes and "
    "sizes. A candidate of MNTDP-D that is trained is judged by the best of its many looks at validation data, as "
    "early stopping has it, and an old path as it is by its only one: where validation data are few, as on the last "
    "task of S-, that favours new modules. A learner that never changes an old predictor is not measured on it again: "
    "its F of 0 is what it was built for, and tests compare the outputs bit by bit. Memory counts all that is kept, "
    "with EWC, Online EWC and ER also what batch normalisation keeps (10 kB with the paper's ResNet), which the "
    "printed numbers leave out there; ER keeps no more samples of a class than there are, where the printed numbers "
    "have 15 of the last task of S_in too. The printed memory of EWC on permuted MNIST has one copy less than on "
    "other streams, that of MNTDP-D with the AlexNet on the long stream is 1782 MB in Table 2 and 1803 in Table 18, "
    "and the last row of Table 16 lacks its “(Wide)”. The released configurations search among more paths on S_in "
    "and S_out than the paper describes; here they are its."
)
LONG = (
    "Mean over instances of the stream and seeds. By its name only: a hundred tasks take their time. The wide search "
    "tries all past paths for ten steps, the better half of them for twenty and a quarter for forty (`finalists=8`), "
    "and begins warm as the nearest one alone (`warm_sources=1`). Of its trained candidates, but for the network of "
    "its own, the worse half ends after 40 steps, half of the others after 80, and so on until one is left "
    "(`halving=40`, `halved=all`)."
)
BEYOND = (
    "Ours. front: candidates that renew the first modules and keep the later ones, frozen. adapter: a 1 × 1 "
    "convolution of the colours before a whole old path; with screen the path is found by fitting it to all of them "
    "for a few steps. warm: all modules, or all but the first two, start from the source's weights, or all from those "
    "of one of up to four other past paths. ridge: a linear readout in closed form of the features of all "
    "modules. Every candidate is chosen by validation accuracy, and its operations are counted."
)
FALL = (
    "Δ is the accuracy on the last task less that on the first when it was learned. The paper says in words how much "
    "of it a random source loses, and three modules in the place of seven; that all sources do as well as the nearest; "
    "and that modules cut in two change nothing (here: the ResNet cut block by block)."
)
NORMALISED = (
    "The worst of all learners, of both networks, is in the middle and the best on the rim, axis by axis; memory and "
    "operations by their logarithms. The paper does not say how it normalised."
)
