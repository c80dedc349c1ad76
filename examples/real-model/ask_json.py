"""Asks a chat endpoint for JSON and writes what it said, for `score structured`: `ask_json.py URL MODEL > outputs.jsonl`."""

import hashlib
import json
import sys
import urllib.request
from pathlib import Path

URL, MODEL = sys.argv[1:]
PROMPT = "How long does it take, by this sentence? Answer with amount and unit.\n\n"
UNITS = {"type": "string", "enum": ["minutes", "hours", "days"]}
FIELDS = {"amount": {"type": "integer", "minimum": 0, "maximum": 999}, "unit": UNITS}
SCHEMA = {"type": "object", "properties": FIELDS, "required": list(FIELDS), "additionalProperties": False}
META = {"prompt_sha256": hashlib.sha256(PROMPT.encode()).hexdigest(), "prompt_version": "1", "model_id": MODEL}
META |= {"index_version": "none", "adapter_id": "none"}

for line in Path("durations.jsonl").read_text().splitlines():
    item = json.loads(line)
    body = {
        "model": MODEL,
        "temperature": 0,
        "max_tokens": 60,
        "messages": [{"role": "user", "content": PROMPT + item["question"]}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "duration", "strict": True, "schema": SCHEMA}},
    }
    request = urllib.request.Request(f"{URL}/chat/completions", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    output = {"id": item["id"], "meta": META}
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            output["raw"] = json.load(reply)["choices"][0]["message"]["content"]
    except OSError as error:
        output["error"] = str(error)
    print(json.dumps(output))
