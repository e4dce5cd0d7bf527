-- A session is whatever callers say belongs together; one row for each that was named.
CREATE TABLE alert_sessions (
    session_id    TEXT PRIMARY KEY,
    first_seen_ms INTEGER,
    last_seen_ms  INTEGER,
    call_count    INTEGER NOT NULL DEFAULT 0
);

-- One model call each. Times are milliseconds since 1970; NULL is "not known" or "none";
-- only the start is -1 then, because rows are put in order by it.
-- A body is raw if it is as long as its size says, else zlib: sqlar_uncompress(request, request_size).
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
    started_ms         INTEGER NOT NULL DEFAULT -1,
    first_ms           INTEGER,
    reasoning_ms       INTEGER,
    answer_ms          INTEGER,
    ended_ms           INTEGER,
    status             INTEGER NOT NULL DEFAULT 0,
    stop               TEXT,
    error_code         TEXT,
    error_message      TEXT,
    stream             INTEGER NOT NULL DEFAULT 0,
    complete           INTEGER NOT NULL DEFAULT 0,
    has_reasoning      INTEGER NOT NULL DEFAULT 0,
    reasoning_level    TEXT,
    reasoning_cut      TEXT,
    reasoning_state    TEXT,
    cap_tokens         INTEGER,
    input_tokens       INTEGER,
    output_tokens      INTEGER,
    reasoning_tokens   INTEGER,
    cache_read_tokens  INTEGER,
    cache_write_tokens INTEGER,
    reasoning_exact    INTEGER NOT NULL DEFAULT 0,
    cost_usd           REAL,
    reasoning_source   TEXT,
    request            BLOB,
    request_size       INTEGER NOT NULL DEFAULT 0,
    reply              BLOB,
    reply_size         INTEGER NOT NULL DEFAULT 0,
    reasoning_content  TEXT,
    reasoning_summary  TEXT,
    answer             TEXT,
    tool_calls         TEXT,
    attempts           TEXT
);

CREATE INDEX llm_interactions_by_session ON llm_interactions (session_id, started_ms);
CREATE INDEX llm_interactions_by_time ON llm_interactions (started_ms, interaction_id);

-- Up to where the journal has been taken in: one row.
CREATE TABLE store_progress (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    segment INTEGER NOT NULL,
    place   INTEGER NOT NULL
);
