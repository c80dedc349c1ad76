"""Settings that several suites have."""

from ragworthy.names import REFUSAL
from ragworthy.suites.declare import Key

REFUSALS = (REFUSAL,)

SHORT = Key(
    '"reject" (entries under 5 characters never count) or "word" (they count as whole words)',
    flag="--short-substr",
    help="entries under 5 characters",
    choices=("reject", "word"),
)
REFUSED = Key(
    "texts that count as a refusal (trimmed, any case)",
    flag="--refusal",
    help="another refusal text (repeatable)",
    metavar="TEXT",
    reads="refusals",
)
SCU = Key(
    "whether locked constraints are checked",
    flag="--scu-enforced --scu_enforced",
    help="check locked constraints",
)
SLICES = Key(
    "gold fields to split the numbers by",
    flag="--slice",
    help="split by a gold field (repeatable)",
    metavar="FIELD",
)
PROFILE = Key("", choices=("default", "reference"), python=False)
"""What `--profile` says, in suites that follow the sources' own program themselves."""
