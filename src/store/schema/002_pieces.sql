-- What has come of calls that still run. The final row takes their place; if the process ends
-- before, the next one makes a row of them.
CREATE TABLE call_pieces (
    call_id TEXT NOT NULL,
    n       INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    bytes   BLOB NOT NULL,
    PRIMARY KEY (call_id, n, kind)
);
