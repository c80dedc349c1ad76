"""A pipeline behind HTTP, on loopback, that has its moods; it logs every request and how many were in flight.

    python moody_server.py LOG PORT MOOD

prints its port, then serves until it is killed. Moods: `well`, `limited N S` (429 for the first N requests, to come
back after S seconds), `loading S` (503 for the first S seconds), `resets N` (the connection breaks in the middle of
every Nth body), `slow S` (each answer takes S seconds, one after the other, unless whoever asked has gone), `takes S`
(the same, but all at once), `always N` (the status N for everything).
"""

import asyncio
import json
import socket
import struct
import sys
import time
from contextlib import suppress

LOG, PORT, MOOD, *NUMBERS = sys.argv[1:] if __name__ == "__main__" else ("", "0", "well")
N = [float(one) for one in NUMBERS]
BEGUN = time.monotonic()
requests = 0
answering: set[asyncio.StreamReader] = set()
slot: asyncio.Lock


def answer(asked: dict[str, str]) -> bytes:
    reply = {"answer_json": {"claim": asked["q"], "citations": ["p1#2"]}, "retrieved_ids": ["p1#2"]}
    return json.dumps(reply).encode()


def message(status: int, body: bytes, after: str = "") -> bytes:
    more = f"Retry-After: {after}\r\n" if after else ""
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


async def taken(reader: asyncio.StreamReader) -> dict[str, str]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    asked: dict[str, str] = json.loads(await reader.readexactly(length))
    return asked


async def slowly(reader: asyncio.StreamReader) -> None:
    """Take the only slot for a while; give it back at once when the other side closes."""

    async def work() -> None:
        async with slot:
            await asyncio.sleep(N[0])

    work_task, gone = asyncio.create_task(work()), asyncio.create_task(reader.read(1))
    _, left = await asyncio.wait({work_task, gone}, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: dict[str, str]) -> None:
    body = answer(asked)
    if MOOD == "limited" and requests <= N[0]:
        writer.write(message(429, b"slow down", f"{N[1]:g}"))
    elif MOOD == "loading" and time.monotonic() - BEGUN < N[0]:
        writer.write(message(503, b'{"error": {"message": "Loading model", "code": 503}}'))
    elif MOOD == "always":
        writer.write(message(int(N[0]), b"no"))
    elif MOOD == "resets" and requests % N[0] == 0:
        writer.write(message(200, body)[:-10])
        await writer.drain()
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
    else:
        if MOOD == "slow":
            await slowly(reader)
        if MOOD == "takes":
            await asyncio.sleep(N[0])
        writer.write(message(200, body))
    await writer.drain()


async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    global requests
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            asked = await taken(reader)
            requests += 1
            answering.add(reader)
            flying = sum(not one.at_eof() for one in answering)  # the others have been hung up on
            with open(LOG, "a") as log:
                log.write(json.dumps({"qid": asked["qid"], "flying": flying}) + "\n")
            try:
                await served(reader, writer, asked)
            finally:
                answering.discard(reader)
    writer.close()


async def main() -> None:
    global slot
    slot = asyncio.Lock()
    server = await asyncio.start_server(connected, "127.0.0.1", int(PORT))
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
