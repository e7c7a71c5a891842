"""A head by ridge regression: against another implementation, whichever system is the smaller one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.linear_model import Ridge

from engram.networks import head_scores
from engram.parts import ridge_head
from engram.parts.candidates import Recipe
from engram.parts.ridge_head import ridge_rows
from engram.randomness import generator


@pytest.mark.parametrize("samples, features", [(60, 7), (7, 60), (30, 30)])
@pytest.mark.parametrize("strength", [1e-2, 1.0])
def test_it_is_ridge_regression_on_standardised_features(samples, features, strength):
    draw = generator(samples, "ridge")
    x = 3 * torch.randn(samples, features, generator=draw) + 5
    x[:, 2] = 4.0  # a feature that says nothing
    targets = F.one_hot(torch.randint(0, 3, (samples,), generator=draw), 3).float()
    head, operations = ridge_rows(x, targets, strength)
    z = ((x - x.mean(0)) / x.std(0, correction=0).where(x.std(0) > 0, torch.tensor(1.0))).double().numpy()
    scale = np.diag(z @ z.T if samples < features else z.T @ z).mean()
    expected = Ridge(alpha=strength * scale).fit(z, targets.numpy()).predict(z)
    assert torch.allclose(head_scores(x, head).double(), torch.from_numpy(expected), atol=2e-3)
    assert operations > 2 * samples * features * min(samples, features)


@pytest.mark.parametrize("right, chosen", [([1, 3, 3, 2], 1e-1), ([1, 1, 1, 1], 1.0), ([4, 3, 3, 2], 1e-3)])
def test_validation_data_choose_the_strength_of_equally_good_ones_the_greatest(right, chosen, monkeypatch):
    """Of four samples so many are right with strengths from the least to the greatest."""
    kept, tried = dict(zip(ridge_head.STRENGTHS, right, strict=True)), []
    monkeypatch.setattr(
        ridge_head, "ridge_rows", lambda x, targets, strength: (tried.append(strength), (strength, 0))[1]
    )
    monkeypatch.setattr(ridge_head, "head_scores", lambda x, head: F.one_hot((torch.arange(4) >= kept[head]).long(), 2))
    walk = SimpleNamespace(library=SimpleNamespace(device="cpu"))
    head = ridge_head.RidgeHead(Recipe("ridge", (0, 0)), walk, 2)
    monkeypatch.setattr(head, "_features", lambda data: torch.zeros(4, 3))
    split = SimpleNamespace(y=torch.zeros(4, dtype=torch.long))
    material = SimpleNamespace(data=split, places=torch.arange(2))
    assert head.judged(material, SimpleNamespace(data=split)) == max(right) / 4
    assert head.head == chosen
    assert sorted(tried) == list(ridge_head.STRENGTHS)
