-- Versions of prompts: a text never changes, only its state does (draft, approved, active, retired).
CREATE TABLE prompts (
    prompt_id   TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    components  TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('draft', 'approved', 'active', 'retired')),
    parent      TEXT,
    run_id      TEXT,
    scores      TEXT,
    created_us  BIGINT NOT NULL,
    created_by  TEXT,
    approved_us BIGINT,
    approved_by TEXT,
    moved_us    BIGINT NOT NULL,
    moved_by    TEXT
);

CREATE INDEX prompts_by_name ON prompts (name, created_us);
-- At most one of a name is in force.
CREATE UNIQUE INDEX prompts_active ON prompts (name) WHERE state = 'active';

-- What was found of each criterion of a case; result is the CriterionResult, whole.
CREATE TABLE policy_results (
    result_id    TEXT PRIMARY KEY,
    run_id       TEXT NOT NULL,
    session_id   TEXT NOT NULL,
    case_id      TEXT NOT NULL,
    criterion_id TEXT NOT NULL,
    status       TEXT NOT NULL CHECK (status IN ('met', 'missing', 'uncertain')),
    controller   TEXT NOT NULL,
    mode         TEXT NOT NULL,
    prompt_id    TEXT NOT NULL,
    key_name     TEXT NOT NULL,
    created_us   BIGINT NOT NULL,
    result       TEXT NOT NULL
);

CREATE INDEX policy_results_by_time ON policy_results (created_us);
CREATE INDEX policy_results_by_session ON policy_results (session_id);

-- What the controller in the shadow found of the same criterion.
CREATE TABLE policy_shadow (
    result_id         TEXT PRIMARY KEY,
    session_id        TEXT NOT NULL,
    case_id           TEXT NOT NULL,
    criterion_id      TEXT NOT NULL,
    served_status     TEXT NOT NULL,
    served_confidence DOUBLE PRECISION NOT NULL,
    shadow_status     TEXT NOT NULL,
    shadow_confidence DOUBLE PRECISION NOT NULL,
    reason_code       TEXT,
    prompt_id         TEXT NOT NULL,
    differs           BIGINT NOT NULL,
    created_us        BIGINT NOT NULL
);

CREATE INDEX policy_shadow_by_time ON policy_shadow (created_us);
CREATE INDEX policy_shadow_by_session ON policy_shadow (session_id);
