-- Messages about incidents: one for each incident, target, event and occasion. A row is written in
-- the transaction that changes the incident's state. state: pending, sent, failed.
-- occasion tells two events of one kind apart, such as two questions; else it is empty.
-- receipt is what the target answered to find the message again, such as a Slack timestamp.
CREATE TABLE notifications (
    notification_id TEXT PRIMARY KEY,
    alert_id        TEXT NOT NULL,
    session_id      TEXT NOT NULL,
    target          TEXT NOT NULL,
    event           TEXT NOT NULL,
    occasion        TEXT NOT NULL,
    state           TEXT NOT NULL,
    tries           BIGINT NOT NULL DEFAULT 0,
    next_us         BIGINT NOT NULL,
    error           TEXT,
    receipt         TEXT,
    created_us      BIGINT NOT NULL,
    updated_us      BIGINT NOT NULL
);
CREATE UNIQUE INDEX notifications_once ON notifications (alert_id, target, event, occasion);
CREATE INDEX notifications_due ON notifications (target, next_us) WHERE state = 'pending';
CREATE INDEX notifications_by_session ON notifications (session_id);
