-- The key that a run belongs to: the one that started it, whoever calls in its session later.
ALTER TABLE agent_runs ADD COLUMN key_name TEXT;
UPDATE agent_runs SET key_name = (SELECT s.key_name FROM alert_sessions s
    WHERE s.session_id = agent_runs.session_id);
