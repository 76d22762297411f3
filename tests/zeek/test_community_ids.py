"""Community IDs of endpoints, compared with published ones."""

from __future__ import annotations

import duckdb
import pytest

from flowsweep.warehouse import reports_folder

MODEL = "models/community_ids.sql"

#: Endpoints with IDs, as printed by the specification's own programs.
PUBLISHED = [
    ("tcp", "128.232.110.120 34855", "66.35.250.204 80", "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
    ("udp", "192.168.1.52 54585", "8.8.8.8 53", "1:d/FP5EW3wiY1vCndhwleRRKHowQ="),
    ("tcp", "2001:470:e5bf:dead:4957:2174:e82c:4887 63943", "2607:f8b0:400c:c03::1a 25",
     "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "one", "other", "published"), PUBLISHED)
@pytest.mark.parametrize("is_turned", [False, True])
def test_ids_are_the_published_ones(
    protocol: str, one: str, other: str, published: str, *, is_turned: bool
) -> None:
    low, high = (other, one) if is_turned else (one, other)
    database = duckdb.connect()
    database.execute("create table agreements as select ? protocol, ? low, ? high",
                     [protocol, low, high])  # fmt: skip
    found = database.sql((reports_folder() / MODEL).read_text()).fetchall()
    assert found == [(protocol, low, high, published)]


def test_ends_without_ports_have_none() -> None:
    database = duckdb.connect()
    database.execute("create table agreements as select 'icmp' protocol, 'a 0' low, 'b 0' high")
    assert database.sql((reports_folder() / MODEL).read_text()).fetchall() == []
