"""Small datasets and questions that the tests of streams share."""

import torch

from engram.core import Dataset, Split


def toy(name="toy", classes=10, per_class=20, shape=(2, 3), seed=0, tests=5):
    """A dataset of random bytes, classes interleaved."""
    generator = torch.Generator().manual_seed(seed)

    def draw(count):
        x = torch.randint(0, 256, (classes * count, *shape), generator=generator, dtype=torch.uint8)
        return x, torch.arange(classes).repeat(count)

    names = tuple(f"class {c}" for c in range(classes))
    return Dataset(name, *draw(per_class), *draw(tests), classes=names, scale=1 / 255, digest=f"{name} {seed}")


def rows(split: Split) -> list[int]:
    """The rows of the dataset that a split uses."""
    return list(range(len(split))) if split.rows is None else split.rows.tolist()


def everything(split: Split) -> torch.Tensor:
    return split.raw(slice(None))
