/* erase_find.c - see erase_find.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/erase_find.h"

#include "base/json.h"

/* Sessions that a subject has a part in. */
static const char of_subject[] =
    "SELECT session_id FROM alert_sessions WHERE subject = $1"
    " UNION SELECT session_id FROM llm_interactions WHERE subject = $1"
    " UNION SELECT session_id FROM alert_sessions WHERE agent_type <> 'gateway' AND subject IS NULL"
    " AND key_name = $1"
    " UNION SELECT session_id FROM alerts WHERE key_name = $1"
    " UNION SELECT session_id FROM policy_results WHERE key_name = $1 OR case_id = $1"
    " UNION SELECT session_id FROM policy_proposals WHERE created_by = $1 OR case_id = $1";

/* And those, and runs of the optimiser, that name it: in JSON, or in a text in JSON. */
static const struct {
    const char *which, *text;
} naming[] = {
    {"SELECT session_id FROM alert_sessions WHERE agent_type <> 'gateway'", "alert_data"},
    {"SELECT session_id FROM alerts WHERE 1 = 1", "data"},
    {"SELECT DISTINCT a.session_id FROM alerts a JOIN incident_alerts m"
     " ON m.incident_id = a.alert_id WHERE 1 = 1",
     "m.data"},
    {"SELECT session_id FROM policy_results WHERE 1 = 1", "result"},
    {"SELECT session_id FROM policy_cases WHERE 1 = 1", "body"},
    {"SELECT session_id FROM policy_proposals WHERE 1 = 1", "value"},
    {"SELECT session_id FROM agent_runs WHERE session_id IS NOT NULL", "input"},
    {"SELECT run_id FROM optimize_runs WHERE 1 = 1", "input"},
    {"SELECT DISTINCT run_id FROM optimize_lines WHERE 1 = 1", "line"},
};

/* The name as JSON writes it, between marks. */
static struct db_value erase_find_quoted(struct arena *a, str name, str mark)
{
    struct buf quoted;
    str text;

    buf_init(&quoted, 8 * name.n + 64);
    (void)json_quote(&quoted, name);
    assert(quoted.n >= 2 && !buf_full(&quoted));
    text = str_slice(buf_str(&quoted), 1, quoted.n - 1);
    text = arena_join(a, mark, text, mark);
    buf_release(&quoted);
    return db_text(text);
}

static const char *erase_find_at(const struct db *db)
{
    return db_kind(db) == DB_POSTGRES ? "strpos" : "instr";
}

bool erase_find_sessions(struct db *db, struct arena *a, str subject, struct db_rows rows,
                         struct err *e)
{
    const char *at = erase_find_at(db);
    struct db_value args[] = {erase_find_quoted(a, subject, STR("\"")),
                              erase_find_quoted(a, subject, STR("\\\""))};
    bool ok = db_query(db, of_subject, DB_ARGS(db_text(subject)), rows, e);
    char sql[300];

    for (size_t i = 0; ok && i < COUNT_OF(naming); i++) {
        (void)snprintf(sql,
                       sizeof sql,
                       "%s AND (%s(%s, $1) > 0 OR %s(%s, $2) > 0)",
                       naming[i].which,
                       at,
                       naming[i].text,
                       at,
                       naming[i].text);
        ok = db_query(db, sql, args, COUNT_OF(args), rows, e);
    }
    return ok;
}

bool erase_find_runs(struct db *db, struct arena *a, str subject, struct db_rows rows,
                     struct err *e)
{
    const char *at = erase_find_at(db);
    struct db_value args[] = {erase_find_quoted(a, subject, STR("\"")),
                              erase_find_quoted(a, subject, STR("\\\""))};
    char sql[200];

    (void)snprintf(sql,
                   sizeof sql,
                   "SELECT run_id FROM agent_runs WHERE session_id IS NULL AND (%s(input, $1) > 0"
                   " OR %s(input, $2) > 0)",
                   at,
                   at);
    return db_query(db, sql, args, COUNT_OF(args), rows, e);
}
