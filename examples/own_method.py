"""A method of your own in a dozen lines: every parameter is pulled back to where the last task left it.

python examples/own_method.py
engram check examples/own_method.py:Anchored
"""

import engram
from engram.parts.gradient import GradientLearner
from engram.settings import setting


class Anchored(GradientLearner):
    """Pull every parameter back to where the last task left it (L2 towards the anchor).

    It is EWC without importances: all parameters count the same. That protects much and holds back much.
    What EWC gains over it is what importances are worth.
    """

    name = "anchored"
    keeps = "one vector"
    strength = setting(1.0, "how hard the parameters are pulled back", at_least=0, late=True)

    def edit(self) -> None:
        if "anchor" in self.kept:
            theta = self.network.theta
            anchor = self.kept["anchor"]
            self.network.grad[: len(anchor)].add_(theta.detach()[: len(anchor)] - anchor, alpha=self.strength)

    def end(self, lesson: engram.Lesson) -> None:
        super().end(lesson)
        self.kept["anchor"] = self.network.theta.detach().clone()


if __name__ == "__main__":
    for strength in (0.0, 0.01, 0.1, 1.0):
        record = engram.run("split-digits", Anchored, head="multi", epochs=5, strength=strength)
        metrics = record.metrics()
        print(
            f"strength {strength:<5} accuracy {metrics['average_accuracy']:.3f}, "
            f"forgetting {metrics['forgetting_rwalk']:.3f}"
        )
