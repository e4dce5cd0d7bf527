-- Results of the heuristic have no session: retention finds them by their own time.
CREATE INDEX policy_results_without_session ON policy_results (created_us)
    WHERE controller = 'heuristic';

-- The review queue, and how many wait in it.
CREATE INDEX policy_results_waiting ON policy_results (created_us) WHERE status = 'uncertain';

-- Re-verification goes through the cases in this order.
CREATE INDEX policy_cases_by_time ON policy_cases (created_us, run_id);
