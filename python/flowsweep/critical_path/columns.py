"""The columns of the table `critical_path`."""

NAME = "critical_path"
_PART = """\
What the time is. computing: from the arrival of what the host waited for to what it sent next.
sender stall: the sender of a message held bytes back, for a window, its pace or more data.
serialisation: what the bytes take at the rate of the link. queueing: others' bytes left before
them. loss recovery: from the first sending of its bytes to the one that arrived. propagation: the
least delay of the direction. not explained: the whole run, where the fate or connection of more
than 5 % of the payload is not known."""
_BEGIN = """\
When it begins, by the reference's clock. Parts of one message follow each other in the order of
`part`, which need not be that of time."""
#: Type, unit and meaning of each column.
COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "step": ("int64", None, "Number of the piece in the path of the run, from 0 at its start."),
    "receiver": ("text", None, "Host that received the message; null for computing."),
    "part": ("text", None, _PART.replace("\n", " ")),
    "begin": ("time", None, _BEGIN.replace("\n", " ")),
    "duration_ns": ("int64", "ns", "How long it takes; all of a run add up to its completion."),
}
