"""Every worked example of the spec, W-01 … W-52, is a test that names itself: `test_wNN_…`."""

import ast

from places import TESTS

LAST = 52


def test_every_worked_example_is_named_by_a_test() -> None:
    named: dict[int, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "def test_w" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name[:6] == "test_w" and node.name[6:8].isdigit():
                assert any(isinstance(inner, ast.Assert) for inner in ast.walk(node)), f"{path}: {node.name}"
                named.setdefault(int(node.name[6:8]), []).append(node.name)
    assert sorted(named) == list(range(1, LAST + 1))
