-- Threads of agents: checkpoints with parents, the values of their channels, writes not yet taken in.
CREATE TABLE threads (
    thread_id  TEXT PRIMARY KEY,
    key_name   TEXT NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL
);

-- refs: for each channel that has a value, the checkpoint that wrote it.
CREATE TABLE thread_checkpoints (
    thread_id     TEXT NOT NULL,
    ns            TEXT NOT NULL,
    checkpoint_id TEXT NOT NULL,
    parent_id     TEXT,
    checkpoint    TEXT NOT NULL,
    refs          TEXT NOT NULL,
    metadata      TEXT NOT NULL,
    created_us    BIGINT NOT NULL,
    PRIMARY KEY (thread_id, ns, checkpoint_id)
);

CREATE INDEX thread_checkpoints_by_id ON thread_checkpoints (checkpoint_id);

-- A value whole (depth 0), or what differs from its base: head and tail bytes of that stay.
CREATE TABLE thread_values (
    thread_id    TEXT NOT NULL,
    ns           TEXT NOT NULL,
    channel      TEXT NOT NULL,
    version      TEXT NOT NULL,
    writer       TEXT NOT NULL,
    type         TEXT NOT NULL,
    base_version TEXT,
    base_writer  TEXT,
    depth        BIGINT NOT NULL,
    head         BIGINT NOT NULL,
    tail         BIGINT NOT NULL,
    since        BIGINT NOT NULL,
    whole        BIGINT NOT NULL,
    created_us   BIGINT NOT NULL,
    value        BLOB NOT NULL,
    PRIMARY KEY (thread_id, ns, channel, version, writer)
);

CREATE TABLE thread_writes (
    thread_id     TEXT NOT NULL,
    ns            TEXT NOT NULL,
    checkpoint_id TEXT NOT NULL,
    task_id       TEXT NOT NULL,
    idx           BIGINT NOT NULL,
    channel       TEXT NOT NULL,
    type          TEXT NOT NULL,
    value         BLOB NOT NULL,
    PRIMARY KEY (thread_id, ns, checkpoint_id, task_id, idx)
);

CREATE INDEX threads_by_key ON threads (key_name);

-- What went with an erasure.
ALTER TABLE erasures ADD COLUMN threads BIGINT NOT NULL DEFAULT 0;
ALTER TABLE erasures ADD COLUMN runs BIGINT NOT NULL DEFAULT 0;
