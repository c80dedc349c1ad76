"""Ask pip-audit whether the pinned runtime dependencies have known vulnerabilities.

    python release/audit.py [OPTION OF PIP-AUDIT…]      for example --vulnerability-service osv

pip-audit alone says "No known vulnerabilities found" and exits 0 where its service knows nothing of a package, for
example behind a mirror. So count what was really looked up: nothing looked up is said loudly, and is no clean result.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINS = ROOT / "requirements-runtime.txt"


def main() -> int:
    """Exit 1 for a vulnerability; 0 for none, and for a service that cannot be reached."""
    tool = Path(sys.executable).parent / "pip-audit"
    pinned = ["--requirement", str(PINS), "--disable-pip", "--no-deps"]
    command = [str(tool), *pinned, "--format", "json", "--progress-spinner", "off", *sys.argv[1:]]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    try:
        found = json.loads(done.stdout)["dependencies"]
    except ValueError:  # the tool printed no report: it could not even ask
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        print(f"NOT AUDITED: pip-audit ended with {done.returncode}: {reason}")
        return 0
    audited = [package for package in found if "skip_reason" not in package]
    for package in audited:
        for known in package["vulns"]:
            fixed = ", ".join(known["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {known['id']}, fixed in {fixed}")
    unknown = [package["name"] for package in found if "skip_reason" in package]
    if not audited:
        print(f"NOT AUDITED: the vulnerability service cannot be reached, or knows none of the {len(found)} packages")
    elif unknown:
        print(f"NOT AUDITED: {', '.join(unknown)}")
    vulnerable = [package for package in audited if package["vulns"]]
    print(f"{len(audited)} of {len(found)} packages looked up, {len(vulnerable)} with known vulnerabilities")
    return int(bool(vulnerable))


if __name__ == "__main__":
    sys.exit(main())
