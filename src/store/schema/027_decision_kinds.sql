-- A call is of one of two kinds, or made no decision. So each kind has an index of its own, which
-- need not repeat the kind in every entry. This version also stores requests without the answers
-- that they repeat (store/block.h), which programs that do not know this step cannot read.
DROP INDEX llm_interactions_by_kind;
CREATE INDEX llm_interactions_of_tool_calls ON llm_interactions (ended_ms)
    WHERE decision_kind = 'TOOL_CALL';
CREATE INDEX llm_interactions_of_direct ON llm_interactions (ended_ms)
    WHERE decision_kind = 'DIRECT';
