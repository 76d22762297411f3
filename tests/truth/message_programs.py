"""Programs whose messages are known, run one after another between pc1 and pc2 of a testbed.

This is the command of an experiment, run in the hub. Writes into `$FLOWSWEEP_OUTPUT`, for each
program and direction, how many messages were sent, from the program's log or by construction:
`{"truth": [{program, port, sender, count, sizes, source}], "skipped": {program: reason}}`.
`sizes` contains the known sizes without the protocol's overhead. Missing programs are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import message_writers

from flowsweep.testbed import spec as specs

HERE = Path(__file__).parent
HOSTS = dict(pair.split("=") for pair in os.environ.get("FLOWSWEEP_HOSTS", "").split(",") if pair)
PROBLEM = json.loads(os.environ.get("FLOWSWEEP_PROBLEM", "{}"))
LIMIT_S = 60
REDIS = {6380: ("SET of 100 B", "set", 100), 6381: ("SET of 20 kB", "set", 20_000)}
REDIS[6382] = ("GET of 20 kB", "get", 20_000)
POSTGRES_PORT = 5440
NGINX_PORT = 8081
PYTHON_PORT = 8082
MPI_PORT = 21_000
PAGES = {"small": 300, "page": 8000, "image": 100_000}


class MissingError(Exception):
    """A program is not installed on this machine."""


def on(host: str, *words: object) -> list[str]:
    return ["on", host, *map(str, words)]


def found(*names: str) -> str:
    """Returns the path of a program."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    places = os.pathsep.join([os.environ["PATH"], "/usr/sbin", *map(str, versions)])
    for name in names:
        if path := shutil.which(name, path=places):
            return path
    raise MissingError(f"{names[0]} is not installed")


