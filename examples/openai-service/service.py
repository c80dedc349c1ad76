"""The service under test: a handbook of a pottery studio behind an address that speaks like OpenAI's.

`python service.py serve PORT` answers POST /v1/chat/completions, with the sources beside the choices.
`python service.py chunks` prints the chunks that it searches.
"""

import json
import math
import re
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REFUSAL = "I could not find that in the handbook."
STOP = """a an and are at be by can do does for from go has have how i in into is it its many may much of on or
one should that the there they this to was we what when where which who whose why will with would you""".split()


def words(text):
    found = re.findall(r"[a-z0-9]+", text.lower())
    return [re.sub(r"(ing|ed|es|s)$", "", word) or word for word in found if word not in STOP]


def chunks():
    """One chunk a paragraph, named after its document: kilns-2."""
    made = []
    for path in sorted(Path(__file__).parent.glob("docs/*.md")):
        title, *paragraphs = path.read_text(encoding="utf-8").strip().split("\n\n")
        for number, text in enumerate(paragraphs, 1):
            chunk = {"id": f"{path.stem}-{number}", "doc_id": path.name, "title": title.removeprefix("# ")}
            made.append(chunk | {"text": " ".join(text.split())})
    return made


CHUNKS = chunks()
KNOWN = Counter(word for chunk in CHUNKS for word in set(words(chunk["text"])))


def likeness(question, text):
    """How much of a question's words a text has; rare words count more, unknown ones most."""
    weigh = {word: math.log(1 + len(CHUNKS) / KNOWN[word]) if KNOWN[word] else 3.5 for word in set(words(question))}
    return sum(weigh[word] for word in weigh.keys() & set(words(text))) / (sum(weigh.values()) or 1)


def retrieve(question, k=4):
    scored = [(round(likeness(question, f"{chunk['title']} {chunk['text']}"), 4), chunk) for chunk in CHUNKS]
    best = sorted(scored, key=lambda one: -one[0])[:k]
    return [(score, chunk) for score, chunk in best if score > 0]


def generate(question, found):
    """Stands in for the model. Yours goes here: prompt it with the question and the numbered texts."""
    if not found or found[0][0] < 0.42:
        return REFUSAL
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", found[0][1]["text"])
    return " ".join(sentences[:3]) + " [1]"


def complete(request):
    """What /v1/chat/completions replies: OpenAI's fields, and what was found."""
    question = request["messages"][-1]["content"]
    found = retrieve(question)
    text = generate(question, found)
    tokens = sum(len(chunk["text"].split()) for _, chunk in found), len(text.split())
    message = {"role": "assistant", "content": text}
    return {
        "object": "chat.completion",
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
        "sources": [{"id": chunk["id"], "snippet": chunk["text"], "score": score} for score, chunk in found],
    }


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/chat/completions" and "messages" in request and "model" in request:
            self.reply(200, complete(request))
        else:
            self.reply(404 if "completions" not in self.path else 422, {"error": {"message": "not understood"}})

    def do_GET(self):
        self.reply(200, {"status": "ok"})

    def reply(self, status, value):
        body = json.dumps(value).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    if sys.argv[1:] == ["chunks"]:
        for chunk in CHUNKS:
            print(json.dumps(chunk, ensure_ascii=False))
    else:
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
