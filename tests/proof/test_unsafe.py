"""Zips that do harm when unpacked, and those that are not bundles: refused with the reason, nothing written."""

import contextlib
import shutil
import struct
import zipfile
from pathlib import Path

import pytest

from conftest import run_cli
from ragworthy import starter
from ragworthy.errors import RagworthyError
from ragworthy.proof import zipped
from ragworthy.proof.bundle import opened
from repacked import files_of, packed, sealed

INSIDE = "expected a file inside the bundle, got"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter with a bundle."""
    folder = tmp_path_factory.mktemp("made")
    with contextlib.chdir(folder):
        starter.init(Path())
        assert run_cli("gate", "-q", "--bundle", "e.zip").code == 0
    return folder


@pytest.fixture(autouse=True)
def bundle(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bundle of the starter, in the working folder."""
    shutil.copytree(made, tmp_path / "home")
    monkeypatch.chdir(tmp_path / "home")
    return Path("e.zip")


def refused(message: str, code: str = "RW-R04") -> None:
    done = run_cli("verify", "bad.zip")
    assert (done.code, done.out, done.err.splitlines()[0]) == (2, "", f"bad.zip: {message} [{code}]")


def info(name: str, mode: int = 0o100644) -> zipfile.ZipInfo:
    one = zipfile.ZipInfo(name)
    one.create_system = 3
    one.external_attr = mode << 16
    return one


@pytest.mark.parametrize(
    ("name", "mode", "shown", "got"),
    [
        ("../out.txt", 0o100644, '"../out.txt"', "a path that leads out of it"),
        ("inputs/../../out.txt", 0o100644, '"inputs/../../out.txt"', "a path that leads out of it"),
        ("/tmp/out.txt", 0o100644, '"/tmp/out.txt"', "an absolute path"),
        ("C:/out.txt", 0o100644, '"C:/out.txt"', "an absolute path"),
        ("..\\out.txt", 0o100644, '"..\\out.txt"', "a name that no bundle has"),
        ("inputs/a\x1b[31m", 0o100644, '"inputs/a\\x1b[31m"', "a name that no bundle has"),
        ("inputs//x", 0o100644, '"inputs//x"', "a name that no bundle has"),
        ("inputs/./x", 0o100644, '"inputs/./x"', "a name that no bundle has"),
        ("a/b/c/d/e", 0o100644, '"a/b/c/d/e"', "a name that no bundle has"),
        ("inputs/" + "x" * 256, 0o100644, None, "a name that no bundle has"),
        ("link", 0o120777, '"link"', "a link"),
        ("pipe", 0o010644, '"pipe"', "a device or a pipe"),
        ("disk", 0o060644, '"disk"', "a device or a pipe"),
        ("folder/", 0o040755, '"folder/"', "a folder"),
    ],
)
def test_whatever_leads_out_of_the_folder_is_refused(
    name: str, mode: int, shown: str | None, got: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile("bad.zip", "w") as file:
        file.writestr(info(name, mode), b"../../victim")
    before = sorted(tmp_path.rglob("*"))
    done = run_cli("verify", "bad.zip")
    assert done.code == 2
    if shown is None:
        assert done.err.splitlines()[0].endswith(f": {INSIDE} {got} [RW-R04]")
    else:
        assert done.err.splitlines()[0] == f"bad.zip: {shown}: {INSIDE} {got} [RW-R04]"
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/tmp/out.txt").exists()


def test_what_is_compressed_is_refused_so_that_nothing_grows() -> None:
    with zipfile.ZipFile("bad.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("rows.jsonl", b"0" * (50 << 20))
    assert Path("bad.zip").stat().st_size < 100_000
    refused(f'"rows.jsonl": {INSIDE} a compressed one')


def test_the_same_bytes_listed_many_times_are_refused() -> None:
    """A bomb without compression: many entries of the directory lead to the same bytes."""
    data = b"0" * 100_000
    head = struct.pack("<4s5H3L2H", b"PK\3\4", 10, 0, 0, 0, 33, 0, len(data), len(data), 1, 0) + b"a"
    listed = b""
    for nth in range(1000):
        name = b"a%03d" % nth
        about = (10, 0, 0, 0, 33, 0, len(data), len(data), len(name), 0)
        listed += struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, *about, 0, 0, 0, 0, 0) + name
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1000, 1000, len(listed), len(head) + len(data), 0)
    Path("bad.zip").write_bytes(head + data + listed + end)
    size = Path("bad.zip").stat().st_size
    refused(f"expected at most the {size:,} bytes of the zip itself, got files of 100,000,000 bytes")


def test_a_directory_that_lists_too_much_is_not_even_read() -> None:
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65_535, 65_535, 1 << 20, 4, 0)
    Path("bad.zip").write_bytes(b"PK\3\4" + end)
    refused("expected at most 65,000 files, got a zip that lists 65,535")


def test_a_name_that_is_there_twice_is_refused_whatever_its_case() -> None:
    with zipfile.ZipFile("bad.zip", "w") as file:
        file.writestr("receipt.json", b"{}")
        file.writestr("Receipt.json", b"{}")
    refused(f'"Receipt.json": {INSIDE} a name that is there twice')


