"""An S3 server fails in the middle of an upload: the error, and what is left."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

from .conftest import CAPTURED

RUNS = ("nqueens-baseline-r1", "nqueens-rtt_64ms-r1", "nqueens-rtt_16ms-r1")
SNAKEFILE = """
from snakemake.logging import logger
from flowsweep.workflow import tell_remedies

tell_remedies(logger)

storage:
    provider="s3", endpoint_url="{url}", access_key="testing", secret_key="testing-secret"

RUNS = {runs!r}

rule all:
    input: [storage.s3(f"s3://results/tables/{{run}}.parquet") for run in RUNS]

rule parse:
    input: "runs/{{run}}/pc1.pcap.zst"
    output: storage.s3("s3://results/tables/{{run}}.parquet")
    priority: lambda wildcards: -RUNS.index(wildcards.run)
    shell: "{python} -m flowsweep parse {{input:q}} --output made/{{wildcards.run}}"
        " && cp made/{{wildcards.run}}/flows.parquet {{output:q}}"
"""


class Door:
    """A proxy that works until the server has half of the object `key`, and then fails.

    The server's content at that time stays, as on the disk of a machine that was switched off.
    """

    def __init__(self, server: str, key: str) -> None:
        host, _, port = server.removeprefix("http://").partition(":")
        self._server, self._key = (host, int(port)), key.encode()
        self._inlet = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._inlet.getsockname()[1]}"
        self.sent = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._inlet.accept()
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._server) as server, suppress(OSError):
            threading.Thread(target=self._answer, args=[server, client], daemon=True).start()
            is_upload = False
            while received := client.recv(65536):
                head, end, body = received.partition(b"\r\n\r\n")
                if received.startswith(b"PUT ") and self._key in received.partition(b"\r\n")[0]:
                    is_upload = True
                    server.sendall(head + end)
                    received = body  # may follow the header's interim response 100
                if is_upload and received:
                    self._inlet.shutdown(socket.SHUT_RDWR)
                    self._inlet.close()
                    self.sent = len(received) // 2
                    server.sendall(received[: self.sent])
                    return
                server.sendall(received)

    @staticmethod
    def _answer(server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while received := server.recv(65536):
                client.sendall(received)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for run in RUNS:
        (tmp_path / "runs" / run).mkdir(parents=True)
        shutil.copy(CAPTURED / run / "pc1.pcap.zst", tmp_path / "runs" / run)
    return tmp_path


def snakemake(folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    text = SNAKEFILE.format(url=url, runs=RUNS, python=sys.executable)
    (folder / "Snakefile").write_text(text)
    words = [Path(sys.executable).parent / "snakemake", "--cores", "1"]
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, timeout=250
    )


def test_runs_that_are_there_stay_and_the_rest_follows(
    server: str, client: Any, folder: Path
) -> None:
    pytest.importorskip("snakemake_storage_plugin_s3", reason="run .config/prepare.sh test")

    def stored() -> dict[str, str]:
        listed = client.list_objects_v2(Bucket="results", Prefix="tables/nqueens")
        return {one["Key"]: one["LastModified"] for one in listed.get("Contents", ())}

    keys = [f"tables/{run}.parquet" for run in RUNS]
    door = Door(server, keys[1])
    done = snakemake(folder, door.url)
    output = done.stdout + done.stderr
    assert done.returncode == 1
    assert door.sent > 1_000
    # The place: the object, and the server that did not answer.
    assert f"Failed to store output in storage s3://results/{keys[1]}" in output
    assert f'Could not connect to the endpoint URL: "{door.url}/results/{keys[1]}"' in output
    # And flowsweep's remedy, as Snakemake gives none.
    assert f"s3://results/{keys[1]}: could not be stored or read" in output
    assert "remedy    the same snakemake again, once the server is back" in output
    # No object is incomplete, and existing ones are left.
    before = stored()
    assert [*before] == keys[:1]

    # The remedy in workflows/README.md: the same command, once the server is back.
    again = snakemake(folder, server)
    output = again.stdout + again.stderr
    assert again.returncode == 0, output
    assert "remedy" not in output
    assert f"runs/{RUNS[0]}/" not in output
    after = stored()
    assert sorted(after) == sorted(keys)
    assert after[keys[0]] == before[keys[0]]
    for run, key in zip(RUNS, keys, strict=True):
        client.download_file("results", key, str(folder / "there.parquet"))
        rows = duckdb.sql(f"select count(*), sum(packets) from '{folder}/there.parquet'")
        here = duckdb.sql(f"select count(*), sum(packets) from '{folder}/made/{run}/flows.parquet'")
        assert rows.fetchall() == here.fetchall()
