-- The daemons that share this database, see store/daemons.h. fence grows when one registers or is
-- taken over; a daemon writes only while it is the number that it registered with. Times are those
-- of this server.
CREATE TABLE daemons (
    daemon_id  TEXT PRIMARY KEY, -- also the name of its spool
    fence      BIGINT NOT NULL,
    address    TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_us BIGINT NOT NULL,
    seen_us    BIGINT NOT NULL,
    state      TEXT NOT NULL -- running, stopping, stopped, gone
);

-- Engines take turns: the transaction that has locked this row writes calls, blocks and the audit
-- log. It names the daemon that wrote last, and counts erasures: all, and those that were asked for.
CREATE TABLE store_turn (
    one       BIGINT PRIMARY KEY CHECK (one = 1),
    daemon_id TEXT NOT NULL,
    fence     BIGINT NOT NULL,
    erased    BIGINT NOT NULL,
    asked     BIGINT NOT NULL
);
INSERT INTO store_turn VALUES (1, '', 0, 0, 0);

-- Whose journal a piece came from. Those of before are of the only journal there was, if there was
-- only one; else they have no name, and the first daemon that starts has them.
ALTER TABLE call_pieces ADD COLUMN spool TEXT NOT NULL DEFAULT '';
UPDATE call_pieces SET spool = coalesce((SELECT max(spool) FROM store_progress HAVING count(*) = 1), '');