def test_what_is_encrypted_is_refused() -> None:
    with zipfile.ZipFile("bad.zip", "w") as file:
        file.writestr("receipt.json", b"{}")
    data = bytearray(Path("bad.zip").read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    Path("bad.zip").write_bytes(data)
    refused(f'"receipt.json": {INSIDE} an encrypted one')


def test_a_zip_that_is_cut_off_or_goes_on_is_no_bundle(bundle: Path) -> None:
    data = bundle.read_bytes()
    for bad in (data[:-1], data[: len(data) // 2], data + b"\n", data + b"\0" * 100):
        Path("bad.zip").write_bytes(bad)
        refused("expected a bundle, got a zip that is cut off or goes on", "RW-R03")


def test_a_zip_whose_bytes_do_not_fit_its_own_sums_is_no_bundle(bundle: Path) -> None:
    data = bundle.read_bytes()
    Path("bad.zip").write_bytes(data.replace(b'"verdict":"SHIP"', b'"verdict":"SHOP"', 1))
    refused("expected a bundle, got: Bad CRC-32 for file 'receipt.json'", "RW-R03")


def test_what_is_only_called_a_zip_is_no_bundle() -> None:
    for data in (b"", b"hello\n"):
        Path("bad.zip").write_bytes(data)
        refused("expected a bundle, got a file that is not a zip", "RW-R03")


def test_another_zip_is_no_bundle() -> None:
    with zipfile.ZipFile("bad.zip", "w") as file:
        file.writestr("word/document.xml", b"<xml/>")
    refused("expected a bundle, got a zip without manifest.json", "RW-R03")


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (b"{", ": expected a manifest, got: input data was truncated"),
        (b"[]\n", ": expected a manifest, got: expected `object`, got `array`"),
        (b'{"files":[],"schema":"ragworthy.bundle/9","tool":{"name":"x","version":"1"}}\n',
         ': schema: expected "ragworthy.bundle/1", got "ragworthy.bundle/9"'),
        (b'{"files": [],"schema":"ragworthy.bundle/1","tool":{"name":"x","version":"1"}}\n',
         ": expected canonical JSON, got bytes that were edited"),
    ],
    ids=["cut off", "a list", "another schema", "a blank"],
)  # fmt: skip
def test_what_is_no_manifest_is_said(bundle: Path, manifest: bytes, said: str) -> None:
    packed(Path("bad.zip"), files_of(bundle) | {"manifest.json": manifest})
    done = run_cli("verify", "bad.zip")
    assert done.code == 2
    assert done.err.splitlines()[0].startswith(f"bad.zip: manifest.json{said}".replace("`", ""))
    assert done.err.splitlines()[0].endswith("[RW-R03]")


def test_a_sound_zip_that_another_program_packed_is_told_from_ours(bundle: Path) -> None:
    with zipfile.ZipFile("again.zip", "w") as file:
        for name, data in files_of(bundle).items():
            file.writestr(info(name), data)
    done = run_cli("verify", "again.zip")
    assert (done.code, done.out.splitlines()) == (
        1,
        [
            "again.zip: expected the bytes that 'gate --bundle' writes, got a zip that was packed again or added to"
            " [RW-R05]",
            "not verified: the bundle says SHIP, but it does not re-derive (exit 1)",
        ],
    )


def test_bytes_before_and_between_the_files_are_found(bundle: Path) -> None:
    data = bundle.read_bytes()
    at = data.index(b"PK\1\2")
    end = bytearray(data[-22:])
    struct.pack_into("<L", end, 16, at + 9)
    Path("between.zip").write_bytes(data[:at] + b"something" + data[at:-22] + end)
    done = run_cli("verify", "between.zip")
    assert (done.code, done.out.splitlines()[0][-9:]) == (1, "[RW-R05]".rjust(9))


def test_whichever_byte_is_flipped_it_is_found(bundle: Path) -> None:
    """Bytes of every field of the directory and its end, and some of the rest, each alone."""
    data = bundle.read_bytes()
    listed = data.index(b"PK\1\2")
    sound = 0
    places = [*range(0, listed, 1511), *range(listed, listed + 60, 2), *range(len(data) - 22, len(data))]
    for at in places:
        Path("bad.zip").write_bytes(data[:at] + bytes([data[at] ^ 0x80]) + data[at + 1 :])
        try:
            with opened(Path("bad.zip")) as there:
                sound += not there.problems
        except RagworthyError:
            continue
    assert sound == 0


def test_it_is_not_made_where_it_would_be_too_large(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bundle.read_bytes()
    monkeypatch.setattr(zipped, "MOST_BYTES", 10_000)
    done = run_cli("gate", "-q", "--bundle", bundle)
    assert done.code == 2
    assert done.err.splitlines()[0].startswith("e.zip: expected less than 4 GiB for a bundle, got ")
    assert done.err.splitlines()[0].endswith(" bytes: keep the files and their receipt [RW-R03]")
    assert bundle.read_bytes() == before
    monkeypatch.setattr(zipped, "MOST_BYTES", 1 << 32)
    monkeypatch.setattr(zipped, "MOST_ENTRIES", 7)
    done = run_cli("gate", "-q", "--bundle", bundle)
    message = "e.zip: expected at most 7 files for a bundle, got 8: keep them and their receipt [RW-R03]"
    assert (done.code, done.err.splitlines()[0]) == (2, message)
    assert bundle.read_bytes() == before


def test_a_file_that_changes_while_it_is_packed_is_no_evidence(bundle: Path) -> None:
    one = zipped.entry("x", Path("gold/answers.jsonl"))
    Path("gold/answers.jsonl").write_text("{}\n")
    with pytest.raises(Exception, match="expected the bytes that were scored, got others"):
        zipped.write(Path("new.zip"), [one])
    assert not Path("new.zip").exists()
    assert sealed(files_of(bundle)) == files_of(bundle)  # the forger's tool seals as we do
