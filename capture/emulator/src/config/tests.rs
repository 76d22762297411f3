use flowsweep_links::flow::Policy;
use flowsweep_links::{Jitter, Law, Loss, Parameters};

use super::*;
use std::num::NonZeroU64;

const PORTS: &str = r#""ports": [{"name": "west", "interface": "up-west"}, {"name": "east", "interface": "up-east"}]"#;

fn with_link(link: &str) -> Result<Plan, Fault> {
    parse(&format!("{{{PORTS}, \"links\": [{link}]}}"))
}

fn direction(plan: &Plan, wanted: usize) -> Parameters {
    let found = plan.parameters.iter().find_map(|applied| match applied {
        Applied::Direction(index, parameters) if *index == wanted => Some(*parameters),
        _ => None,
    });
    found.expect("a direction")
}

fn fault(result: Result<Plan, Fault>) -> Fault {
    match result {
        Ok(plan) => panic!("accepted: {plan:?}"),
        Err(fault) => fault,
    }
}

#[test]
fn link_becomes_two_directions_with_overrides() {
    let plan = with_link(
        r#"{"a": "west", "b": "east", "delay_ns": 8000000, "rate_bit_s": 1e8, "queue_bytes": 262144,
            "b_to_a": {"rate_bit_s": null, "delay_ns": 5}}"#,
    )
    .expect("accepted");
    let ends: Vec<_> = plan
        .network
        .directions()
        .iter()
        .map(|planned| (planned.from, planned.to))
        .collect();
    assert_eq!(ends, [(0, 1), (1, 0)]);
    let (there, back) = (direction(&plan, 0), direction(&plan, 1));
    assert_eq!(there.line.rate_bit_s, NonZeroU64::new(100_000_000));
    assert_eq!(
        (there.delay_ns, there.line.queue.bytes),
        (8_000_000, 262_144)
    );
    assert_eq!((back.line.rate_bit_s, back.delay_ns), (None, 5));
}

