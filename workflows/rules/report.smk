# The tables of all runs to one report.


rule runs:
    input:
        records=lambda wildcards: records(),
        made_from=MADE_FROM,
    output:
        table=f"{RESULTS}/tables/runs.parquet",
    log:
        f"{LOGS}/runs.log",
    benchmark:
        f"{BENCHMARKS}/runs.tsv"
    container:
        CONTAINER
    resources:
        testbed=1,
    params:
        runs_folder=lambda wildcards: RUNS_FOLDER,
        experiment=EXPERIMENT_FILE,
        listed=lambda wildcards: listed(),
    message:
        "Collecting the records of {RUNS_FOLDER}"
    shell:
        "flowsweep runs --experiment={params.experiment:q} --output {output.table:q}"
        " -- {params.runs_folder:q}"
        " 2> >(tee -i {log:q} >&2)"


if Path(EXPERIMENT_FILE).resolve() != Path(RESULTS, "experiment.yaml").resolve():

    rule experiment_file:
        input:
            file=EXPERIMENT_FILE,
            made_from=MADE_FROM,
        output:
            f"{RESULTS}/experiment.yaml",
        log:
            f"{LOGS}/experiment_file.log",
        benchmark:
            f"{BENCHMARKS}/experiment_file.tsv"
        message:
            "Keeping a copy of {input.file}"
        shell:
            "cp -- {input.file:q} {output:q}" " 2> >(tee -i {log:q} >&2)"


rule report:
    input:
        parsed=lambda wildcards: [
            f"{RESULTS}/tables/.parsed/{run_id}" for run_id in all_runs()
        ],
        runs=f"{RESULTS}/tables/runs.parquet",
        experiment=f"{RESULTS}/experiment.yaml",
        content=sorted(
            str(path)
            for path in content.folder("reports").rglob("*")
            if path.suffix in {".sql", ".yaml", ".j2", ".css", ".js"}
        ),
    output:
        page=report(
            f"{RESULTS}/report.html",
            caption="../report/network.rst",
            category="Network needs",
        ),
        database=f"{RESULTS}/{EXPERIMENT.name}.duckdb",
    log:
        f"{LOGS}/report.log",
    benchmark:
        f"{BENCHMARKS}/report.tsv"
    container:
        CONTAINER
    resources:
        testbed=1,
    params:
        results=lambda wildcards: RESULTS,
    message:
        "Rendering {output.page}"
    shell:
        "flowsweep report {params.results:q}" " 2> >(tee -i {log:q} >&2)"
