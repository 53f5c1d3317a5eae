"""No n x n tensor anywhere: a million rows fit in 2 GB, library included."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

SCRIPT = """
import json, resource, torch
from fairret import loss as fairrets

torch.set_num_threads(1)
n, d_s = 1_000_000, 16
rng = torch.Generator().manual_seed(0)
group = torch.randint(d_s, (n,), generator=rng)
sens = torch.nn.functional.one_hot(group, d_s).float()
label = torch.rand(n, generator=rng).round()
logit = torch.randn(n, generator=rng) + 0.1 * group
logit.requires_grad_()
loss = getattr(fairrets, "{loss}")("{statistic}")
loss(logit, sens, label).backward()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([peak, bool(logit.grad.isfinite().all())]))
"""


@pytest.mark.parametrize(
    ("loss", "statistic"),
    [("NormLoss", "tpr+ppv"), ("KLProjectionLoss", "ppv")],
)
def test_a_million_rows_and_sixteen_groups_fit_in_two_gigabytes(loss, statistic):
    script = SCRIPT.format(loss=loss, statistic=statistic)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    peak, finite = json.loads(done.stdout)
    assert finite
    assert peak < 2e9
