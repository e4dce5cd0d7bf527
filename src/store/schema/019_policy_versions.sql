-- Which version of which document a result is of.
ALTER TABLE policy_results ADD COLUMN document_id TEXT;
ALTER TABLE policy_results ADD COLUMN policy_version TEXT;
ALTER TABLE policy_results ADD COLUMN policy_hash TEXT;

CREATE INDEX policy_results_by_case ON policy_results (case_id, criterion_id, created_us);

-- The case of a run as it came, masked, so that it can be verified again.
CREATE TABLE policy_cases (
    run_id      TEXT PRIMARY KEY,
    session_id  TEXT NOT NULL,
    case_id     TEXT NOT NULL,
    document_id TEXT NOT NULL,
    key_name    TEXT NOT NULL,
    body        TEXT NOT NULL,
    masked      BIGINT NOT NULL,
    created_us  BIGINT NOT NULL
);

CREATE INDEX policy_cases_by_case ON policy_cases (case_id, created_us);
CREATE INDEX policy_cases_by_document ON policy_cases (document_id, created_us);
CREATE INDEX policy_cases_by_session ON policy_cases (session_id);

-- A person's word on a result; of several the newest counts.
CREATE TABLE policy_reviews (
    review_id      TEXT PRIMARY KEY,
    result_id      TEXT NOT NULL,
    session_id     TEXT NOT NULL,
    machine_status TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('met', 'missing', 'uncertain')),
    section        TEXT NOT NULL,
    reason         TEXT NOT NULL,
    decided_by     TEXT NOT NULL,
    decided_us     BIGINT NOT NULL
);

CREATE INDEX policy_reviews_by_result ON policy_reviews (result_id, decided_us);
CREATE INDEX policy_reviews_by_session ON policy_reviews (session_id);

-- Cases of a document verified again; request is JSON.
CREATE TABLE policy_reverify (
    reverify_id TEXT PRIMARY KEY,
    document_id TEXT NOT NULL,
    request     TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('running', 'done', 'cancelled', 'failed')),
    error       TEXT NOT NULL,
    total       BIGINT NOT NULL,
    created_by  TEXT NOT NULL,
    created_us  BIGINT NOT NULL,
    ended_us    BIGINT
);

-- What came of one criterion of one of them; without a criterion, why the case failed.
CREATE TABLE policy_reverified (
    reverify_id  TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    session_id   TEXT NOT NULL,
    criterion_id TEXT NOT NULL,
    case_id      TEXT NOT NULL,
    old_result   TEXT NOT NULL,
    new_result   TEXT NOT NULL,
    flipped      BIGINT NOT NULL,
    error        TEXT NOT NULL,
    created_us   BIGINT NOT NULL,
    PRIMARY KEY (reverify_id, run_id, criterion_id)
);

CREATE INDEX policy_reverified_by_session ON policy_reverified (session_id);

-- Criteria of policies and facts of cases that a model proposed; used once a person confirmed them.
CREATE TABLE policy_proposals (
    proposal_id TEXT PRIMARY KEY,
    session_id  TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('criterion', 'fact')),
    state       TEXT NOT NULL CHECK (state IN ('proposed', 'confirmed', 'rejected')),
    document_id TEXT NOT NULL,
    version     TEXT NOT NULL,
    case_id     TEXT NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    quote       TEXT NOT NULL,
    node_id     TEXT NOT NULL,
    section     TEXT NOT NULL,
    page        BIGINT NOT NULL,
    start_char  BIGINT NOT NULL,
    end_char    BIGINT NOT NULL,
    confidence  DOUBLE PRECISION NOT NULL,
    model       TEXT NOT NULL,
    created_by  TEXT NOT NULL,
    created_us  BIGINT NOT NULL,
    decided_by  TEXT,
    decided_us  BIGINT,
    reason      TEXT
);

CREATE INDEX policy_proposals_by_document ON policy_proposals (document_id, version, state);
CREATE INDEX policy_proposals_by_case ON policy_proposals (case_id, state);
CREATE INDEX policy_proposals_by_session ON policy_proposals (session_id);
