"""Memory stays where it is: long work of each kind. SOAK_SECONDS=600 for the long version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = os.environ.get("SOAK_SECONDS", "60")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tabular", "sampling", "deep_cfr", "learners", "games"])
def test_memory_is_flat(kind: str) -> None:
    command = [sys.executable, "-m", "tests.soak.soak", kind, SECONDS]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = json.loads(said)
    print(kind, found)
    assert found["growth"] < 0.02, found
