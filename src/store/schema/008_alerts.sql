-- Alerts that came in: what each is about, how far it is, what came of it. A row is on disk before
-- its alert is acknowledged. state: queued, processing, completed, error, cancelled.
CREATE TABLE alerts (
    alert_id      TEXT PRIMARY KEY,
    session_id    TEXT NOT NULL,
    digest        TEXT NOT NULL,
    key_name      TEXT NOT NULL,
    state         TEXT NOT NULL,
    alert_type    TEXT NOT NULL,
    severity      TEXT NOT NULL,
    environment   TEXT NOT NULL,
    runbook       TEXT NOT NULL,
    data          TEXT NOT NULL,
    timestamp_us  BIGINT NOT NULL,
    agent         TEXT,
    progress      BIGINT NOT NULL DEFAULT 0,
    current_step  TEXT,
    current_agent TEXT,
    stages        TEXT,
    cancelled     BIGINT NOT NULL DEFAULT 0,
    error         TEXT,
    reason        TEXT,
    report        TEXT,
    created_us    BIGINT NOT NULL,
    started_us    BIGINT,
    completed_us  BIGINT,
    updated_us    BIGINT NOT NULL
);

-- One of a kind at a time, whoever asks.
CREATE UNIQUE INDEX alerts_alive ON alerts (digest, key_name) WHERE state IN ('queued', 'processing');
CREATE INDEX alerts_by_time ON alerts (created_us, alert_id);
CREATE INDEX alerts_by_state ON alerts (state, created_us, alert_id);
CREATE INDEX alerts_by_session ON alerts (session_id);
