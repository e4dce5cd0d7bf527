-- Sessions are listed by their start, and those of one start by their id. Few have the same start:
-- the database sorts these when it reads them, so the id need not be in the indexes.
DROP INDEX alert_sessions_by_start;
DROP INDEX alert_sessions_by_key;
CREATE INDEX alert_sessions_by_start ON alert_sessions (started_at_us);
CREATE INDEX alert_sessions_by_key ON alert_sessions (key_name, started_at_us)
    WHERE key_name IS NOT NULL;
