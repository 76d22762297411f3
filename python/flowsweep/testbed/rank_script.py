"""Makes a command the ranks of one MPI world: what each rank runs under mpirun."""

from __future__ import annotations

# Arguments: where rank 0 writes its report, the problem, the command, and the host of each rank.
# mpirun takes about a second to start and end ranks, which is not part of the program's time;
# rank 0 times the program alone, and reports that if the program does not.
SCRIPT = """\
export FLOWSWEEP_OUTPUT="$1" FLOWSWEEP_PROBLEM="$2"
command=$3
shift 3
shift "$OMPI_COMM_WORLD_RANK"
export FLOWSWEEP_HOST="$1" FLOWSWEEP_RANK="$OMPI_COMM_WORLD_RANK"
export FLOWSWEEP_RANKS="$OMPI_COMM_WORLD_SIZE"
begin=$(date +%s%N)
/bin/sh -c "$command"
code=$?
took=$(($(date +%s%N) - begin))
if [ "$FLOWSWEEP_RANK" = 0 ] && [ "$code" = 0 ] && [ ! -e "$FLOWSWEEP_OUTPUT" ]; then
    part="${FLOWSWEEP_OUTPUT%/*}/.${FLOWSWEEP_OUTPUT##*/}.part"
    printf '{"completion_s": %d.%09d, "timed": "by rank 0"}' \\
        $((took / 1000000000)) $((took % 1000000000)) >"$part" && mv "$part" "$FLOWSWEEP_OUTPUT"
fi
exit "$code"
"""


def rank_program(command: str, ranks: list[str], problem: str, output: str) -> list[str]:
    """Returns the words that mpirun starts as each rank.

    Args:
        command: A shell command.
        ranks: The host of each rank.
        problem: The parameters of the problem, JSON.
        output: Where rank 0 may write app.json.
    """
    return ["/bin/sh", "-c", SCRIPT, "rank", output, problem, command, *ranks]
