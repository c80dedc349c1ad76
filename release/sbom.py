"""Write the bill of materials of a built wheel: what it is, and what is installed with it and all its extras.

    python release/sbom.py dist/ragworthy-VERSION-py3-none-any.whl

The wheel goes into a fresh environment with the versions of requirements-runtime.txt, and CycloneDX reads that. The same
wheel and the same versions give the same bytes.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


def main() -> int:
    """Write the file beside the wheel and say where it is."""
    wheel = Path(sys.argv[1]).resolve()
    name, version, _, _ = parse_wheel_filename(wheel.name)
    with tempfile.TemporaryDirectory() as folder:
        bill = described(wheel, str(version), Path(folder))
    root = bill["metadata"]["component"]
    root["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    text = json.dumps(bill, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        print(f"not valid CycloneDX: {wrong}", file=sys.stderr)
        return 1
    target = wheel.with_name(f"{name}-{version}.cdx.json")
    target.write_text(text, encoding="utf-8")
    print(f"{target}: {len(bill['components'])} packages")
    return 0


def described(wheel: Path, version: str, folder: Path) -> dict[str, Any]:
    """What CycloneDX says of an environment that holds the wheel."""
    python = folder / "environment" / "bin" / "python"
    uv = [BIN / "uv", "--quiet", "--no-config", "--no-python-downloads"]
    subprocess.run([*uv, "venv", "--python", sys.executable, folder / "environment"], check=True)
    wanted = f"ragworthy[all] @ {wheel.as_uri()}"
    pins = ROOT / "requirements-runtime.txt"
    subprocess.run([*uv, "pip", "install", "--python", python, "-c", pins, wanted], check=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project["project"].pop("dynamic")
    project["project"]["version"] = version  # the tool does not know where a dynamic version comes from
    (folder / "pyproject.toml").write_text(tomli_w.dumps(project), encoding="utf-8")
    command = [BIN / "cyclonedx-py", "environment", "--output-reproducible", "--pyproject", folder / "pyproject.toml"]
    done = subprocess.run([*command, "--spec-version", "1.6", python], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
