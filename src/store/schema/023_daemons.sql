-- Daemons share a PostgreSQL database only, see the file of that name in postgres/; the tables are
-- the same here, and stay empty.
CREATE TABLE daemons (
    daemon_id  TEXT PRIMARY KEY,
    fence      INTEGER NOT NULL,
    address    TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_us INTEGER NOT NULL,
    seen_us    INTEGER NOT NULL,
    state      TEXT NOT NULL
);

-- Whose journal the place is of: a process with another folder begins with the first record of that.
ALTER TABLE store_progress ADD COLUMN spool TEXT NOT NULL DEFAULT '';

ALTER TABLE call_pieces ADD COLUMN spool TEXT NOT NULL DEFAULT '';
