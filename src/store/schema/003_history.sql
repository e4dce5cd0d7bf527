-- What a call was about, in words; the decision it came to; the stretches of its reply.
ALTER TABLE llm_interactions ADD COLUMN subject TEXT;
ALTER TABLE llm_interactions ADD COLUMN asked TEXT;
ALTER TABLE llm_interactions ADD COLUMN decision TEXT;
ALTER TABLE llm_interactions ADD COLUMN tools TEXT;
ALTER TABLE llm_interactions ADD COLUMN segments TEXT;
ALTER TABLE llm_interactions ADD COLUMN step_description TEXT;

-- A session is a conversation or the run of an application. Sums follow its calls.
ALTER TABLE alert_sessions ADD COLUMN alert_id TEXT;
ALTER TABLE alert_sessions ADD COLUMN alert_data TEXT;
ALTER TABLE alert_sessions ADD COLUMN agent_type TEXT;
ALTER TABLE alert_sessions ADD COLUMN alert_type TEXT;
ALTER TABLE alert_sessions ADD COLUMN status TEXT NOT NULL DEFAULT 'completed';
ALTER TABLE alert_sessions ADD COLUMN started_at_us BIGINT;
ALTER TABLE alert_sessions ADD COLUMN completed_at_us BIGINT;
ALTER TABLE alert_sessions ADD COLUMN error_message TEXT;
ALTER TABLE alert_sessions ADD COLUMN final_analysis TEXT;
ALTER TABLE alert_sessions ADD COLUMN session_metadata TEXT;
ALTER TABLE alert_sessions ADD COLUMN key_name TEXT;
ALTER TABLE alert_sessions ADD COLUMN subject TEXT;
ALTER TABLE alert_sessions ADD COLUMN model TEXT;
ALTER TABLE alert_sessions ADD COLUMN title TEXT;
ALTER TABLE alert_sessions ADD COLUMN tool_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE alert_sessions ADD COLUMN input_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE alert_sessions ADD COLUMN output_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE alert_sessions ADD COLUMN reasoning_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE alert_sessions ADD COLUMN cost_usd DOUBLE PRECISION;
ALTER TABLE alert_sessions ADD COLUMN has_reasoning BIGINT NOT NULL DEFAULT 0;
-- What the last call came to; the status is that, or in_progress while another one runs.
ALTER TABLE alert_sessions ADD COLUMN outcome TEXT;

-- The session of a call that has begun, with its piece "begin".
ALTER TABLE call_pieces ADD COLUMN session_id TEXT;
CREATE INDEX call_pieces_by_session ON call_pieces (session_id) WHERE session_id IS NOT NULL;

CREATE INDEX alert_sessions_by_start ON alert_sessions (started_at_us, session_id);
CREATE INDEX alert_sessions_by_status ON alert_sessions (status, started_at_us);
CREATE INDEX alert_sessions_by_subject ON alert_sessions (subject);
CREATE INDEX alert_sessions_of_others ON alert_sessions (started_at_us) WHERE agent_type <> 'gateway';
CREATE INDEX alert_sessions_by_key ON alert_sessions (key_name, started_at_us, session_id);

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

-- The decision log: one entry a call, only ever added to.
CREATE TABLE decisions (
    decision_id    INTEGER PRIMARY KEY,
    interaction_id TEXT NOT NULL UNIQUE,
    session_id     TEXT,
    timestamp_us   BIGINT NOT NULL,
    kind           TEXT NOT NULL,
    tools          TEXT,
    model          TEXT,
    entry          TEXT NOT NULL
);

CREATE INDEX decisions_by_session ON decisions (session_id, timestamp_us);
CREATE INDEX decisions_by_time ON decisions (timestamp_us, decision_id);
CREATE INDEX decisions_by_kind ON decisions (kind, timestamp_us, decision_id);
CREATE INDEX decisions_by_model ON decisions (model, timestamp_us, decision_id);

-- Which tool was called by which decision.
CREATE TABLE decision_tools (
    tool        TEXT NOT NULL,
    decision_id BIGINT NOT NULL,
    PRIMARY KEY (tool, decision_id)
) WITHOUT ROWID;

-- Words go in with their rows, by the engine: a trigger would have FTS5 write its index anew for
-- each of them. They go out by triggers, so that nothing is found that is no longer there.
CREATE VIRTUAL TABLE decisions_text USING fts5 (entry, content = 'decisions', content_rowid = 'decision_id');
CREATE TRIGGER decisions_text_drop AFTER DELETE ON decisions BEGIN
    INSERT INTO decisions_text (decisions_text, rowid, entry) VALUES ('delete', old.decision_id, old.entry);
END;

-- Calls by their words. The row is the call's own rowid, which VACUUM would change: after one,
-- INSERT INTO interactions_text (interactions_text) VALUES ('rebuild').
CREATE VIRTUAL TABLE interactions_text USING fts5 (asked, answer, reasoning_content, error_message,
    content = 'llm_interactions', content_rowid = 'rowid');
CREATE TRIGGER interactions_text_drop AFTER DELETE ON llm_interactions BEGIN
    INSERT INTO interactions_text (interactions_text, rowid, asked, answer, reasoning_content, error_message)
    VALUES ('delete', old.rowid, old.asked, old.answer, old.reasoning_content, old.error_message);
END;
INSERT INTO interactions_text (interactions_text) VALUES ('rebuild');

-- What there is of earlier calls: each without a session becomes one, and sessions get their sums.
INSERT INTO alert_sessions (session_id, first_seen_ms, last_seen_ms)
    SELECT interaction_id, nullif(started_ms, -1), nullif(started_ms, -1) FROM llm_interactions
    WHERE session_id IS NULL AND NOT EXISTS
        (SELECT 1 FROM alert_sessions s WHERE s.session_id = interaction_id);
UPDATE llm_interactions SET session_id = interaction_id WHERE session_id IS NULL;
UPDATE alert_sessions SET agent_type = 'gateway',
    started_at_us = first_seen_ms * 1000,
    completed_at_us = coalesce((SELECT max(ended_ms) FROM llm_interactions c
        WHERE c.session_id = alert_sessions.session_id), last_seen_ms) * 1000,
    call_count = (SELECT count(*) FROM llm_interactions c
        WHERE c.session_id = alert_sessions.session_id),
    input_tokens = (SELECT coalesce(sum(input_tokens), 0) FROM llm_interactions c
        WHERE c.session_id = alert_sessions.session_id),
    output_tokens = (SELECT coalesce(sum(output_tokens), 0) FROM llm_interactions c
        WHERE c.session_id = alert_sessions.session_id),
    reasoning_tokens = (SELECT coalesce(sum(reasoning_tokens), 0) FROM llm_interactions c
        WHERE c.session_id = alert_sessions.session_id),
    has_reasoning = (SELECT coalesce(max(has_reasoning), 0) FROM llm_interactions c
        WHERE c.session_id = alert_sessions.session_id),
    cost_usd = (SELECT sum(cost_usd) FROM llm_interactions c
        WHERE c.session_id = alert_sessions.session_id);
UPDATE alert_sessions SET (alert_type, key_name, model, outcome, error_message, final_analysis) =
    (SELECT dialect, key_name, model,
        CASE WHEN error_code IS NULL AND status < 400 THEN 'completed' ELSE 'failed' END,
        error_message, answer
     FROM llm_interactions c WHERE c.session_id = alert_sessions.session_id
     ORDER BY started_ms DESC, interaction_id DESC LIMIT 1)
    WHERE call_count > 0;
UPDATE alert_sessions SET status = outcome WHERE outcome IS NOT NULL;
