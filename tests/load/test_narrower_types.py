"""Blocks come in the narrowest type that fits; what is read, and what is wrong, is the same as in the widest."""

import msgspec
import pytest

from ragworthy.load.decode import Decoder
from ragworthy.load.gold import ClosedGold, GoldDecoder, PlainGold
from ragworthy.load.sources import Block
from ragworthy.records import Gold

PLAIN = b'{"qid": "q1", "question": "Gro\xc3\x9f?", "answerable": true, "gold_citations": ["a"], "constraints": []}\n'
MORE = PLAIN.replace(b'"qid"', b'"level": "gro\xc3\x9f", "qid"')
WITH_REFERENCE = PLAIN.replace(b'"qid"', b'"gold_reference": "5 m", "qid"')
NULL = PLAIN.replace(b'"qid"', b'"gold_reference": null, "gold_groups": null, "qid"')
BAD = b"\xc3"


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ([PLAIN] * 3, ClosedGold),
        ([PLAIN, NULL], ClosedGold),
        ([PLAIN, MORE], PlainGold),
        ([MORE, WITH_REFERENCE], Gold),
        ([PLAIN, b"\n", PLAIN], Gold),
    ],
)
def test_the_type_of_a_block(lines: list[bytes], kind: type[Gold]) -> None:
    block = Block(0, b"".join(lines))
    found, wide = GoldDecoder().records(block), Decoder(Gold).records(block)
    assert {type(one) for one in found} == {kind}
    assert list(map(msgspec.structs.asdict, found)) == list(map(msgspec.structs.asdict, wide))


def test_what_did_not_fit_is_not_tried_again() -> None:
    decoder = GoldDecoder()
    kinds = [{type(one) for one in decoder.records(Block(0, data))} for data in (PLAIN, MORE, PLAIN, WITH_REFERENCE)]
    assert kinds == [{ClosedGold}, {PlainGold}, {PlainGold}, {Gold}]
    assert {type(one) for one in decoder.records(Block(0, MORE))} == {PlainGold}


@pytest.mark.parametrize("known", [PLAIN, MORE, WITH_REFERENCE])
@pytest.mark.parametrize(
    "broken",
    [
        PLAIN.replace(b"Gro\xc3\x9f", b"Gro" + BAD),
        MORE.replace(b'"gro\xc3\x9f"', b'"gro' + BAD + b'"'),
        PLAIN.replace(b'"qid"', BAD + b'"qid"'),
        PLAIN.replace(b'"qid"', b'"' + BAD + b'qid"'),
        PLAIN.replace(b'["a"]', b'["a' + BAD + b'"]'),
        PLAIN.replace(b'"q1"', b'"\xed\xa0\x80"'),
        PLAIN.replace(b'"q1"', b"1"),
        PLAIN.replace(b"true", b"tru"),
        PLAIN[:40] + b"\n",
    ],
)
def test_what_is_wrong_is_the_same(known: bytes, broken: bytes) -> None:
    block = Block(7, known * 2 + broken + known)
    narrow, wide = GoldDecoder(), Decoder(Gold)
    assert list(map(msgspec.structs.asdict, narrow.records(block))) == list(
        map(msgspec.structs.asdict, wide.records(block))
    )
    assert narrow.faults == wide.faults
    assert [fault.offset for fault in narrow.faults] == [7 + 2 * len(known)]
