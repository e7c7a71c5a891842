"""Accuracy of ContinualClassifier and of River's models on the same streams (needs River: pip install river).

    python benchmarks/own_data_accuracy.py [--json] [--seeds N] [--streams digits,wine]

Each stream comes twice: in random order, and one class after another, which is how classes that nobody knew of arrive.
All see every row of the training data (two thirds) once and in the same order, ours in ten sessions, River's row by row
behind its running standard scaler; then all answer the same held-out rows. River's are those of its classifiers that
take any number of classes: softmax regression, naive Bayes, a Hoeffding tree, an adaptive random forest of ten trees,
and nearest neighbours in a window. The mean over seeds of the order and of the division.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from engram import ContinualClassifier

SESSIONS = 10


def blobs(return_X_y: bool) -> Any:
    """Three clusters a class, so that lines do not divide them."""
    return datasets.make_classification(
        2000, 20, n_informative=10, n_classes=5, n_clusters_per_class=3, class_sep=1.5, random_state=0
    )


STREAMS: dict[str, Callable[..., Any]] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast-cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "clusters": blobs,
}
OURS = {
    "auto": ContinualClassifier(),
    "slda": ContinualClassifier("slda"),
    "ridge": ContinualClassifier("ridge"),
    "slda, 500 features": ContinualClassifier("slda", features=500),
}


def theirs() -> dict[str, Any]:
    from river import forest, linear_model, naive_bayes, neighbors, preprocessing, tree

    models = {
        "softmax regression": linear_model.SoftmaxRegression(),
        "naive Bayes": naive_bayes.GaussianNB(),
        "Hoeffding tree": tree.HoeffdingTreeClassifier(),
        "random forest": forest.ARFClassifier(n_models=10, seed=0),
        "nearest neighbours": neighbors.KNNClassifier(),
    }
    return {name: preprocessing.StandardScaler() | model for name, model in models.items()}


def ordered(y: np.ndarray, by_class: bool, seed: int) -> np.ndarray:
    order = np.random.default_rng(seed).permutation(len(y))
    return order[np.argsort(y[order], kind="stable")] if by_class else order


def our_accuracy(
    model: ContinualClassifier, x: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray
) -> float:
    fresh = ContinualClassifier(**model.get_params())
    for rows in np.array_split(np.arange(len(x)), SESSIONS):
        fresh.partial_fit(x[rows], y[rows])
    return float(fresh.score(test, truth))


def their_accuracy(model: Any, x: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray) -> float:
    for row, label in zip(x.tolist(), y.tolist()):
        model.learn_one(dict(enumerate(row)), label)
    found = [model.predict_one(dict(enumerate(row))) for row in test.tolist()]
    return float(np.mean([label == answer for label, answer in zip(truth.tolist(), found)]))


def measure(names: list[str], seeds: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, list[float]]] = {}
    for name in names:
        x, y = STREAMS[name](return_X_y=True)
        for seed in range(seeds):
            train, test, labels, truth = train_test_split(x, y, test_size=1 / 3, random_state=seed, stratify=y)
            for by_class in (False, True):
                order = ordered(labels, by_class, seed)
                row = found.setdefault(f"{name}, {'class by class' if by_class else 'random order'}", {})
                for ours, model in OURS.items():
                    row.setdefault(ours, []).append(our_accuracy(model, train[order], labels[order], test, truth))
                for model_name, model in theirs().items():
                    accuracy = their_accuracy(model, train[order], labels[order], test, truth)
                    row.setdefault(f"river: {model_name}", []).append(accuracy)
    return {stream: {name: float(np.mean(values)) for name, values in row.items()} for stream, row in found.items()}


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    lines = []
    for stream, row in found.items():
        best = max((value, name) for name, value in row.items() if name.startswith("river"))
        lines.append(stream)
        lines += [f"  {name:28} {value:.3f}" for name, value in row.items()]
        lines.append(f"  auto less the best of River ({best[1].removeprefix('river: ')}): {row['auto'] - best[0]:+.3f}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--streams", default=",".join(STREAMS))
    options = parser.parse_args()
    with threadpool_limits(1):
        found = measure(options.streams.split(","), options.seeds)
    print(json.dumps(found, indent=2) if options.json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
