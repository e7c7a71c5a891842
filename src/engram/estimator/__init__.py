"""Data of your own that keeps arriving: learn, save, update, predict."""

from engram.estimator.classifier import ContinualClassifier
from engram.estimator.model_file import load, save, updating

__all__ = ["ContinualClassifier", "load", "save", "updating"]
