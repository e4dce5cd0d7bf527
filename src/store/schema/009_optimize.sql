-- Runs that improve prompts. lines are what optimize/run.h keeps: enough to go on with a run that
-- was killed anywhere.
CREATE TABLE optimize_runs (
    run_id     TEXT PRIMARY KEY,
    app        TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('proposed', 'running', 'finished', 'failed')),
    reason     TEXT,
    input      TEXT NOT NULL,
    calls      BIGINT NOT NULL DEFAULT 0,
    budget     BIGINT NOT NULL DEFAULT 0,
    candidates BIGINT NOT NULL DEFAULT 0,
    best_score DOUBLE PRECISION,
    seed_score DOUBLE PRECISION,
    prompt_id  TEXT,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL
);

CREATE INDEX optimize_runs_by_time ON optimize_runs (created_us);

CREATE TABLE optimize_lines (
    run_id TEXT NOT NULL,
    n      BIGINT NOT NULL,
    line   TEXT NOT NULL,
    PRIMARY KEY (run_id, n)
);
