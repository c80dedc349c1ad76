"""Where things lie: tests take their paths from here and not from where they themselves are, so that they can move."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
BROKEN = TESTS / "broken"
GOLDEN = TESTS / "golden"
SERVERS = TESTS / "servers"
SHARED = ROOT.parent / "shared"
"""The material beside the repository: seeds, spec, data. It is not part of the repository and may be absent."""
DATA = SHARED / "data"