def output(*words: object, **more: Any) -> str:
    argv = [str(word) for word in words]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=LIMIT_S, **more
    )
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def serving(*words: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """Runs a server and ends it afterwards."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **more)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(LIMIT_S)


def row(program: str, port: int, sender: str, count: int, source: str, *sizes: int) -> dict:
    return {
        "program": program,
        "port": port,
        "sender": sender,
        "count": count,
        "sizes": list(sizes),
        "source": source,
    }


def both(program: str, port: int, asked: int, answered: int, source: str) -> list[dict]:
    """Returns the rows of requests and responses."""
    return [
        row(f"{program}, requests", port, "pc1", asked, source),
        row(f"{program}, answers", port, "pc2", answered, source),
    ]


def redis(folder: Path, count: int) -> Iterator[dict]:
    """Runs redis-benchmark with one client; redis counts its commands."""
    server, client, load = map(found, ("redis-server", "redis-cli", "redis-benchmark"))
    for port, (title, command, size) in REDIS.items():
        door = folder / f"redis{port}"
        words = [server, "--port", port, "--bind", HOSTS["pc2"], "--unixsocket", door]
        words += ["--save", "", "--protected-mode", "no", "--daemonize", "no"]
        with serving(*on("pc2", *words), cwd=folder):
            wait_for(HOSTS["pc2"], port, "pc2", folder)
            ask = (*on("pc2", client, "-s", door),)
            if command == "get":
                output(*ask, "-x", "set", "key:__rand_int__", input="x" * size)
            output(*ask, "config", "resetstat")
            words = [load, "-h", HOSTS["pc2"], "-p", port, "-c", 1, "-n", count]
            output(*on("pc1", *words, "-d", size, "-t", command, "-q"))
            statistics = output(*ask, "info", "commandstats")
            stats = {
                name: int(n) for name, n in re.findall(r"cmdstat_([^:]*):calls=(\d+)", statistics)
            }
            # The client first asks for two settings, in one write.
            calls = stats[command] + (stats.get("config|get", 0) > 0)
            yield from both(f"redis {title}", port, calls, calls, "INFO commandstats")


def wait_for(address: str, port: int, host: str, folder: Path) -> None:
    """Waits until a host's port listens; asks `ss`, because a trial would be a connection."""
    for _ in range(LIMIT_S * 20):
        listening = output(*on(host, "ss", "-Hltn"))
        if re.search(rf"(?:{re.escape(address)}|\*|0\.0\.0\.0):{port}\b", listening):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens at {address}:{port}; see {folder}")


def pgbench(folder: Path, count: int) -> Iterator[dict]:
    """Runs pgbench with one client; PostgreSQL logs each statement."""
    postgres, initdb, load = found("postgres"), found("initdb"), found("pgbench")
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    data, log = folder / "pg", folder / "pg.log"
    os.chown(folder, 65534, 65534)
    environment = {**os.environ, "LC_ALL": "C", "HOME": str(folder)}
    more: dict[str, Any] = {"cwd": folder, "env": environment}
    output(*user, initdb, "-D", data, "-U", "bench", "-A", "trust", "--no-sync", **more)
    (data / "pg_hba.conf").write_text("local all all trust\nhost all all all trust\n")
    settings = [f"port={POSTGRES_PORT}", f"listen_addresses={HOSTS['pc2']}", "fsync=off"]
    settings += [f"unix_socket_directories={folder}", "log_line_prefix=%r ", "autovacuum=off"]
    words = [*user, Path(postgres).resolve(), "-D", data]
    words += [word for setting in settings for word in ("-c", setting)]
    with log.open("w") as errors, serving(*on("pc2", *words), stderr=errors, **more):
        wait_for(HOSTS["pc2"], POSTGRES_PORT, "pc2", folder)
        local = ["-h", folder, "-p", POSTGRES_PORT, "-U", "bench"]
        output(*on("pc2", load, "-i", "-q", *local, "postgres"), **more)
        alter = "ALTER SYSTEM SET log_statement = 'all'"
        psql = on("pc2", found("psql"), *local, "-d", "postgres", "-c")
        output(*psql, alter, **more)
        output(*psql, "SELECT pg_reload_conf()", **more)
        time.sleep(0.3)
        words = [load, "-h", HOSTS["pc2"], "-p", POSTGRES_PORT, "-U", "bench", "-n"]
        words += ["-c", 1, "-t", count, "--protocol=simple", "postgres"]
        output(*on("pc1", *words), **{**more, "env": {**environment, "PGSSLMODE": "disable"}})
        time.sleep(0.2)
    clients = re.findall(
        rf"^{re.escape(HOSTS['pc1'])}\((\d+)\) LOG:  statement:", log.read_text(), re.MULTILINE
    )
    # A connection also has a startup message, and a termination message without a response.
    connections = len(set(clients))
    source = "log of statements, and its protocol's hello and goodbye"
    asked = len(clients) + 2 * connections
    yield from both("pgbench", POSTGRES_PORT, asked, asked - connections, source)


FETCH = """
import http.client, sys
host, port, *pages = sys.argv[1:]
connection = http.client.HTTPConnection(host, int(port), timeout=60)
for page in pages:
    connection.request("GET", "/" + page)
    connection.getresponse().read()
"""


def nginx(folder: Path, count: int) -> Iterator[dict]:
    """Fetches pages with keep-alive from nginx, set as in Debian, which logs each response."""
    server = found("nginx")
    pages = _pages(folder)
    folder.chmod(0o755)
    config = folder / "nginx.conf"
    config.write_text(f"""
daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.err; user root; worker_processes 1;
events {{}}
http {{
  log_format sizes "$request_uri $bytes_sent"; access_log {folder}/nginx.log sizes;
  sendfile on; tcp_nopush on; keepalive_requests 100000;
  server {{ listen {HOSTS["pc2"]}:{NGINX_PORT}; root {folder}/pages; }}
}}""")
    with serving(*on("pc2", server, "-c", config)):
        wait_for(HOSTS["pc2"], NGINX_PORT, "pc2", folder)
        output(*on("pc1", sys.executable, "-c", FETCH, HOSTS["pc2"], NGINX_PORT, *(pages * count)))
        time.sleep(0.2)
    answers = (folder / "nginx.log").read_text().splitlines()
    asked, answered = both("nginx", NGINX_PORT, len(answers), len(answers), "access log")
    answered["sizes"] = [int(line.split()[1]) for line in answers]
    yield asked
    yield answered


def http_server(folder: Path, count: int) -> Iterator[dict]:
    """Runs Python's http.server, which writes the header and then the page."""
    pages = [page for page in _pages(folder) if PAGES[page] <= 1 << 16]
    serve = (
        "import http.server as s; s.SimpleHTTPRequestHandler.protocol_version = 'HTTP/1.1';"
        f"s.ThreadingHTTPServer(({HOSTS['pc2']!r}, {PYTHON_PORT}),"
        "s.SimpleHTTPRequestHandler).serve_forever()"
    )
    log = folder / "http.log"
    with (
        log.open("w") as errors,
        serving(*on("pc2", sys.executable, "-c", serve), cwd=folder / "pages", stderr=errors),
    ):
        wait_for(HOSTS["pc2"], PYTHON_PORT, "pc2", folder)
        words = [sys.executable, "-c", FETCH, HOSTS["pc2"], PYTHON_PORT, *(pages * count)]
        output(*on("pc1", *words))
    answers = log.read_text().count('" 200 ')
    source = "its log; by construction it writes header and page apart"
    yield from both("http.server", PYTHON_PORT, answers, 2 * answers, source)


def _pages(folder: Path) -> list[str]:
    (folder / "pages").mkdir(exist_ok=True)
    for name, size in PAGES.items():
        (folder / "pages" / name).write_bytes(bytes(size))
    return list(PAGES)


def mpi(folder: Path, count: int) -> Iterator[dict]:
    """Runs Open MPI over TCP; the ranks count their own messages."""
    ranks = [sys.executable, HERE / "message_ranks.py", count, folder]
    ports = ["--mca", "btl_tcp_port_min_v4", MPI_PORT, "--mca", "btl_tcp_port_range_v4", 100]
    words = [found("mpirun"), "--host", "pc1:1,pc2:1", "-np", 2, "--leave-session-attached"]
    words += ["--map-by", "slot", "--bind-to", "none"]
    words += ["--prtemca", "plm_ssh_agent", found("agent")]
    words += ["--prtemca", "prte_if_include", specs.MANAGEMENT_NETWORK]
    words += ["--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "mpi_yield_when_idle", 1]
    words += ["--mca", "btl_tcp_if_include", specs.EXPERIMENT_NETWORK]
    words += ["--mca", "btl_tcp_disable_family", 6]
    output(*words, *ports, *ranks)
    for rank in range(2):
        sizes = json.loads((folder / str(rank)).read_text())
        # Each end of the connection also sends a hello and a goodbye.
        source = "its own calls, and the connection's hello and goodbye"
        yield row(f"MPI rank {rank}", MPI_PORT, f"pc{rank + 1}", len(sizes) + 2, source, *sizes)


def writers(_: Path, count: int) -> Iterator[dict]:
    """Runs the writers of `message_writers.py`."""
    script = HERE / "message_writers.py"
    with serving(*on("pc2", sys.executable, script, "receive", HOSTS["pc2"])) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "ready\n"
        for name, port in message_writers.PORTS.items():
            words = on("pc1", sys.executable, script, "send", HOSTS["pc2"], name, count)
            sizes = json.loads(output(*words))
            yield row(name, port, "pc1", len(sizes), "by construction", *sizes)


PROGRAMS = (redis, pgbench, nginx, http_server, mpi, writers)


def main() -> None:
    count = PROBLEM.get("count", 50)
    truth: list[dict] = []
    skipped: dict[str, str] = {}
    for program in PROGRAMS:
        with tempfile.TemporaryDirectory() as name:
            try:
                truth += program(Path(name), count)
            except MissingError as error:
                skipped[program.__name__] = str(error)
    record = {"truth": truth, "skipped": skipped}
    Path(os.environ["FLOWSWEEP_OUTPUT"]).write_text(json.dumps(record))


if __name__ == "__main__":
    main()
