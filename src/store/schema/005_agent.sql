-- Runs of agents, and what each has done to the world: written before and after, never twice.
CREATE TABLE agent_runs (
    run_id     TEXT PRIMARY KEY,
    app        TEXT NOT NULL,
    session_id TEXT,
    status     TEXT NOT NULL,
    reason     TEXT,
    input      TEXT,
    result     TEXT,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL
);

CREATE INDEX agent_runs_by_status ON agent_runs (status, created_us);
CREATE INDEX agent_runs_by_session ON agent_runs (session_id);

-- state: 0 begun, its end not known; 1 done.
CREATE TABLE agent_effects (
    run_id     TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT,
    effect_key TEXT NOT NULL,
    request    TEXT,
    result     TEXT,
    failed     BIGINT NOT NULL DEFAULT 0,
    state      BIGINT NOT NULL DEFAULT 0,
    started_us BIGINT NOT NULL,
    ended_us   BIGINT,
    PRIMARY KEY (run_id, seq)
);
