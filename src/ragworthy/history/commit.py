"""Which commit is being judged: what the build server says, else what git says of the folder."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

VARIABLES = (
    "RAGWORTHY_COMMIT",
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "BUILD_SOURCEVERSION",
    "BITBUCKET_COMMIT",
    "BUILDKITE_COMMIT",
    "CIRCLE_SHA1",
    "GIT_COMMIT",
    "TRAVIS_COMMIT",
)
"""Ours, then GitHub, GitLab, Azure, Bitbucket, Buildkite, CircleCI, Jenkins and Travis."""
_WAIT = 10
_COMMIT = re.compile(r"[0-9A-Za-z._/+-]{1,200}")
SHORTEST = 7
"""So many characters of a hash name a commit."""
_HASH = re.compile(rf"[0-9A-Fa-f]{{{SHORTEST},64}}")


def spelled(commit: str) -> str:
    """A commit as it is kept: spaces around it do not matter, and for a hash capitals do not either.

    >>> spelled(" 5F0C2E1a "), spelled("Release-7")
    ('5f0c2e1a', 'Release-7')
    """
    commit = commit.strip()
    return commit.lower() if _HASH.fullmatch(commit) else commit


def same_commit(one: str, other: str) -> bool:
    """Whether two spellings mean the same commit: a hash may be cut to seven characters.

    >>> same_commit("5f0c2e1", "5F0C2E1A99"), same_commit("5f0c2e", "5f0c2e1a"), same_commit("main", "main2")
    (True, False, False)
    """
    one, other = spelled(one), spelled(other)
    if _HASH.fullmatch(one) and _HASH.fullmatch(other):
        return one.startswith(other) or other.startswith(one)
    return one == other


def commit_of(folder: Path, environment: Mapping[str, str] = os.environ) -> str:
    """The commit; empty where nobody knows it.

    >>> commit_of(Path("/"), {"CI_COMMIT_SHA": "5f0c2e1"})
    '5f0c2e1'
    """
    for name in VARIABLES:
        if _COMMIT.fullmatch(environment.get(name, "")):
            return environment[name]
    git = shutil.which("git", path=environment.get("PATH"))
    if git is None:
        return ""
    asked = [git, "-C", str(folder), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(asked, capture_output=True, timeout=_WAIT, check=False)  # noqa: S603 - no shell
    except (OSError, subprocess.SubprocessError):
        return ""
    said = done.stdout.decode("ascii", "replace").strip()
    return said if done.returncode == 0 and _COMMIT.fullmatch(said) else ""
