# A captured run to its tables: flows, intervals, throughput, messages, captures of every host.


rule made_from:
    output:
        MADE_FROM,
    params:
        source=SOURCE,
    message:
        "Making {RESULTS} from {params.source}"
    shell:
        'find "$(dirname -- {output:q})" -type f -delete'
        " && printf '%s\\n' {params.source:q} > {output:q}"


rule parse_run:
    input:
        captures=lambda wildcards: CAPTURES[wildcards.run_id],
        made_from=MADE_FROM,
    output:
        marker=touch(f"{RESULTS}/tables/.parsed/{{run_id}}"),
    resources:
        testbed=1,
    params:
        bin=EXPERIMENT.bin_ns,
        run_directory=lambda wildcards: f"{RUNS_FOLDER}/{RUN_NAMES[wildcards.run_id]}",
        # A file that is gone, or came with an old date, changes the tables too.
        recorded=lambda wildcards: CAPTURES[wildcards.run_id],
        tables=f"{RESULTS}/tables",
    message:
        "Parsing {wildcards.run_id}"
    shell:
        "flowsweep ingest --output {params.tables:q} --bin {params.bin}ns"
        " -- {params.run_directory:q}"
