-- Texts are stored once, in blocks: some calls packed together. A call is one narrow row; its decision
-- and the segments of its reply are derived from its texts when somebody reads them. See store/block.h.
--
-- What the calls of before have of text stays in old_interactions until it is moved into blocks, in
-- the background: until then the block of such a call is NULL.
DROP INDEX llm_interactions_by_session;
DROP INDEX llm_interactions_by_time;
DROP INDEX llm_interactions_by_talk;
DROP INDEX llm_interactions_by_thought;
DROP TRIGGER interactions_text_drop;
DROP TRIGGER decisions_text_drop;
ALTER TABLE llm_interactions RENAME TO old_interactions;

-- texts says which texts the block has of it: bit N is text N of enum block_text in store/block.h.
CREATE TABLE llm_interactions (
    call_n             INTEGER PRIMARY KEY,
    interaction_id     TEXT NOT NULL UNIQUE,
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
    subject            TEXT,
    talk               TEXT,
    decision_kind      TEXT,
    texts              BIGINT NOT NULL DEFAULT 0,
    block              BIGINT,
    block_n            BIGINT NOT NULL DEFAULT 0
);

INSERT INTO llm_interactions
    SELECT rowid, interaction_id, session_id, parent_id, key_name, route, provider, model, upstream_model, dialect, upstream_dialect, started_ms, first_ms, reasoning_ms, answer_ms, ended_ms, status, stop, error_code, stream, complete, has_reasoning, reasoning_level, reasoning_cut, reasoning_state, cap_tokens, input_tokens, output_tokens, reasoning_tokens, cache_read_tokens, cache_write_tokens, reasoning_exact, cost_usd, reasoning_source, subject, talk,
        CASE WHEN decision IS NULL THEN NULL
            WHEN substr(decision, 1, 11) = '[TOOL_CALL]' THEN 'TOOL_CALL' ELSE 'DIRECT' END,
        CASE WHEN request IS NULL THEN 0 ELSE 1 END
        + CASE WHEN reply IS NULL THEN 0 ELSE 2 END
        + CASE WHEN reasoning_content IS NULL THEN 0 ELSE 4 END
        + CASE WHEN reasoning_summary IS NULL THEN 0 ELSE 8 END
        + CASE WHEN answer IS NULL THEN 0 ELSE 16 END
        + CASE WHEN tool_calls IS NULL THEN 0 ELSE 32 END
        + CASE WHEN attempts IS NULL THEN 0 ELSE 64 END
        + CASE WHEN asked IS NULL THEN 0 ELSE 128 END
        + CASE WHEN decision IS NULL THEN 0 ELSE 256 END
        + CASE WHEN tools IS NULL THEN 0 ELSE 512 END
        + CASE WHEN segments IS NULL THEN 0 ELSE 1024 END
        + CASE WHEN step_description IS NULL THEN 0 ELSE 2048 END
        + CASE WHEN error_message IS NULL THEN 0 ELSE 4096 END,
        NULL, 0
    FROM old_interactions;

CREATE INDEX llm_interactions_by_session ON llm_interactions (session_id, started_ms);
CREATE INDEX llm_interactions_by_time ON llm_interactions (started_ms);
CREATE INDEX llm_interactions_by_end ON llm_interactions (ended_ms);
CREATE INDEX llm_interactions_by_kind ON llm_interactions (decision_kind, ended_ms);
CREATE INDEX llm_interactions_by_model ON llm_interactions (model, ended_ms);
CREATE INDEX llm_interactions_by_subject ON llm_interactions (subject) WHERE subject IS NOT NULL;
CREATE INDEX llm_interactions_to_move ON llm_interactions (call_n) WHERE block IS NULL;

-- A call that was erased is found by its number as well, which its entry has as detail.
CREATE INDEX audit_log_of_erased_calls ON audit_log (detail) WHERE action = 'erased';

-- A packed block. Calls first_n to last_n are in it, or were before they were erased.
CREATE TABLE call_blocks (
    block    INTEGER PRIMARY KEY,
    first_n  BIGINT NOT NULL,
    last_n   BIGINT NOT NULL,
    calls    BIGINT NOT NULL,
    raw_size BIGINT NOT NULL,
    texts    BLOB NOT NULL
);

-- The texts of calls whose block is not packed yet.
CREATE TABLE call_texts (
    block   BIGINT NOT NULL,
    block_n BIGINT NOT NULL,
    call_n  BIGINT NOT NULL,
    texts   BLOB NOT NULL,
    PRIMARY KEY (block, block_n)
);

-- The numbers given last: to a call, to a packed block. Blocks up to moved_to are those of calls
-- of before, whose numbers are not larger: so the order of blocks is the order of calls. Of these,
-- moved was packed last.
CREATE TABLE store_counters (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    call_n   BIGINT NOT NULL,
    block    BIGINT NOT NULL,
    moved_to BIGINT NOT NULL,
    moved    BIGINT NOT NULL
);
INSERT INTO store_counters
    SELECT 1, m, m, m, 0 FROM (SELECT coalesce(max(call_n) / 256 + 1, 0) * 256 AS m FROM llm_interactions) AS x;

-- Which blocks have which words: sorted keys, some thousand bytes a page. See store/word_pages.h.
CREATE TABLE word_pages (
    level       BIGINT NOT NULL,
    first_block BIGINT NOT NULL,
    first_key   BIGINT NOT NULL,
    page        BLOB NOT NULL,
    PRIMARY KEY (level, first_block, first_key)
) WITHOUT ROWID;

-- Which tool was called by which call.
CREATE TABLE call_tools (
    tool   TEXT NOT NULL,
    call_n BIGINT NOT NULL,
    PRIMARY KEY (tool, call_n)
) WITHOUT ROWID;
INSERT INTO call_tools
    SELECT t.tool, i.call_n FROM decision_tools t
    JOIN decisions d ON d.decision_id = t.decision_id
    JOIN llm_interactions i ON i.interaction_id = d.interaction_id;
DROP TABLE decision_tools;
ALTER TABLE decisions RENAME TO old_decisions;
ALTER TABLE reasoning_segments RENAME TO old_segments;

-- The answer of a call is in its block; only applications say what a session came to.
UPDATE alert_sessions SET final_analysis = NULL
    WHERE coalesce(agent_type, 'gateway') = 'gateway' AND final_analysis IS NOT NULL;
DROP INDEX alert_sessions_by_subject;
DROP INDEX alert_sessions_by_key;
DROP INDEX alert_sessions_by_status;
CREATE INDEX alert_sessions_by_subject ON alert_sessions (subject) WHERE subject IS NOT NULL;
CREATE INDEX alert_sessions_by_key ON alert_sessions (key_name, started_at_us, session_id)
    WHERE key_name IS NOT NULL;
-- With the key, so that sessions are counted by status without reading them.
CREATE INDEX alert_sessions_by_status ON alert_sessions (status, started_at_us, key_name);
