# A point of the sweep to a captured run: run.json, one capture per host.
#
# One rule for each set of hosts that take part, because Snakemake needs the names of all outputs.
for made in CAPTURE_RULES:

    rule:
        name:
            made.name
        output:
            # update(): Snakemake keeps existing files, and `flowsweep run` decides. A run that
            # ended while Snakemake was killed is complete and is not made again.
            record=update(f"{RUNS_FOLDER}/{{run_id}}/run.json"),
            captures=[
                update(f"{RUNS_FOLDER}/{{run_id}}/{host}.pcap.zst")
                for host in made.hosts
            ],
        log:
            f"{LOGS}/capture/{{run_id}}.log",
        benchmark:
            f"{BENCHMARKS}/capture/{{run_id}}.tsv"
        wildcard_constraints:
            run_id="|".join(made.patterns),
        # The seeded order of the plan; runs go before the analysis.
        priority: lambda wildcards: 1000000 - [*planned()].index(wildcards.run_id)
        # A testbed that cannot be set up is tried once more; then the sweep stops.
        retries: 1
        # A Slurm job makes a block of runs, one after the other: see profiles/slurm.
        group:
            "block" if EXPERIMENT.testbed.kind == "slurm" else None
        resources:
            testbed=100,
            nodes=len(made.hosts) if EXPERIMENT.testbed.kind == "slurm" else 1,
            tasks=len(made.hosts) if EXPERIMENT.testbed.kind == "slurm" else 1,
            slurm_extra="'--exclusive'",
        params:
            output=lambda wildcards: f"{RUNS_FOLDER}/{wildcards.run_id}",
            # Only what decides the outcome: an edited title does not repeat the run.
            spec=lambda wildcards: planned()[wildcards.run_id].spec_hash(),
            experiment=EXPERIMENT_FILE,
        message:
            "Running {wildcards.run_id}"
        # Exit code 1: the program failed, which is a result.
        shell:
            "flowsweep run --run {wildcards.run_id:q} --output {params.output:q}"
            " -- {params.experiment:q}"
            " 2> >(tee -i {log:q} >&2) || [ $? -eq 1 ]"


if EXPERIMENT.refine:

    # Chooses the points of a further pass once the runs before it exist. A choice is final.
    checkpoint refine:
        input:
            lambda wildcards: [
                ancient(path) for path in records(int(wildcards.number) - 1)
            ],
        output:
            update(f"{RUNS_FOLDER}/.refined/{{number}}.json"),
        log:
            f"{LOGS}/refine/{{number}}.log",
        benchmark:
            f"{BENCHMARKS}/refine/{{number}}.tsv"
        container:
            CONTAINER
        resources:
            testbed=1,
        params:
            results=lambda wildcards: RESULTS,
            experiment=EXPERIMENT_FILE,
        message:
            "Choosing the points of pass {wildcards.number}"
        shell:
            "flowsweep plan --refine {params.results:q} --keep {wildcards.number}"
            " -- {params.experiment:q}"
            " 2> >(tee -i {log:q} >&2)"
