"""scikit-learn's own suite of checks for estimators, all of it."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator

from engram import ContinualClassifier

# The one check that is skipped is scikit-learn's own choice: it needs SCIPY_ARRAY_API=1 in the environment.
SKIPPED = {"check_array_api_input"}
MODELS = {
    "ridge": ContinualClassifier("ridge"),
    "slda": ContinualClassifier("slda"),
    "auto": ContinualClassifier(),
    "finetune": ContinualClassifier("finetune", iterations=40, batch=64, rate=0.03, widths=(16,)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("default")
def test_it_passes_every_check_of_scikit_learn(name):
    results = check_estimator(MODELS[name], on_skip=None, on_fail=None)
    assert len(results) > 50
    assert {each["check_name"] for each in results if each["status"] == "skipped"} <= SKIPPED
    failed = {each["check_name"]: each["exception"] for each in results if each["status"] not in ("passed", "skipped")}
    assert not failed
