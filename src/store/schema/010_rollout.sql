-- The switches that an operator set over those of the configuration: the newest row counts.
-- switches and configured are JSON; a row without switches takes them back.
CREATE TABLE policy_rollout (
    step       BIGINT PRIMARY KEY,
    switches   TEXT,
    configured TEXT NOT NULL,
    set_by     TEXT NOT NULL,
    set_us     BIGINT NOT NULL
);
