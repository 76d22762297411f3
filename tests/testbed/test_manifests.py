"""The manifest of a capture, checked against the run."""

from __future__ import annotations

from flowsweep.testbed.manifests import early_end_fault


def test_a_capture_that_ended_before_the_run_is_reported_with_its_host() -> None:
    manifest = {"status": "complete", "stop_reason": "SIGTERM", "lost_writing": 0}
    assert early_end_fault("pc1", manifest) is None
    full = {"status": "incomplete", "stop_reason": "write error: no room", "lost_writing": 3}
    expected = "capture on pc1 is incomplete: write error: no room, 3 packets not written"
    assert early_end_fault("pc1", full) == expected


def test_a_manifest_of_another_program_that_tells_no_status_is_no_fault() -> None:
    assert early_end_fault("pc1", {"dropped_kernel": 0}) is None
