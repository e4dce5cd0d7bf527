-- Nearly all sessions are completed, and the order of their start serves for these: the index by
-- status is for the others.
DROP INDEX alert_sessions_by_status;
CREATE INDEX alert_sessions_by_status ON alert_sessions (status, started_at_us, key_name)
    WHERE status <> 'completed';

-- A title is the first 80 characters of the first question.
UPDATE alert_sessions SET title = substr(title, 1, 80) WHERE length(title) > 80;
