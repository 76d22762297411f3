# A captured run to its tables: flows, intervals, throughput, messages, captures of every host.


localrules:
    made_from,
    experiment_file,


rule made_from:
    output:
        MADE_FROM,
    log:
        f"{LOGS}/made_from.log",
    benchmark:
        f"{BENCHMARKS}/made_from.tsv"
    params:
        source=SOURCE,
    message:
        "Making {RESULTS} from {params.source}"
    shell:
        'find "$(dirname -- {output:q})" -type f -delete'
        " && printf '%s\\n' {params.source:q} > {output:q}"
        " 2> >(tee -i {log:q} >&2)"


rule parse_run:
    input:
        captures=lambda wildcards: captures_of(wildcards.run_id),
        made_from=MADE_FROM,
    output:
        marker=touch(f"{RESULTS}/tables/.parsed/{{run_id}}"),
    log:
        f"{LOGS}/parse_run/{{run_id}}.log",
    benchmark:
        f"{BENCHMARKS}/parse_run/{{run_id}}.tsv"
    container:
        CONTAINER
    resources:
        testbed=1,
    params:
        bin=EXPERIMENT.bin_ns,
        engine=EXPERIMENT.flows.engine,
        match="--match" if EXPERIMENT.analysis.match else "",
        run_directory=lambda wildcards: f"{RUNS_FOLDER}/{RUN_NAMES.get(wildcards.run_id, wildcards.run_id)}",
        # A file that was removed, or added with an old date, changes the tables, too.
        recorded=lambda wildcards: captures_of(wildcards.run_id),
        tables=lambda wildcards: f"{RESULTS}/tables",
    message:
        "Parsing {wildcards.run_id}"
    shell:
        "flowsweep ingest --output {params.tables:q} --bin {params.bin}ns"
        " --engine {params.engine} {params.match} -- {params.run_directory:q}"
        " 2> >(tee -i {log:q} >&2)"
        # Exit code 1: all readable packets are in the tables, and the report grades the damage.
        " || [ $? -eq 1 ]"
