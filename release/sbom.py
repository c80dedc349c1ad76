"""Write the bill of materials of a built wheel: what it is, and what is installed with it and all its extras.

    python release/sbom.py dist/ragworthy-VERSION-py3-none-any.whl

The wheel goes into a fresh environment with the versions of requirements-runtime.txt, and CycloneDX reads that. The
same wheel, versions and Python give the same bytes.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

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
    target = wheel.with_name(f"{name}-{version}.cdx.json")
    target.write_text(text, encoding="utf-8")
    print(f"{target}: {len(bill['components'])} packages")
    return 0


def described(wheel: Path, version: str, folder: Path) -> dict[str, Any]:
    """What CycloneDX says of an environment that holds the wheel."""
    python = folder / "environment" / "bin" / "python"
    uv("venv", "--python", sys.executable, folder / "environment")
    pins = ROOT / "requirements-runtime.txt"
    uv("pip", "install", "--python", python, "-c", pins, f"ragworthy[all] @ {wheel.as_uri()}")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    fixed = project.replace('dynamic = ["version"]', f'version = "{version}"')  # the tool reads no dynamic version
    (folder / "pyproject.toml").write_text(fixed, encoding="utf-8")
    options = ("--output-reproducible", "--spec-version", "1.6", "--pyproject", str(folder / "pyproject.toml"))
    command = [str(BIN / "cyclonedx-py"), "environment", *options, str(python)]
    bill: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return bill


def uv(*arguments: str | Path) -> None:
    """Run uv as it is installed beside this interpreter."""
    subprocess.run([BIN / "uv", "--quiet", "--no-config", "--no-python-downloads", *arguments], check=True)


if __name__ == "__main__":
    sys.exit(main())
