"""Which method forgets least on digits, and is the difference real? Six methods on the same five seeds.

python examples/compare_methods.py
"""

import engram

comparison = engram.compare("split-digits", ["finetune", "ewc", "si", "gem", "ridge", "joint"], seeds=5, head="multi")
print(comparison)
print()
for row in comparison.rows:
    mean = sum(record.metrics()["forgetting_rwalk"] for record in row.records) / len(row.records)
    print(f"{row.label} forgets {mean:.3f}")
