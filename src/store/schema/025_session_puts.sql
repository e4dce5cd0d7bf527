-- When the status of a session was put by its application. Several daemons may do so, and their
-- journals arrive in any order: the latest put counts.
ALTER TABLE alert_sessions ADD COLUMN put_at_us BIGINT;
