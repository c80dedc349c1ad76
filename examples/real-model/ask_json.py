"""Asks a chat endpoint for JSON and prints what it said, for `score structured`: `ask_json.py URL MODEL`."""

import hashlib
import json
import sys
import urllib.request
from pathlib import Path

URL, MODEL = sys.argv[1:]
PROMPT = "How long does it take, by this sentence? Answer with amount and unit.\n\n"
FIELDS = {"amount": {"type": "integer", "maximum": 999}, "unit": {"enum": ["minutes", "hours", "days"]}}
SCHEMA = {"type": "object", "properties": FIELDS, "required": list(FIELDS), "additionalProperties": False}
FORM = {"type": "json_schema", "json_schema": {"name": "duration", "strict": True, "schema": SCHEMA}}
META = {"prompt_sha256": hashlib.sha256(PROMPT.encode()).hexdigest(), "prompt_version": "1", "model_id": MODEL}

for line in Path("durations.jsonl").read_text().splitlines():
    item = json.loads(line)
    body = {"model": MODEL, "temperature": 0, "max_tokens": 60, "response_format": FORM}
    body["messages"] = [{"role": "user", "content": PROMPT + item["question"]}]
    request = urllib.request.Request(f"{URL}/chat/completions", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    output = {"id": item["id"], "meta": META | {"index_version": "none", "adapter_id": "none"}}
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            output["raw"] = json.load(reply)["choices"][0]["message"]["content"]
    except OSError as error:
        output["error"] = str(error)
    print(json.dumps(output), flush=True)
