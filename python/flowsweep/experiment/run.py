"""One planned run: its hosts and links, and everything that determines its outcome."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flowsweep.experiment import points
from flowsweep.experiment.axes import LINK_AXES

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment, Host
    from flowsweep.experiment.network import Change, Link
    from flowsweep.experiment.points import Point
    from flowsweep.experiment.workload import Workload


@dataclass(frozen=True)
class Run:
    """One run: its workload, its point, and its place in the order."""

    id: str
    experiment: Experiment
    workload: Workload
    point: Point
    repetition: int
    block: int
    baseline: bool
    warmup: bool

    @property
    def app(self) -> str:
        """The workload's name, as in the report."""
        return self.workload.name

    @property
    def variant(self) -> dict[str, Any]:
        """The parameters that its variant changes."""
        return self.workload.variants.get(self.point.variant, {})

    @property
    def problem(self) -> str:
        """All parameters, as the JSON that the program gets."""
        return points.problem_text(self.point.parameters, self.variant)

    @property
    def hosts(self) -> list[Host]:
        """The hosts that take part."""
        return self.experiment.hosts_of(self.workload, self.point.hosts)

    @property
    def sites(self) -> dict[str, list[str]]:
        """The names of its hosts by site."""
        found: dict[str, list[str]] = {}
        for host in self.hosts:
            found.setdefault(host.site, []).append(host.name)
        return found

    @property
    def rank_hosts_by_site(self) -> dict[str, list[str]]:
        """The names of the hosts that ranks may run on, by site."""
        place = self.point.placement
        return {site: names for site, names in self.sites.items() if place in (None, site)}

    @property
    def first_host(self) -> str:
        """The host of a master, and of a command that is started once."""
        return next(iter(self.rank_hosts_by_site.values()))[0]

    @cached_property
    def links(self) -> dict[tuple[str, str], Link]:
        """The link of each pair of sites: the point's link with the pair's own settings."""
        common = self.point.link(self.experiment.link)
        own = {frozenset(pair.between): pair for pair in self.experiment.pairs}
        found = {}
        for ends in itertools.combinations(self.sites, 2):
            pair = own.get(frozenset(ends))
            if pair is None:
                found[ends] = common
            else:
                found[pair.between] = common.model_copy(update=pair.given())
        return found

    @property
    def schedule(self) -> list[Change]:
        """The changes of links while the program runs."""
        named = self.experiment.schedules
        changes = named.get(self.point.schedule or "", self.experiment.schedule)
        return [one for one in changes if one.between is None or {*one.between} <= {*self.sites}]

    @property
    def ways_back(self) -> dict[tuple[str, str], Link]:
        """The direction from the second site to the first, where it differs."""
        return {
            pair.between: self.links[pair.between].model_copy(update=pair.back.given())
            for pair in self.experiment.pairs
            if pair.back is not None and pair.between in self.links
        }

    @property
    def emulator_seed(self) -> int:
        """The random seed of its links; with a common seed all runs would lose the same frames."""
        text = f"{self.experiment.seed} {self.id}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])

    @property
    def beside(self) -> Run | None:
        """The workload that runs beside this one, at its own baseline and on the same hosts."""
        for workload in self.experiment.workloads:
            if workload.name == self.point.beside:
                base = points.baseline(self.experiment, workload)
                point = base.changed({"hosts": self.point.hosts})
                on_same_hosts = workload.model_copy(update={"hosts": self.workload.hosts})
                return replace(self, workload=on_same_hosts, point=point)
        return None

    @property
    def workers(self) -> dict[str, int]:
        """Worker ranks of each host that has any, in the order of hosts.

        A total is dealt like cards: one to the first host of each site in turn, then to the
        second hosts, and so on, so that with two sites two ranks are on different sites. With a
        `placement`, that site gets all ranks.
        """
        total = self.point.ranks or (self.point.ranks_per_host or 1) * len(self.hosts)
        rounds = itertools.zip_longest(*self.rank_hosts_by_site.values())
        turn = [name for group in rounds for name in group if name is not None]
        share, rest = divmod(total, len(turn))
        dealt = {name: share + (index < rest) for index, name in enumerate(turn)}
        return {host.name: dealt[host.name] for host in self.hosts if dealt.get(host.name)}

    def spec(self) -> dict[str, Any]:
        """Returns everything that determines the outcome, as JSON values for run.json."""
        experiment, point = self.experiment, self.point
        axes = {axis: {"asked": text} for axis, text in point.describe_axes().items()}
        is_shaped = experiment.testbed.shapes_links
        if not is_shaped:
            axes = {axis: asked for axis, asked in axes.items() if axis not in LINK_AXES}
        if point.placement is not None:
            # The hosts differ in their number of ranks.
            axes.pop("ranks_per_host", None)
        axes["ranks"] = {"asked": str(sum(self.workers.values()))}
        return {
            "run": self.id,
            "experiment": experiment.name,
            "app": self.app,
            "program": self.workload.program,
            "problem": point.parameters,
            **({"variant": self.variant} if self.variant else {}),
            "compute": self.workload.compute,
            "ranks_per_host": point.ranks_per_host if point.placement is None else None,
            "axes": axes,
            "queue_bytes": point.link(experiment.link).effective_queue_bytes if is_shaped else None,
            "congestion_control": point.congestion,
            **({"tcp_asked": self.workload.tcp} if self.workload.tcp else {}),
            "testbed": experiment.testbed.recorded(),
            "links": self._link_specs() if is_shaped else [],
            "uplinks": {
                site: described.uplink.model_dump(mode="json")
                for site, described in experiment.sites.items()
                if described.uplink is not None and site in self.sites
            },
            "schedule": [
                {"at_ns": change.at_ns, "between": change.between, **_json(change.given())}
                for change in self.schedule
            ],
            "overhead": experiment.emulation.overhead,
            "where": self.workload.where if self.workload.command else None,
            **self._outcome_spec(),
            **self._server_spec(),
            **self._beside_spec(),
            **self._random_spec(),
            "baseline": self.baseline,
            "warmup": self.warmup,
            "repetition": self.repetition,
            "block": self.block,
            "seed": experiment.seed,
            "sites": self.sites,
            "capture": {
                "snaplen": experiment.capture.snaplen,
                "filter": experiment.capture.filter,
                "buffer_bytes": experiment.capture.buffer_bytes,
            },
            "timeout_s": experiment.timeout_s,
        }

    def _outcome_spec(self) -> dict[str, Any]:
        """Returns {} for a workload without outcomes, so that its runs keep their hashes."""
        outcomes = self.workload.outcomes
        listed = {
            name: one if isinstance(one, str) else one.model_dump(mode="json")
            for name, one in outcomes.items()
        }
        return {"outcomes_asked": listed} if listed else {}

    def _server_spec(self) -> dict[str, Any]:
        """Returns {} for a workload without servers, so that its runs keep their hashes."""
        servers = self.workload.serve
        return {"serve": [server.model_dump(mode="json") for server in servers]} if servers else {}

    def _beside_spec(self) -> dict[str, Any]:
        """Returns the spec of the program that runs beside it; {} if there is none."""
        if self.beside is None:
            return {}
        other = self.beside
        return {
            "beside": {
                "app": other.app,
                "program": other.workload.program,
                "problem": json.loads(other.problem),
                "compute": other.workload.compute,
                "where": other.workload.where if other.workload.command else None,
                "workers": other.workers,
            }
        }

    def _random_spec(self) -> dict[str, Any]:
        """Returns {} if nothing is random, so that such runs keep their hashes."""
        ways = [*self.links.values(), *self.ways_back.values(), *self.schedule]
        is_random = self.experiment.testbed.shapes_links and any(way.is_random for way in ways)
        return {"emulator_seed": self.emulator_seed} if is_random else {}

    def _link_specs(self) -> list[dict[str, Any]]:
        back = {ends: link.model_dump(mode="json") for ends, link in self.ways_back.items()}
        return [
            {"between": list(ends), **link.model_dump(mode="json"), "back": back.get(ends)}
            for ends, link in self.links.items()
        ]

    def spec_hash(self) -> str:
        """Returns a hash of `spec` without the run's block, as 16 hex digits."""
        spec = {key: value for key, value in self.spec().items() if key != "block"}
        text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def summary(self) -> str:
        """Describes the point in one line: RTT, rate, and the swept axes."""
        asked = {**self.point.describe_axes(), "ranks": str(sum(self.workers.values()))}
        swept = self.experiment.axes_of(self.workload)
        always = ("rtt", "rate") if self.experiment.testbed.shapes_links else ("hosts",)
        words = [
            f"{axis}={text}" for axis, text in asked.items() if axis in always or axis in swept
        ]
        if "problem" in swept:
            words += [f"{key}={value}" for key, value in self.point.parameters.items()]
        return " ".join(words)


def _json(given: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value if isinstance(value, int | float | str | None) else str(value)
        for key, value in given.items()
    }
