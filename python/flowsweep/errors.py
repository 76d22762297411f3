"""The one error type that the command line prints: what, found, expected, remedy."""

from __future__ import annotations


class FlowsweepError(Exception):
    """A failure that a person can act on.

    Args:
        what: What went wrong and where: file, line or packet and byte offset.
        found: What was found there.
        expected: What was expected instead.
        remedy: What to do now; a command where there is one.
        exit_code: 2 for usage, unreadable input or failure; 1 when the work was
            done but data was lost or the answer is no.
    """

    def __init__(
        self,
        what: str,
        *,
        found: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
        exit_code: int = 2,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.found = found
        self.expected = expected
        self.remedy = remedy
        self.exit_code = exit_code

    def __str__(self) -> str:
        """The message as printed: one line for each part that is known."""
        lines = [self.what]
        for name in ("found", "expected", "remedy"):
            value = getattr(self, name)
            if value is not None:
                lines.append(f"  {name:<9} {value}")
        return "\n".join(lines)