#[test]
fn queue_defaults_to_the_bandwidth_delay_product() {
    let queue = |link: &str| {
        direction(&with_link(link).expect("accepted"), 0)
            .line
            .queue
            .bytes
    };
    let link = r#"{"a": "west", "b": "east", "delay_ns": 50000000, "rate_bit_s": 100000000}"#;
    assert_eq!(queue(link), 1_250_000);
    assert_eq!(
        queue(r#"{"a": "west", "b": "east", "rate_bit_s": 80000}"#),
        65_536
    );
}

#[test]
fn unusable_values_are_refused_with_their_key() {
    for (link, key) in [
        (
            r#"{"a": "west", "b": "east", "rate_bit_s": 0}"#,
            "links[0].rate_bit_s",
        ),
        (
            r#"{"a": "west", "b": "east", "rate_bit_s": -1}"#,
            "links[0].rate_bit_s",
        ),
        (
            r#"{"a": "west", "b": "east", "delay_ns": 1.5}"#,
            "links[0].delay_ns",
        ),
        (
            r#"{"a": "west", "b": "east", "delay_ns": 1e12}"#,
            "links[0].delay_ns",
        ),
        (
            r#"{"a": "west", "b": "east", "rate_bit_s": 9, "queue_bytes": 0}"#,
            "links[0].queue_bytes",
        ),
        (
            r#"{"a": "west", "b": "east", "a_to_b": {"rate_bit_s": 0}}"#,
            "links[0].a_to_b.rate_bit_s",
        ),
        (r#"{"a": "west", "b": "south"}"#, "links[0].b"),
        (r#"{"a": "west", "b": "west"}"#, "links[0]"),
        (
            r#"{"a": "west", "b": "east"}, {"a": "east", "b": "west"}"#,
            "links[1]",
        ),
        ("", "links"),
    ] {
        assert_eq!(fault(with_link(link)).key, key, "{link}");
    }
}

#[test]
fn every_key_of_a_link_reaches_its_parameters() {
    let plan = with_link(
        r#"{"a": "west", "b": "east", "delay_ns": 1000, "rate_bit_s": 1e9, "reorder": true, "duplicate": 0.5,
            "jitter": {"std_ns": 10, "law": "pareto"}, "loss": {"p": 0.1, "r": 0.5}, "parallel": 3, "hash": "layer2+3",
            "queue": {"packets": 7, "discipline": "codel", "target_ns": 9},
            "b_to_a": {"jitter": null, "loss": {"rate": 0.25}, "queue_bytes": 5000}}"#,
    )
    .expect("accepted");
    let (there, back) = (direction(&plan, 0), direction(&plan, 1));
    assert_eq!(
        (there.parallel, there.reorder, there.duplicate),
        (3, true, 0.5)
    );
    assert_eq!(there.hash, Policy::Layer23);
    let law = Law::Pareto;
    assert_eq!(there.jitter, Some(Jitter { std_ns: 10.0, law }));
    let burst = Loss::GilbertElliott {
        p: 0.1,
        r: 0.5,
        good: 0.0,
        bad: 1.0,
    };
    assert_eq!(there.loss, Some(burst));
    let targets = there.line.queue.codel.expect("codel");
    assert_eq!((targets.target_ns, targets.interval_ns), (9, 100_000_000));
    assert_eq!(there.line.queue.packets, 7);
    assert_eq!(
        (back.jitter, back.loss),
        (None, Some(Loss::Independent { rate: 0.25 }))
    );
    assert_eq!(
        (back.line.queue.bytes, back.line.queue.codel),
        (5_000, None)
    );
    assert_eq!(back.parallel, 3);
}

#[test]
fn unusable_new_values_are_refused_with_their_key() {
    for (values, key) in [
        (r#""loss": {"rate": 1.5}"#, "links[0].loss.rate"),
        (r#""loss": {"p": 0.1}"#, "links[0].loss"),
        (r#""duplicate": -1"#, "links[0].duplicate"),
        (r#""parallel": 0"#, "links[0].parallel"),
        (r#""parallel": 65"#, "links[0].parallel"),
        (
            r#""jitter": {"std_ns": -1, "law": "normal"}"#,
            "links[0].jitter.std_ns",
        ),
        (
            r#""jitter": {"std_ns": 1, "law": "cauchy"}"#,
            "links[0].jitter.law",
        ),
        (
            r#""queue": {"packets": 0}, "rate_bit_s": 9"#,
            "links[0].queue.packets",
        ),
        (
            r#""queue": {"bytes": 9}, "queue_bytes": 9"#,
            "links[0].queue",
        ),
        (r#""queue": {"target_ns": 9}"#, "links[0].queue"),
    ] {
        let link = format!(r#"{{"a": "west", "b": "east", {values}}}"#);
        assert_eq!(fault(with_link(&link)).key, key, "{values}");
    }
}

#[test]
fn schedule_is_checked_and_sorted_and_changes_only_what_it_names() {
    let text = |schedule: &str| {
        format!(
            r#"{{{PORTS}, "links": [{{"a": "west", "b": "east", "rate_bit_s": 5, "delay_ns": 7}}], "schedule": [{schedule}]}}"#
        )
    };
    let plan = parse(&text(
        r#"{"at_ns": 9, "a": "east", "b": "west", "a_to_b": {"rate_bit_s": 8}}, {"at_ns": 3, "a": "west", "b": "east", "parallel": 2}"#,
    ))
    .expect("accepted");
    let mut network = plan.network.clone();
    assert_eq!((plan.schedule[0].at_ns, plan.schedule[1].at_ns), (3, 9));
    for change in &plan.schedule {
        network.apply(change).expect("checked");
    }
    let changed = network.all().expect("checked");
    let Applied::Direction(1, back) = changed[1] else {
        panic!("{changed:?}")
    };
    assert_eq!(
        (back.parallel, back.delay_ns, back.line.rate_bit_s),
        (2, 7, NonZeroU64::new(8))
    );
    for (schedule, key) in [
        (r#"{"a": "west", "b": "east"}"#, "schedule[0].at_ns"),
        (r#"{"at_ns": 1, "a": "west", "b": "south"}"#, "schedule[0]"),
        (r#"{"at_ns": 1, "a": "west"}"#, "schedule[0]"),
        (
            r#"{"at_ns": 1, "a": "west", "b": "east", "rate_bit_s": 0}"#,
            "schedule[0].rate_bit_s",
        ),
        (
            r#"{"at_ns": 1, "port": "west", "uplink": {}}"#,
            "schedule[0].port",
        ),
    ] {
        assert_eq!(fault(parse(&text(schedule))).key, key, "{schedule}");
    }
}

#[test]
fn unknown_key_and_wrong_type_are_named_with_their_place() {
    let found = fault(with_link(r#"{"a": "west", "b": "east", "delay": 5}"#));
    assert!(found.key.starts_with("links[0]"), "{}", found.key);
    assert!(found.found.contains("unknown field `delay`") && found.found.contains("line 1"));
    let found = fault(with_link(
        r#"{"a": "west", "b": "east", "delay_ns": "8ms"}"#,
    ));
    assert_eq!(found.key, "links[0].delay_ns");
    assert_eq!(fault(parse("not json")).key, "top level");
}

#[test]
fn names_and_interfaces_are_unique_and_two_ports_are_needed() {
    let ports = |one: &str, two: &str| {
        fault(parse(&format!(
            r#"{{"ports": [{{"name": "a", "interface": "x"}}, {{"name": "{one}", "interface": "{two}"}}], "links": []}}"#
        )))
        .key
    };
    assert_eq!(ports("a", "y"), "ports[1].name");
    assert_eq!(ports("b", "x"), "ports[1].interface");
    assert_eq!(ports("", "y"), "ports[1].name");
    assert_eq!(fault(parse(r#"{"ports": [], "links": []}"#)).key, "ports");
}
