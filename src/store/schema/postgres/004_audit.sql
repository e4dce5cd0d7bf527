-- What happened to the store, each entry bound to the one before it: hash is SHA-256 over prev and
-- the rest of the entry. digest is over the row as it was stored. See docs/history.md.
CREATE TABLE audit_log (
    seq     BIGINT PRIMARY KEY,
    time_us BIGINT NOT NULL,
    actor   TEXT,
    action  TEXT NOT NULL,
    subject TEXT,
    detail  TEXT,
    digest  BYTEA,
    prev    BYTEA NOT NULL,
    hash    BYTEA NOT NULL
);

CREATE INDEX audit_log_of_erased ON audit_log (subject) WHERE action = 'erased';

-- Secrets of the store itself: the key of the digests.
CREATE TABLE store_keys (
    name  TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

-- One receipt for each erasure.
CREATE TABLE erasures (
    receipt_id     TEXT PRIMARY KEY,
    erased_at_us   BIGINT NOT NULL,
    sessions       BIGINT NOT NULL,
    interactions   BIGINT NOT NULL,
    decisions      BIGINT NOT NULL,
    communications BIGINT NOT NULL,
    head_hash      TEXT NOT NULL,
    scrubbed       BIGINT NOT NULL DEFAULT 0 -- its bytes are gone from the files too
);
