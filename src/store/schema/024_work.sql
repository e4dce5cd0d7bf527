-- Which daemon has the work: only that daemon continues it. NULL or empty: nobody does, and any may.
-- due: a word for that daemon from another one, or from the takeover that made it the owner:
-- resume, cancel, or empty.
ALTER TABLE agent_runs ADD COLUMN daemon_id TEXT;
ALTER TABLE agent_runs ADD COLUMN due TEXT NOT NULL DEFAULT '';
ALTER TABLE alerts ADD COLUMN daemon_id TEXT;
ALTER TABLE alerts ADD COLUMN due TEXT NOT NULL DEFAULT '';
ALTER TABLE notifications ADD COLUMN daemon_id TEXT;
ALTER TABLE policy_reverify ADD COLUMN daemon_id TEXT;

CREATE INDEX agent_runs_due ON agent_runs (daemon_id) WHERE due <> '';
CREATE INDEX agent_runs_by_daemon ON agent_runs (daemon_id) WHERE status IN ('running', 'waiting');
CREATE INDEX alerts_due ON alerts (daemon_id) WHERE due <> '';
CREATE INDEX alerts_by_daemon ON alerts (daemon_id)
    WHERE state IN ('queued', 'processing', 'waiting');

-- Logins that ended before their time, by the digest of their cookie.
CREATE TABLE login_ends (
    digest   TEXT PRIMARY KEY,
    until_us BIGINT NOT NULL
);
