"""Nearly valid bytes: real files with a few edits, and documents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import strategies as st

#: Largest input.
MOST_BYTES = 2**20
#: Repetitions of a part; large ones find superlinear growth.
TIMES = [2, 3, 10, 100, 1_000, 30_000, 1_000_000]
#: Numbers at the limits of formats and machines.
NUMBERS = [b"0", b"-1", b"255", b"65536", b"2147483648", b"9223372036854775807", b"1e308",
           b"9223372036854775808", b"18446744073709551616", b"-0", b"1e400", b"NaN", b"-inf",
           b"0.1", b"0x10", b"1_0", b"9" * 400, b""]  # fmt: skip
#: Tokens of all kinds of files, wrong in most places.
TOKENS = [b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1b[31m", b"\r\n", b"\n",
          b"\t", b" ", b"\\", b'"', b"'", b"/", b"../", b"%2F", b"\\x00", b"\\xff", b"\\ud800",
          "\u202e\u2028\u0085ß".encode(), b"\x80\x81", b"{0.__class__}", b"$(id)", b"<script>",
          b"-", b"#", b":", b",", b"{", b"}", b"[", b"]"]  # fmt: skip


def edited(seeds: Sequence[bytes], tokens: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Draws a seed with one to six edits, at most `MOST_BYTES` long."""
    edit = st.tuples(
        st.sampled_from(_EDITS),
        st.floats(0, 1),
        st.sampled_from([*tokens, *TOKENS, *NUMBERS]),
        st.sampled_from([0, 1, 1, *TIMES]),
    )

    def apply(seed: bytes, edits: list[tuple[str, float, bytes, int]], other: bytes) -> bytes:
        for one in edits:
            seed = _with(seed, *one, other)[:MOST_BYTES]
        return seed

    some = st.lists(edit, min_size=1, max_size=6)
    return st.builds(apply, st.sampled_from(seeds), some, st.sampled_from(seeds))


def _with(content: bytes, kind: str, where: float, token: bytes, times: int, other: bytes) -> bytes:
    """Returns the content with one edit, at a share of its length."""
    at = round(where * len(content))
    start, end = at, min(len(content), at + len(token))
    if kind in _UNITS and (found := _UNITS[kind].search(content, at)):
        start, end = found.span()
    elif kind.endswith("line"):
        start = content.rfind(b"\n", 0, at) + 1
        end = content.find(b"\n", at) + 1 or len(content)
    head, part, tail = content[:start], content[start:end], content[end:]
    if kind.startswith("repeat"):
        return head + part * min(times, MOST_BYTES // max(1, len(part))) + tail
    if kind == "insert":
        return head + token * min(times, MOST_BYTES // max(1, len(token))) + part + tail
    if kind == "join":
        return head + other[round(where * len(other)) :]
    return head + token + tail


_UNITS = {
    "number": re.compile(rb"[0-9]+(?:\.[0-9]+)?"),
    "word": re.compile(rb"[A-Za-z_][A-Za-z0-9_.]*"),
    "repeat word": re.compile(rb"[A-Za-z0-9_.]+[^A-Za-z0-9_.]*"),
}
_EDITS = (*_UNITS, "number", "word", "insert", "bytes", "repeat bytes", "repeat line", "join")


def numbers_and_texts() -> st.SearchStrategy[object]:
    """Draws JSON values of any shape."""
    single = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
        st.integers(-(2**70), 2**70),
    )  # fmt: skip
    return st.recursive(
        single,
        lambda part: (
            st.lists(part, max_size=5) | st.dictionaries(st.text(max_size=10), part, max_size=5)
        ),
        max_leaves=30,
    )
