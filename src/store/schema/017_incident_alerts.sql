-- The alerts of an incident (a row of alerts, whose alert_id is here incident_id): one row for each
-- firing, with how often it was reported. An alert is found again by its sender, its fingerprint
-- and its start; a group by its key. ended_us: NULL while it fires.
CREATE TABLE incident_alerts (
    incident_id   TEXT NOT NULL,
    position      BIGINT NOT NULL,
    key_name      TEXT NOT NULL,
    source        TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    group_key     TEXT NOT NULL,
    name          TEXT NOT NULL,
    severity      TEXT NOT NULL,
    data          TEXT NOT NULL,
    starts_us     BIGINT NOT NULL,
    ended_us      BIGINT,
    seen          BIGINT NOT NULL,
    first_seen_us BIGINT NOT NULL,
    last_seen_us  BIGINT NOT NULL,
    PRIMARY KEY (incident_id, position)
);

CREATE INDEX incident_alerts_firing ON incident_alerts (fingerprint, source, key_name, starts_us);
CREATE INDEX incident_alerts_group ON incident_alerts (group_key, source, key_name)
    WHERE group_key <> '' AND ended_us IS NULL;
