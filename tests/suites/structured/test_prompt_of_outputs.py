"""The prompt file beside outputs: what it fills in, what it contradicts, and where reports show its hash."""

import hashlib
import json
from pathlib import Path

import pytest

from conftest import run_cli
from structured_case import META, both, cli, gated, question, scored

TEXT = "---\nversion: p10\n---\nAnswer in JSON.\n"
SHA256 = hashlib.sha256(TEXT.encode()).hexdigest()
OTHER = "another prompt than the one given"


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    path = tmp_path / "prompt.md"
    path.write_text(TEXT)
    return path


def test_outputs_made_with_the_prompt_are_sound_and_others_are_not(tmp_path: Path, prompt: Path) -> None:
    questions, outputs = both(3)
    made = [one | {"meta": META | {"prompt_sha256": SHA256}} for one in outputs]
    assert scored(tmp_path, questions, made, "--prompt", prompt).report["verdict"] == "SHIP"
    ran = scored(tmp_path, questions, outputs, "--prompt", prompt)  # whose hash is that of another file
    assert ran.report["verdict"] == "INVALID"
    told = f'the outputs were made with {OTHER}: prompt_sha256 is "{"ab" * 32}" and not "{SHA256}"'
    assert ran.report["invalid"] == [told]
    mixed = [*made[:2], outputs[2]]
    assert scored(tmp_path, questions, mixed, "--prompt", prompt).report["invalid"] == [told]


def test_the_name_of_a_version_does_not_decide_where_the_hash_is_right(tmp_path: Path, prompt: Path) -> None:
    questions, outputs = both(2)
    made = [one | {"meta": META | {"prompt_sha256": SHA256, "prompt_version": "mine"}} for one in outputs]
    ran = scored(tmp_path, questions, made, "--prompt", prompt)
    assert (ran.report["verdict"], ran.body["provenance"]["prompt_version"]) == ("SHIP", "mine")


def test_the_file_says_what_outputs_do_not_and_what_somebody_typed_is_not_believed(
    tmp_path: Path, prompt: Path
) -> None:
    questions, outputs = both(2)
    rest = {key: value for key, value in META.items() if not key.startswith("prompt")}
    silent = [one | {"meta": rest} for one in outputs]
    ran = scored(tmp_path, questions, silent, "--prompt", prompt)
    assert ran.report["verdict"] == "SHIP"
    assert [ran.body["provenance"][key] for key in ("prompt_sha256", "prompt_version")] == [SHA256, "p10"]
    typed = tmp_path / "made.json"
    typed.write_text(json.dumps({"prompt_sha256": "cd" * 32}))
    ran = scored(tmp_path, questions, silent, "--prompt", prompt, "--provenance", typed)
    assert ran.report["invalid"] == [
        f'the outputs were made with {OTHER}: prompt_sha256 is "{"cd" * 32}" and not "{SHA256}"'
    ]


def test_every_report_shows_the_hash_of_the_prompt_and_the_version_of_the_set(tmp_path: Path) -> None:
    questions, outputs = both(2)
    done = cli(tmp_path, questions, outputs, "--full", "-o", tmp_path / "r.md", "-o", tmp_path / "r.json")
    version = f"questions.jsonl@sha256:{hashlib.sha256((tmp_path / 'questions.jsonl').read_bytes()).hexdigest()}"
    assert f"  prompt_sha256 {'ab' * 32}, eval_set_version {version}\n" in done.out
    assert f"- prompt_sha256 `{'ab' * 32}`, eval_set_version `{version}`\n" in (tmp_path / "r.md").read_text()
    made = json.loads((tmp_path / "r.json").read_text())["suites"]["structured"]["provenance"]
    assert (made["prompt_sha256"], made["eval_set_version"]) == ("ab" * 32, version)


def test_a_policy_names_the_prompt_and_its_receipt_pins_it(tmp_path: Path, prompt: Path) -> None:
    questions, outputs = both(2)
    made = [one | {"meta": META | {"prompt_sha256": SHA256}} for one in outputs]
    scored(tmp_path, questions, made)
    receipt = tmp_path / "receipt.json"
    assert gated(tmp_path, 'prompt = "prompt.md"\n', "--receipt", receipt).report["verdict"] == "SHIP"
    assert run_cli("verify", receipt).code == 0
    prompt.write_text(TEXT + "More.\n")
    assert run_cli("verify", receipt).code == 1
    assert gated(tmp_path, 'prompt = "prompt.md"\n').report["verdict"] == "INVALID"


def test_a_dev_set_may_be_a_plain_array_of_some_of_the_questions(tmp_path: Path) -> None:
    questions, outputs = both(6)
    dev = tmp_path / "dev.json"
    dev.write_text(json.dumps([one | {"split": "dev"} for one in questions[1:4]], indent=1))
    ran = scored(tmp_path, questions, outputs, "--subset", dev)
    assert ran.body["subset"] == {
        "verdict": "SHIP",
        "questions": 3,
        "gates": dict.fromkeys(("structured.score", "structured.schema_pass_rate", "structured.missing"), "pass"),
        "scored": "whole",
    }
    broken = [one | {"raw": "no"} if one["id"] == "Q2" else one for one in outputs]
    ran = scored(tmp_path, questions, broken, "--subset", dev)
    assert (ran.report["verdict"], ran.body["subset"]["scored"], ran.body["counts"]["gold"]) == ("NO-SHIP", "subset", 3)
    dev.write_text(json.dumps([question(2) | {"question": "Another one?"}]))
    assert "[RW-Q10]" in cli(tmp_path, questions, outputs, "--subset", dev).err
