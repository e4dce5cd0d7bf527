-- The tables of SQLite's steps 1 to 3, with the same names. Words are a column of the row they are
-- of: asked is A, answer B, reasoning C, an error D. Long texts are found by their beginning.
CREATE TABLE alert_sessions (
    session_id       TEXT PRIMARY KEY,
    first_seen_ms    BIGINT,
    last_seen_ms     BIGINT,
    call_count       BIGINT NOT NULL DEFAULT 0,
    alert_id         TEXT,
    alert_data       TEXT,
    agent_type       TEXT,
    alert_type       TEXT,
    status           TEXT NOT NULL DEFAULT 'completed',
    started_at_us    BIGINT,
    completed_at_us  BIGINT,
    error_message    TEXT,
    final_analysis   TEXT,
    session_metadata TEXT,
    key_name         TEXT,
    subject          TEXT,
    model            TEXT,
    title            TEXT,
    tool_count       BIGINT NOT NULL DEFAULT 0,
    input_tokens     BIGINT NOT NULL DEFAULT 0,
    output_tokens    BIGINT NOT NULL DEFAULT 0,
    reasoning_tokens BIGINT NOT NULL DEFAULT 0,
    cost_usd         DOUBLE PRECISION,
    has_reasoning    BIGINT NOT NULL DEFAULT 0,
    outcome          TEXT
);

CREATE INDEX alert_sessions_by_start ON alert_sessions (started_at_us, session_id);
CREATE INDEX alert_sessions_by_status ON alert_sessions (status, started_at_us);
CREATE INDEX alert_sessions_by_subject ON alert_sessions (subject);
CREATE INDEX alert_sessions_of_others ON alert_sessions (started_at_us) WHERE agent_type <> 'gateway';
CREATE INDEX alert_sessions_by_key ON alert_sessions (key_name, started_at_us, session_id);

CREATE TABLE llm_interactions (
    interaction_id     TEXT PRIMARY KEY,
    session_id         TEXT,
    parent_id          TEXT,
    key_name           TEXT,
    route              TEXT,
    provider           TEXT,
    model              TEXT,
    upstream_model     TEXT,
    dialect            TEXT,
    upstream_dialect   TEXT,
    started_ms         BIGINT NOT NULL DEFAULT -1,
    first_ms           BIGINT,
    reasoning_ms       BIGINT,
    answer_ms          BIGINT,
    ended_ms           BIGINT,
    status             BIGINT NOT NULL DEFAULT 0,
    stop               TEXT,
    error_code         TEXT,
    error_message      TEXT,
    stream             BIGINT NOT NULL DEFAULT 0,
    complete           BIGINT NOT NULL DEFAULT 0,
    has_reasoning      BIGINT NOT NULL DEFAULT 0,
    reasoning_level    TEXT,
    reasoning_cut      TEXT,
    reasoning_state    TEXT,
    cap_tokens         BIGINT,
    input_tokens       BIGINT,
    output_tokens      BIGINT,
    reasoning_tokens   BIGINT,
    cache_read_tokens  BIGINT,
    cache_write_tokens BIGINT,
    reasoning_exact    BIGINT NOT NULL DEFAULT 0,
    cost_usd           DOUBLE PRECISION,
    reasoning_source   TEXT,
    request            BYTEA,
    request_size       BIGINT NOT NULL DEFAULT 0,
    reply              BYTEA,
    reply_size         BIGINT NOT NULL DEFAULT 0,
    reasoning_content  TEXT,
    reasoning_summary  TEXT,
    answer             TEXT,
    tool_calls         TEXT,
    attempts           TEXT,
    subject            TEXT,
    asked              TEXT,
    decision           TEXT,
    tools              TEXT,
    segments           TEXT,
    step_description   TEXT,
    words              TSVECTOR GENERATED ALWAYS AS (
        setweight(to_tsvector('simple', left(coalesce(asked, ''), 50000)), 'A') ||
        setweight(to_tsvector('simple', left(coalesce(answer, ''), 50000)), 'B') ||
        setweight(to_tsvector('simple', left(coalesce(reasoning_content, ''), 50000)), 'C') ||
        setweight(to_tsvector('simple', left(coalesce(error_message, ''), 10000)), 'D')) STORED
);

-- Bodies are packed already.
ALTER TABLE llm_interactions ALTER COLUMN request SET STORAGE EXTERNAL;
ALTER TABLE llm_interactions ALTER COLUMN reply SET STORAGE EXTERNAL;

CREATE INDEX llm_interactions_by_session ON llm_interactions (session_id, started_ms);
CREATE INDEX llm_interactions_by_time ON llm_interactions (started_ms, interaction_id);
CREATE INDEX llm_interactions_by_words ON llm_interactions USING gin (words);

-- Up to where each journal has been taken in.
CREATE TABLE store_progress (
    spool   TEXT PRIMARY KEY,
    segment BIGINT NOT NULL,
    place   BIGINT NOT NULL
);

CREATE TABLE call_pieces (
    call_id    TEXT NOT NULL,
    n          BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    bytes      BYTEA NOT NULL,
    session_id TEXT,
    PRIMARY KEY (call_id, n, kind)
);

CREATE INDEX call_pieces_by_session ON call_pieces (session_id) WHERE session_id IS NOT NULL;

CREATE TABLE mcp_communications (
    communication_id   TEXT PRIMARY KEY,
    session_id         TEXT,
    parent_id          TEXT,
    timestamp_us       BIGINT NOT NULL DEFAULT 0,
    server_name        TEXT,
    communication_type TEXT,
    tool_name          TEXT,
    tool_arguments     TEXT,
    tool_result        TEXT,
    available_tools    TEXT,
    duration_ms        BIGINT,
    success            BIGINT NOT NULL DEFAULT 1,
    error_message      TEXT,
    step_description   TEXT
);

CREATE INDEX mcp_communications_by_session ON mcp_communications (session_id, timestamp_us);

CREATE TABLE reasoning_segments (
    interaction_id TEXT NOT NULL,
    n              BIGINT NOT NULL,
    kind           TEXT NOT NULL,
    text           TEXT,
    tokens         BIGINT,
    exact          BIGINT NOT NULL DEFAULT 0,
    started_us     BIGINT,
    ended_us       BIGINT,
    budget         BIGINT,
    cut            BIGINT NOT NULL DEFAULT 0,
    state          TEXT,
    PRIMARY KEY (interaction_id, n)
);

CREATE TABLE decisions (
    decision_id    BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    interaction_id TEXT NOT NULL UNIQUE,
    session_id     TEXT,
    timestamp_us   BIGINT NOT NULL,
    kind           TEXT NOT NULL,
    tools          TEXT,
    model          TEXT,
    entry          TEXT NOT NULL,
    words          TSVECTOR GENERATED ALWAYS AS (to_tsvector('simple', left(entry, 50000))) STORED
);

CREATE INDEX decisions_by_session ON decisions (session_id, timestamp_us);
CREATE INDEX decisions_by_time ON decisions (timestamp_us, decision_id);
CREATE INDEX decisions_by_kind ON decisions (kind, timestamp_us, decision_id);
CREATE INDEX decisions_by_model ON decisions (model, timestamp_us, decision_id);
CREATE INDEX decisions_by_words ON decisions USING gin (words);

CREATE TABLE decision_tools (
    tool        TEXT NOT NULL,
    decision_id BIGINT NOT NULL,
    PRIMARY KEY (tool, decision_id)
);
