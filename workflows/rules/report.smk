# The tables of all runs to one report.


rule runs:
    input:
        records=run_records,
        made_from=MADE_FROM,
    output:
        table=f"{RESULTS}/tables/runs.parquet",
    resources:
        testbed=1,
    params:
        runs_folder=RUNS_FOLDER,
        experiment=EXPERIMENT_FILE,
        listed=LISTED,
    message:
        "Collecting the records of {RUNS_FOLDER}"
    shell:
        "flowsweep runs --experiment={params.experiment:q} --output {output.table:q}"
        " -- {params.runs_folder:q}"


if Path(EXPERIMENT_FILE).resolve() != Path(RESULTS, "experiment.yaml").resolve():

    rule experiment_file:
        input:
            EXPERIMENT_FILE,
            made_from=MADE_FROM,
        output:
            f"{RESULTS}/experiment.yaml",
        message:
            "Keeping a copy of {input[0]}"
        shell:
            "cp -- {input[0]:q} {output:q}"


rule report:
    input:
        parsed=expand(f"{RESULTS}/tables/.parsed/{{run_id}}", run_id=CAPTURES),
        runs=f"{RESULTS}/tables/runs.parquet",
        experiment=f"{RESULTS}/experiment.yaml",
        content=sorted(
            str(path)
            for path in Path(workflow.basedir, "reports").rglob("*")
            if path.suffix in {".sql", ".yaml", ".j2", ".css", ".js"}
        ),
    output:
        f"{RESULTS}/report.html",
    resources:
        testbed=1,
    params:
        results=RESULTS,
    message:
        "Rendering {output}"
    shell:
        "flowsweep report {params.results:q}"
