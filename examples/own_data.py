"""Data of your own that arrives in sessions: wines of three growers, one grower a session.

python examples/own_data.py
"""

import tempfile

from sklearn.datasets import load_wine

import engram

x, y = load_wine(return_X_y=True)
x = (x - x.mean(0)) / x.std(0)
sessions = []
for grower in (0, 1, 2):
    rows = x[y == grower]
    sessions.append((rows[:35], [grower] * 35, rows[35:], [grower] * len(rows[35:])))
stream = engram.from_arrays(sessions, name="wines")

with tempfile.TemporaryDirectory() as store:
    for learner in ("finetune", "exemplars-only", "ridge", "slda", "joint"):
        record = engram.run(stream, learner, store=store)
        after = "  ".join(f"{sum(row) / len(row):.2f}" for row in record.accuracy)
        print(f"{learner:15} mean accuracy on the growers so far, after each session: {after}")
