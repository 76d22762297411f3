"""`flowsweep completion`: prints what a shell needs to complete commands, options and names."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from importlib import import_module

from flowsweep import cli, printing
from flowsweep.cli.arguments import Parser

#: The script makes the shell call this command for the next words; the shell completes paths.
SCRIPTS = {
    "bash": """\
_flowsweep() {
    local IFS=$'\\n'
    COMPREPLY=($(compgen -W "$(flowsweep completion words -- \\
        "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _flowsweep flowsweep
""",
    "zsh": """\
_flowsweep() {
    local -a found
    found=(${(f)"$(flowsweep completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    compadd -a found
    _files
}
compdef _flowsweep flowsweep
""",
    "fish": """\
complete -c flowsweep -a \\
    '(flowsweep completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
""",
}


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument(
        "shell", metavar="SHELL", choices=(*SCRIPTS, "words"), help="bash, zsh or fish."
    )
    parser.add_argument("line", nargs="*", help=argparse.SUPPRESS)
    parser.rest = "line"


def completion(*, shell: str, line: list[str]) -> None:
    """Print a shell's completion script for commands, options and names.

    Example: eval "$(flowsweep completion bash)"

    For fish: flowsweep completion fish | source
    """
    if shell in SCRIPTS:
        printing.exact(SCRIPTS[shell])
    else:
        print("\n".join(sorted(candidates(line))))


def candidates(line: list[str]) -> list[str]:
    """Returns the words that complete the last of `line`, the words after `flowsweep`."""
    *before, begun = line or [""]
    return [word for word in _list_following(before, begun) if word.startswith(begun)]


def _list_following(before: list[str], begun: str) -> Iterable[str]:
    group = cli
    while True:
        if not before:
            return (*group.COMMANDS, "--help")
        name, *before = before
        if name not in group.COMMANDS:
            return ()
        module = import_module(f"{group.__name__}.{name.replace('-', '_')}")
        if not hasattr(module, "COMMANDS"):
            break
        group = module
    parser = Parser(name, None)
    module.arguments(parser)
    options = parser._option_string_actions  # noqa: SLF001 - argparse has no other list of them
    if before and before[-1] in options and options[before[-1]].nargs != 0:
        return map(str, options[before[-1]].choices or ())
    if begun.startswith("-"):
        return options
    if before:
        return ()
    return _names(name, parser)


def _names(command: str, parser: Parser) -> Iterable[str]:
    """Returns the values of a command's first argument, if that is not a path."""
    if command == "query":
        from flowsweep.warehouse import figure_names

        return figure_names()
    if command == "columns":
        from flowsweep import dictionary

        return dictionary.names()
    first = next((one for one in parser._actions if not one.option_strings), None)  # noqa: SLF001
    return map(str, (first.choices if first is not None else None) or ())
