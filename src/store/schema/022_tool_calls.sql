-- The tool calls of a session: those that the models asked clients for, and those that applications
-- made. Calls of before this step count each tool of a reply once.
ALTER TABLE llm_interactions ADD COLUMN tool_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE alert_sessions ADD COLUMN tool_call_count BIGINT NOT NULL DEFAULT 0;

UPDATE llm_interactions SET tool_count = t.n
    FROM (SELECT call_n, count(*) AS n FROM call_tools GROUP BY call_n) AS t
    WHERE t.call_n = llm_interactions.call_n AND llm_interactions.route LIKE '/%';
UPDATE alert_sessions SET tool_call_count = c.n
    FROM (SELECT session_id, sum(tool_count) AS n FROM llm_interactions
          WHERE tool_count > 0 GROUP BY session_id) AS c
    WHERE c.session_id = alert_sessions.session_id;
UPDATE alert_sessions SET tool_call_count = tool_call_count + m.n
    FROM (SELECT session_id, count(*) AS n FROM mcp_communications
          WHERE coalesce(communication_type, '') = 'tool_call' GROUP BY session_id) AS m
    WHERE m.session_id = alert_sessions.session_id;
