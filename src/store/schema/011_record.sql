-- The name a key gave to its session, where one of that name is another's; session_id is ours then.
ALTER TABLE alert_sessions ADD COLUMN named TEXT;
CREATE INDEX alert_sessions_by_name ON alert_sessions (named, key_name) WHERE named IS NOT NULL;

-- By what the conversation of a call is recognised when it goes on: digests, see gateway/talk.h.
ALTER TABLE llm_interactions ADD COLUMN talk TEXT;
CREATE INDEX llm_interactions_by_talk ON llm_interactions (started_ms, session_id, talk)
    WHERE talk IS NOT NULL;

-- What the calls of an hour come to, so that sums need not read them. See store/usage.h.
CREATE TABLE usage_hours (
    hour              BIGINT NOT NULL,
    model             TEXT NOT NULL,
    provider          TEXT NOT NULL,
    key_name          TEXT NOT NULL,
    level             TEXT NOT NULL,
    cap_tokens        BIGINT NOT NULL,
    calls             BIGINT NOT NULL,
    failed            BIGINT NOT NULL,
    input_tokens      BIGINT NOT NULL,
    output_tokens     BIGINT NOT NULL,
    reasoning_tokens  BIGINT NOT NULL,
    cache_read_tokens BIGINT NOT NULL,
    starved           BIGINT NOT NULL,
    cut               BIGINT NOT NULL,
    with_reasoning    BIGINT NOT NULL,
    b0                BIGINT NOT NULL,
    b1                BIGINT NOT NULL,
    b2                BIGINT NOT NULL,
    b3                BIGINT NOT NULL,
    b4                BIGINT NOT NULL,
    b5                BIGINT NOT NULL,
    b6                BIGINT NOT NULL,
    b7                BIGINT NOT NULL,
    b8                BIGINT NOT NULL,
    b9                BIGINT NOT NULL,
    priced            BIGINT NOT NULL,
    cost_usd          DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (hour, model, provider, key_name, level, cap_tokens)
);

INSERT INTO usage_hours
SELECT i.started_ms / 3600000, coalesce(i.model, ''), coalesce(i.provider, ''),
    coalesce(i.key_name, ''), coalesce(i.reasoning_level, ''),
    CASE WHEN i.cap_tokens > 0 THEN i.cap_tokens ELSE 0 END,
    count(*),
    sum(CASE WHEN i.status >= 400 OR i.error_code IS NOT NULL THEN 1 ELSE 0 END),
    coalesce(sum(i.input_tokens), 0), coalesce(sum(i.output_tokens), 0),
    coalesce(sum(i.reasoning_tokens), 0), coalesce(sum(i.cache_read_tokens), 0),
    sum(CASE WHEN i.has_reasoning = 1 AND i.status < 400 AND i.complete = 1 AND i.answer IS NULL
        AND i.tool_calls IS NULL THEN 1 ELSE 0 END),
    sum(CASE WHEN i.reasoning_cut IS NOT NULL THEN 1 ELSE 0 END), sum(i.has_reasoning),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 < 1.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 >= 1.0 * i.cap_tokens AND coalesce(i.reasoning_tokens, 0) * 10.0 < 2.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 >= 2.0 * i.cap_tokens AND coalesce(i.reasoning_tokens, 0) * 10.0 < 3.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 >= 3.0 * i.cap_tokens AND coalesce(i.reasoning_tokens, 0) * 10.0 < 4.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 >= 4.0 * i.cap_tokens AND coalesce(i.reasoning_tokens, 0) * 10.0 < 5.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 >= 5.0 * i.cap_tokens AND coalesce(i.reasoning_tokens, 0) * 10.0 < 6.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 >= 6.0 * i.cap_tokens AND coalesce(i.reasoning_tokens, 0) * 10.0 < 7.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 >= 7.0 * i.cap_tokens AND coalesce(i.reasoning_tokens, 0) * 10.0 < 8.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 >= 8.0 * i.cap_tokens AND coalesce(i.reasoning_tokens, 0) * 10.0 < 9.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cap_tokens > 0 AND coalesce(i.reasoning_tokens, 0) * 10.0 >= 9.0 * i.cap_tokens
        THEN 1 ELSE 0 END),
    sum(CASE WHEN i.cost_usd IS NULL THEN 0 ELSE 1 END), coalesce(sum(i.cost_usd), 0)
FROM llm_interactions i GROUP BY 1, 2, 3, 4, 5, 6;

-- How long calls thought: the newest are found without reading them.
CREATE INDEX llm_interactions_by_thought ON llm_interactions
    (started_ms, reasoning_ms, answer_ms, ended_ms, key_name, model, reasoning_level)
    WHERE reasoning_ms IS NOT NULL;

-- Sessions of a time before they had times of their own were last seen when their last call began.
UPDATE alert_sessions SET last_seen_ms = completed_at_us / 1000
    WHERE coalesce(agent_type, 'gateway') = 'gateway' AND status <> 'in_progress'
    AND completed_at_us IS NOT NULL AND completed_at_us / 1000 <> coalesce(last_seen_ms, -1);
