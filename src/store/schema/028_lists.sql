-- The runs of all applications, and those of a key, newest first.
CREATE INDEX agent_runs_by_time ON agent_runs (created_us, run_id);
CREATE INDEX agent_runs_by_key ON agent_runs (key_name, created_us, run_id)
    WHERE key_name IS NOT NULL;
