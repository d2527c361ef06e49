"""What all tests share: how Hypothesis looks for counterexamples."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadlines: machines are noisy, and a slow example is no counterexample. CI tries the same examples each time,
# so that what a change did not break does not fail it.
settings.register_profile(
    "flowc",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("flowc")
