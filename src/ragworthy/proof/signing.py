"""Signatures with an SSH key that somebody has, through `ssh-keygen -Y`: nothing of it needs a network."""

import subprocess
from pathlib import Path
from typing import NamedTuple

from ragworthy.errors import Problem, data_error
from ragworthy.files import check_readable

NAMESPACE = "ragworthy"
"""What a signature is for; one made for a commit or a mail does not count here."""
SUFFIX = ".sig"
_BEGINS = b"-----BEGIN SSH SIGNATURE-----"


class Signed(NamedTuple):
    """What a signature says, or why it does not hold."""

    by: str = ""
    """Who signed, and with which key."""
    problem: Problem | None = None


def sign(data: bytes, key: Path) -> bytes:
    """The signature of some bytes. A key with a passphrase is asked for at the terminal, or held by an agent."""
    check_readable(key)
    done = _keygen(["-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key)], data)
    if done.returncode != 0 or not done.stdout.startswith(_BEGINS):
        message = f"expected a private SSH key that can sign, got: {_said(done)}"
        raise data_error("RW-R09", message, where=str(key))
    return done.stdout


def signed(data: bytes, signature: Path, signers: Path, name: str | None, *, what: str) -> Signed:
    """Whether somebody whom `signers` allows has signed these bytes; `name` where it has to be a certain one."""
    check_readable(signers)
    if not signature.is_file():
        return _refused("RW-R10", "expected a signature, got none", what)
    here = ["-s", str(signature)]
    sound = _keygen(["-Y", "check-novalidate", "-n", NAMESPACE, *here], data)
    if sound.returncode != 0:
        return _refused("RW-R11", f"expected the bytes that were signed, got others ({_said(sound)})", what)
    key = _said(sound).rpartition(" with ")[2]
    found = _keygen(["-Y", "find-principals", *here, "-f", str(signers)], b"")
    known = found.stdout.decode("utf-8", "replace").split("\n")[0].split(",") if found.returncode == 0 else []
    if not known:
        return _refused("RW-R12", f"expected a key of {signers}, got {key}", what)
    by = name or known[0]
    done = _keygen(["-Y", "verify", "-n", NAMESPACE, "-I", by, *here, "-f", str(signers)], data)
    if done.returncode != 0 and by in known:
        message = f"expected a key that may sign for {NAMESPACE}, got {key} of {by}: {_said(done)}"
        return _refused("RW-R12", message, what)
    if done.returncode != 0:
        return _refused("RW-R12", f"expected the signature of {by}, got that of {', '.join(known)} ({key})", what)
    return Signed(f"{by} ({key})")


def _refused(code: str, message: str, what: str) -> Signed:
    return Signed(problem=Problem(code, message, what, "signature"))


def _keygen(words: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", *words], input=data, capture_output=True, check=False)  # noqa: S603, S607
    except OSError as error:
        message = f"expected OpenSSH 8.1 or newer, got none: {error.strerror}"
        raise data_error("RW-R08", message, where="ssh-keygen") from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    """What ssh-keygen said first."""
    lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return lines[0].strip().rstrip(".") if lines else f"exit {done.returncode}"
