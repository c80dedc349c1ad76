"""Signatures with SSH keys: made by `ssh-keygen`, compared with allowed signers, without a network."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import run_cli
from ragworthy import starter
from repacked import canonical, files_of, packed, sealed

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not there")

REFUSED = "not verified: the signature does not hold (exit 1)"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keys of two people, and files that allow one of them or both."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ada", "bob"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(made, check=True)
    lines = {name: f"{name}@example.com {(folder / f'{name}.pub').read_text()}" for name in ("ada", "bob")}
    (folder / "signers").write_text(lines["ada"])
    (folder / "both").write_text(lines["ada"] + lines["bob"])
    (folder / "for-git").write_text(lines["ada"].replace(" ", ' namespaces="git" ', 1))
    return folder


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    starter.init(Path())


def fingerprint(key: Path) -> str:
    shown = subprocess.run(["ssh-keygen", "-lf", f"{key}.pub"], capture_output=True, text=True, check=True)
    return f"ED25519 key {shown.stdout.split()[1]}"


def gated(*more: object) -> None:
    assert run_cli("gate", "-q", "--receipt", "r.json", "--bundle", "e.zip", *more).code == 0


@pytest.mark.parametrize("name", ["r.json", "e.zip"])
def test_a_signature_of_somebody_who_may_is_named(keys: Path, name: str) -> None:
    gated("--sign", keys / "ada")
    done = run_cli("verify", name, "--signers", keys / "signers", "--expect", "SHIP")
    assert done.code == 0, done
    assert f"signed by ada@example.com ({fingerprint(keys / 'ada')})" in done.out.splitlines()
    assert run_cli("verify", name, "--signers", keys / "both", "--signer", "ada@example.com").code == 0
    done = run_cli("verify", name)
    assert (
        done.code,
        "a signature is beside it and was not checked (--signers FILE)" in done.out.splitlines(),
    ) == (0, True)


@pytest.mark.parametrize("name", ["r.json", "e.zip"])
def test_the_key_of_somebody_else_is_not_enough(keys: Path, name: str) -> None:
    gated("--sign", keys / "bob")
    done = run_cli("verify", name, "--signers", keys / "signers")
    message = f"{name}: signature: expected a key of {keys / 'signers'}, got {fingerprint(keys / 'bob')} [RW-R12]"
    assert (done.code, done.out.splitlines()) == (1, [message, REFUSED])
    done = run_cli("verify", name, "--signers", keys / "both", "--signer", "ada@example.com")
    got = f"that of bob@example.com ({fingerprint(keys / 'bob')})"
    message = f"{name}: signature: expected the signature of ada@example.com, got {got} [RW-R12]"
    assert (done.code, done.out.splitlines()) == (1, [message, REFUSED])


@pytest.mark.parametrize("name", ["r.json", "e.zip"])
def test_no_signature_is_an_answer_where_one_was_asked_for(keys: Path, name: str) -> None:
    gated()
    done = run_cli("verify", name, "--signers", keys / "signers")
    message = f"{name}: signature: expected a signature, got none [RW-R10]"
    assert (done.code, done.out.splitlines()) == (1, [message, REFUSED])


def test_a_receipt_that_changed_after_it_was_signed_is_found(keys: Path) -> None:
    gated("--sign", keys / "ada")
    Path("r.json").write_bytes(canonical(Path("r.json").read_bytes(), lambda body: body.update(verdict="NO-SHIP")))
    done = run_cli("verify", "r.json", "--signers", keys / "signers")
    why = "Signature verification failed: incorrect signature"
    message = f"r.json: signature: expected the bytes that were signed, got others ({why}) [RW-R11]"
    assert (done.code, done.out.splitlines()) == (1, [message, REFUSED])


def test_a_bundle_that_changed_after_it_was_signed_is_found(keys: Path) -> None:
    """Whoever changes a file has to change the manifest, and that is what was signed."""
    gated("--sign", keys / "ada")
    files = files_of(Path("e.zip"))
    changed = sealed(files | {"report.md": files["report.md"].replace(b"SHIP", b"SHOP")})
    packed(Path("forged.zip"), changed)
    done = run_cli("verify", "forged.zip", "--signers", keys / "signers")
    why = "Signature verification failed: incorrect signature"
    message = f"forged.zip: signature: expected the bytes that were signed, got others ({why}) [RW-R11]"
    assert (done.code, done.out.splitlines()) == (1, [message, REFUSED])
    packed(Path("half.zip"), changed | {"manifest.json": files["manifest.json"]})  # signed, but not what it lists
    done = run_cli("verify", "half.zip", "--signers", keys / "signers")
    assert (done.code, done.out.splitlines()[0].split(": ")[1]) == (1, "report.md")


def test_a_signature_for_something_else_does_not_count(keys: Path) -> None:
    gated()
    signed = ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(keys / "ada"), "r.json"]
    subprocess.run(signed, check=True, capture_output=True)
    done = run_cli("verify", "r.json", "--signers", keys / "signers")
    assert (done.code, done.out.splitlines()[0][-9:]) == (1, " [RW-R11]")
    Path("r.json.sig").write_text("no signature at all\n")
    done = run_cli("verify", "r.json", "--signers", keys / "signers")
    assert (done.code, done.out.splitlines()[0][-9:]) == (1, " [RW-R11]")
    gated("--sign", keys / "ada")
    done = run_cli("verify", "r.json", "--signers", keys / "for-git")
    assert (done.code, done.out.splitlines()[0][-9:]) == (1, " [RW-R12]")


def test_the_signature_is_an_ordinary_one(keys: Path) -> None:
    """Whoever does not have ragworthy can check it, too."""
    gated("--sign", keys / "ada")
    check = ["ssh-keygen", "-Y", "verify", "-n", "ragworthy", "-I", "ada@example.com", "-f", str(keys / "signers")]
    done = subprocess.run([*check, "-s", "r.json.sig"], input=Path("r.json").read_bytes(), check=False)
    assert done.returncode == 0


def test_signing_later_is_the_same_as_signing_at_once(keys: Path) -> None:
    gated("--sign", keys / "ada")
    at_once = Path("r.json.sig").read_bytes(), Path("e.zip").read_bytes()
    gated()
    Path("r.json.sig").unlink()
    done = run_cli("sign", "r.json", "--key", keys / "ada")
    assert (done.code, done.out) == (0, "signed: r.json.sig is the signature of r.json\n")
    done = run_cli("sign", "e.zip", "--key", keys / "ada")
    said = "signed: e.zip holds manifest.json.sig, the signature of manifest.json\n"
    assert (done.code, done.out) == (0, said)
    assert (Path("r.json.sig").read_bytes(), Path("e.zip").read_bytes()) == at_once
    assert run_cli("sign", "e.zip", "--key", keys / "bob").code == 0  # instead of the other one
    assert run_cli("verify", "e.zip", "--signers", keys / "both", "--signer", "bob@example.com").code == 0


def test_what_is_no_receipt_is_not_signed(keys: Path) -> None:
    done = run_cli("sign", "gold/answers.jsonl", "--key", keys / "ada")
    assert (done.code, Path("gold/answers.jsonl.sig").exists()) == (2, False)
    gated()
    files = files_of(Path("e.zip"))
    packed(Path("forged.zip"), files | {"report.md": b"SHIP"})
    done = run_cli("sign", "forged.zip", "--key", keys / "ada")
    assert (done.code, done.err.splitlines()[0][-9:]) == (2, " [RW-R05]")


def test_what_is_no_key_is_said_before_anything_is_scored(keys: Path) -> None:
    done = run_cli("gate", "--sign", "gone")
    assert (done.code, done.err.splitlines()[0]) == (2, "gone: expected a file, got nothing at this path [RW-F01]")
    assert not Path(".ragworthy").exists()
    done = run_cli("gate", "-q", "--sign", "gold/answers.jsonl")
    assert done.code == 2
    assert done.err.splitlines()[0].startswith(
        "gold/answers.jsonl: expected a private SSH key that can sign, got: Couldn't load public key"
    )
    assert done.err.splitlines()[0].endswith("[RW-R09]")
    done = run_cli("score", "answers", "--gold", "gold/answers.jsonl", "--trace", "runs/latest/traces.jsonl",
                   "--sign", keys / "ada")  # fmt: skip
    message = "--sign: expected --receipt or --bundle besides it, got neither [RW-U01]"
    assert (done.code, done.err.splitlines()[0]) == (2, message)


def test_without_ssh_keygen_it_is_said(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gated("--sign", keys / "ada")
    monkeypatch.setenv("PATH", str(Path.cwd()))
    done = run_cli("verify", "r.json", "--signers", keys / "signers")
    message = "ssh-keygen: expected OpenSSH 8.1 or newer, got none: No such file or directory [RW-R08]"
    assert (done.code, done.err.splitlines()[0]) == (2, message)


def test_a_signer_needs_signers(keys: Path) -> None:
    gated()
    done = run_cli("verify", "r.json", "--signer", "ada@example.com")
    assert (done.code, done.err.splitlines()[0]) == (2, "--signer: expected --signers besides it, got none [RW-U01]")
