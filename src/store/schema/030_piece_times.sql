-- When a call that still runs had these bytes; 0: unknown.
ALTER TABLE call_pieces ADD COLUMN time_ms BIGINT NOT NULL DEFAULT 0;
