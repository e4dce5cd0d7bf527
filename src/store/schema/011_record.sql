-- The name a key gave to its session, where one of that name is another's; session_id is ours then.
ALTER TABLE alert_sessions ADD COLUMN named TEXT;
CREATE INDEX alert_sessions_by_name ON alert_sessions (named, key_name) WHERE named IS NOT NULL;

-- By what the conversation of a call is recognised when it goes on: digests, see gateway/talk.h.
ALTER TABLE llm_interactions ADD COLUMN talk TEXT;
CREATE INDEX llm_interactions_by_talk ON llm_interactions (started_ms, session_id, talk)
    WHERE talk IS NOT NULL;
