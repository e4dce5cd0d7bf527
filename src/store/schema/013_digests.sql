-- Calls from this number on have a digest of BLAKE2bp in the audit log, those before it one of
-- BLAKE2b. See store/audit_bytes.h.
ALTER TABLE store_counters ADD COLUMN tree_from BIGINT NOT NULL DEFAULT 0;
UPDATE store_counters SET tree_from = call_n + 1;
