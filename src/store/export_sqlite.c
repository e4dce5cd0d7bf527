/* export_sqlite.c - the record as plain tables in a new SQLite file.
 *
 * Calls are read in the order of call_n, which is the order of their blocks, so that each block is
 * unpacked once. Whether the filter wants a row is a column of the page and no condition, so that
 * no database sorts all calls for each page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/export_sqlite.h"
#include "base/progress.h"

#include "store/engine_state.h"
#include "store/query_build.h"

#define EXPORT_PAGE 256u
#define EXPORT_COPY_PAGE 64 /* rows that have their long texts with them */
#define EXPORT_TOOLS_MAX 1000u
#define EXPORT_SQL_MAX 32768

#define EXPORT_SESSION_COLUMNS                                                                     \
    "session_id, named, alert_id, agent_type, alert_type, status, outcome, title, model,"          \
    " key_name, subject, first_seen_ms, last_seen_ms, started_at_us, completed_at_us, call_count," \
    " tool_count, tool_call_count, input_tokens, output_tokens, reasoning_tokens, cost_usd,"       \
    " has_reasoning,"                                                                              \
    " error_message, final_analysis, alert_data, session_metadata"

/* llm_interactions is made of the fields of row.h. */
static const char *const export_tables[] = {
    "CREATE TABLE alert_sessions (session_id TEXT PRIMARY KEY, named TEXT, alert_id TEXT,"
    " agent_type TEXT, alert_type TEXT, status TEXT NOT NULL, outcome TEXT, title TEXT, model TEXT,"
    " key_name TEXT, subject TEXT, first_seen_ms INTEGER, last_seen_ms INTEGER,"
    " started_at_us INTEGER, completed_at_us INTEGER, call_count INTEGER NOT NULL,"
    " tool_count INTEGER NOT NULL, tool_call_count INTEGER NOT NULL,"
    " input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,"
    " reasoning_tokens INTEGER NOT NULL, cost_usd REAL, has_reasoning INTEGER NOT NULL,"
    " error_message TEXT, final_analysis TEXT, alert_data TEXT, session_metadata TEXT)",
    "CREATE INDEX alert_sessions_by_start ON alert_sessions (started_at_us)",
    "CREATE INDEX alert_sessions_by_key ON alert_sessions (key_name, started_at_us)",
    "CREATE INDEX llm_interactions_by_session ON llm_interactions (session_id, started_ms)",
    "CREATE INDEX llm_interactions_by_time ON llm_interactions (started_ms)",
    "CREATE INDEX llm_interactions_by_model ON llm_interactions (model, started_ms)",
    "CREATE TABLE reasoning_segments (interaction_id TEXT NOT NULL, n INTEGER NOT NULL,"
    " kind TEXT NOT NULL, text TEXT, tokens INTEGER, exact INTEGER NOT NULL, started_us INTEGER,"
    " ended_us INTEGER, budget INTEGER, cut INTEGER NOT NULL, state TEXT,"
    " PRIMARY KEY (interaction_id, n))",
    "CREATE TABLE decisions (decision_id INTEGER PRIMARY KEY, interaction_id TEXT NOT NULL UNIQUE,"
    " session_id TEXT, timestamp_us INTEGER NOT NULL, kind TEXT NOT NULL, tools TEXT, model TEXT,"
    " entry TEXT NOT NULL)",
    "CREATE INDEX decisions_by_session ON decisions (session_id, timestamp_us)",
    "CREATE INDEX decisions_by_time ON decisions (timestamp_us)",
    "CREATE TABLE decision_tools (tool TEXT NOT NULL, decision_id INTEGER NOT NULL,"
    " PRIMARY KEY (tool, decision_id)) WITHOUT ROWID",
    "CREATE TABLE mcp_communications (communication_id TEXT PRIMARY KEY, session_id TEXT,"
    " parent_id TEXT, server_name TEXT, communication_type TEXT, tool_name TEXT,"
    " tool_arguments TEXT, tool_result TEXT, available_tools TEXT, error_message TEXT,"
    " step_description TEXT, timestamp_us INTEGER NOT NULL, duration_ms INTEGER,"
    " success INTEGER NOT NULL)",
    "CREATE INDEX mcp_communications_by_session ON mcp_communications (session_id, timestamp_us)",
    "CREATE TABLE usage_hours (hour INTEGER NOT NULL, model TEXT NOT NULL, provider TEXT NOT NULL,"
    " key_name TEXT NOT NULL, level TEXT NOT NULL, cap_tokens INTEGER NOT NULL,"
    " calls INTEGER NOT NULL, failed INTEGER NOT NULL, input_tokens INTEGER NOT NULL,"
    " output_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,"
    " cache_read_tokens INTEGER NOT NULL, starved INTEGER NOT NULL, cut INTEGER NOT NULL,"
    " with_reasoning INTEGER NOT NULL, b0 INTEGER NOT NULL, b1 INTEGER NOT NULL,"
    " b2 INTEGER NOT NULL, b3 INTEGER NOT NULL, b4 INTEGER NOT NULL, b5 INTEGER NOT NULL,"
    " b6 INTEGER NOT NULL, b7 INTEGER NOT NULL, b8 INTEGER NOT NULL, b9 INTEGER NOT NULL,"
    " priced INTEGER NOT NULL, cost_usd REAL NOT NULL, PRIMARY KEY (" USAGE_WHICH "))",
};

/* A table of the store that is copied as it is. */
struct export_copy {
    const char *table, *key, *columns;
};

static const struct export_copy export_sessions = {
    "alert_sessions", "session_id", EXPORT_SESSION_COLUMNS};
static const struct export_copy export_exchanges = {
    "mcp_communications", "communication_id", ENGINE_TOOL_COLUMNS};

/* As in the API: a session to which no application gave an analysis has the last answer. */
static const char export_last_answers[] =
    "UPDATE alert_sessions SET final_analysis = (SELECT i.answer FROM llm_interactions i"
    " WHERE i.session_id = alert_sessions.session_id AND i.answer IS NOT NULL"
    " ORDER BY i.started_ms DESC, i.interaction_id DESC LIMIT 1) WHERE final_analysis IS NULL";

struct export_sqlite {
    struct reader *r;
    const struct query_asker *a;
    const struct query_filter *f;
    struct export_sqlite_to *to;
    struct db *db; /* the new file */

    struct session_found found;
    struct json tools;
    struct arena page, row; /* a call may have more texts than the reader's answers have room for */
    struct engine_call calls[EXPORT_PAGE];
    bool wanted[EXPORT_PAGE];
    size_t count;

    struct buf put_call, put_usage;
    /* Of the table that is copied now. */
    struct buf put_copy, after;
    uint64_t seen, copied;

    bool failed; /* in a callback, with err */
    struct err err;
};

/* ---- the new file ---- */

/* Conversation digests are secrets of the store. */
static bool export_has_field(const struct row_field *f)
{
    return strcmp(f->column, "talk") != 0;
}

/* "call_n INTEGER PRIMARY KEY, interaction_id TEXT ...", or only the names. Narrow columns come
 * first, so that a query that needs no text reads none. */
static void export_call_columns(struct buf *out, bool types)
{
    static const char *const names[] = {
        [ROW_TEXT] = " TEXT",
        [ROW_BODY] = " TEXT",
        [ROW_INT] = " INTEGER NOT NULL",
        [ROW_BOOL] = " INTEGER NOT NULL",
        [ROW_I64] = " INTEGER NOT NULL",
        [ROW_KNOWN] = " INTEGER",
        [ROW_COST] = " REAL",
    };

    buf_printf(out,
               "call_n%s, request_size%s, reply_size%s",
               types ? " INTEGER PRIMARY KEY" : "",
               types ? " INTEGER NOT NULL" : "",
               types ? " INTEGER NOT NULL" : "");
    for (int text = 0; text < 2; text++)
        for (size_t i = 0; i < row_field_count; i++)
            if (!row_fields[i].text == !text && export_has_field(&row_fields[i]))
                buf_printf(out,
                           ", %s%s%s",
                           row_fields[i].column,
                           types ? names[row_fields[i].kind] : "",
                           types && i == 0 ? " NOT NULL UNIQUE" : "");
}

static size_t export_call_values(const struct store_call *row, int64_t call_n,
                                 struct db_value out[ENGINE_COLUMNS_MAX])
{
    size_t n = 0;

    out[n++] = db_int(call_n);
    out[n++] = db_int((int64_t)row->request.n);
    out[n++] = db_int((int64_t)row->reply.n);
    for (int text = 0; text < 2; text++)
        for (size_t i = 0; i < row_field_count; i++)
            if (!row_fields[i].text == !text && export_has_field(&row_fields[i]))
                out[n++] = engine_field_value(&row_fields[i], row);
    assert(n <= ENGINE_COLUMNS_MAX);
    return n;
}

static void export_add_marks(struct buf *out, size_t n)
{
    for (size_t i = 1; i <= n; i++)
        buf_printf(out, "%s$%zu", i > 1 ? ", " : "", i);
}

static void export_make_statements(struct export_sqlite *x)
{
    struct db_value none[ENGINE_COLUMNS_MAX];

    buf_add(&x->put_call, STR("INSERT INTO llm_interactions ("));
    export_call_columns(&x->put_call, false);
    buf_add(&x->put_call, STR(") VALUES ("));
    export_add_marks(&x->put_call, export_call_values(&store_call_none, 0, none));
    buf_add(&x->put_call, STR(")"));
    buf_add_c(&x->put_call, '\0');
    /* The sums of a call ask for the bits of answer and tool calls. */
    buf_add(&x->put_usage,
            STR("INSERT INTO usage_hours (" USAGE_WHICH ", " USAGE_SUMS ") SELECT "));
    usage_write_call(&usage_tables[USAGE_BY_HOUR], &x->put_usage);
    buf_printf(&x->put_usage,
               " FROM (SELECT *, CASE WHEN answer IS NULL AND tool_calls IS NULL"
               " THEN 0 ELSE %d END AS texts FROM llm_interactions WHERE call_n > $1) i"
               " WHERE true",
               1 << BLOCK_ANSWER | 1 << BLOCK_TOOL_CALLS);
    usage_write_add(&usage_tables[USAGE_BY_HOUR], &x->put_usage);
    buf_add_c(&x->put_usage, '\0');
    assert(!buf_full(&x->put_call) && !buf_full(&x->put_usage));
}

static bool export_make_tables(struct export_sqlite *x, struct err *e)
{
    struct buf sql;
    bool ok;

    buf_init(&sql, EXPORT_SQL_MAX);
    buf_add(&sql, STR("CREATE TABLE llm_interactions ("));
    export_call_columns(&sql, true);
    buf_add(&sql, STR(")"));
    buf_add_c(&sql, '\0');
    assert(!buf_full(&sql));
    ok = db_run(x->db, sql.p, DB_NO_ARGS, e);
    for (size_t i = 0; ok && i < COUNT_OF(export_tables); i++)
        ok = db_run(x->db, export_tables[i], DB_NO_ARGS, e);
    buf_release(&sql);
    return ok;
}

static bool export_run(struct export_sqlite *x, const char *sql, const struct db_value *args,
                       size_t n)
{
    x->failed = x->failed || !db_run(x->db, sql, args, n, &x->err);
    return !x->failed;
}

static bool export_ok(const struct export_sqlite *x, bool ok, struct err *e)
{
    if (ok && x->failed)
        *e = x->err;
    return ok && !x->failed;
}

/* ---- which rows ---- */

/* ", wanted": whether the session of row p is one that was asked for. */
static void export_add_wanted(struct export_sqlite *x, struct sql *q)
{
    sql_add(q,
            ", CASE WHEN EXISTS (SELECT 1 FROM alert_sessions s WHERE s.session_id ="
            " p.session_id");
    q->where = true;
    session_where(x->r, q, x->a, x->f, &x->found);
    sql_add(q, ") THEN 1 ELSE 0 END");
}

/* " FROM table p WHERE key > after ORDER BY key LIMIT max". One session is found by its index. */
static void export_add_page(struct export_sqlite *x, struct sql *q, const char *table,
                            const char *key, struct db_value after)
{
    sql_add(q, " FROM ");
    sql_add(q, table);
    sql_add(q, " p WHERE p.");
    sql_add(q, key);
    sql_add(q, " > ");
    sql_value(q, after);
    q->where = true;
    if (!x->a->key_name.n)
        sql_where_text(q, "p.session_id =", x->f->session_id);
    sql_add(q, " ORDER BY p.");
    sql_add(q, key);
}

/* ---- sessions and tool exchanges ---- */

static bool export_on_copy(void *ctx, const struct db_value *v, size_t n)
{
    struct export_sqlite *x = ctx;

    assert(n >= 2); /* the key, and whether the row is wanted */
    x->seen++;
    if (v[n - 1].i) {
        x->copied++;
        if (!export_run(x, x->put_copy.p, v, n - 1))
            return false;
    }
    buf_reset(&x->after);
    buf_add(&x->after, v[0].s);
    return true;
}

static bool export_copy_page(struct export_sqlite *x, const struct export_copy *c, struct err *e)
{
    struct sql q;
    bool ok;

    sql_begin(&q, "SELECT ");
    sql_add(&q, c->columns);
    export_add_wanted(x, &q);
    export_add_page(x, &q, c->table, c->key, db_text(buf_str(&x->after)));
    sql_limit(&q, EXPORT_COPY_PAGE, 0);
    ok = sql_query(x->r, &q, (struct db_rows){export_on_copy, x}, e);
    return export_ok(x, ok, e);
}

static bool export_copy(struct export_sqlite *x, const struct export_copy *c, struct err *e)
{
    size_t columns = 1;
    uint64_t before;

    for (const char *p = c->columns; *p; p++)
        columns += *p == ',';
    buf_reset(&x->put_copy);
    buf_printf(&x->put_copy, "INSERT INTO %s (%s) VALUES (", c->table, c->columns);
    export_add_marks(&x->put_copy, columns);
    buf_add(&x->put_copy, STR(")"));
    buf_add_c(&x->put_copy, '\0');
    assert(columns > 1 && !buf_full(&x->put_copy));
    buf_reset(&x->after);
    x->seen = x->copied = 0;
    do {
        before = x->seen;
        if (!export_copy_page(x, c, e))
            return false;
    } while (x->seen == before + EXPORT_COPY_PAGE);
    return true;
}

/* ---- calls ---- */

/* The columns of a call for a reader who may not see reasoning: the same as in the API. */
static void export_hide(struct export_sqlite *x, struct store_call *row)
{
    const struct query_asker *a = x->a;

    if (!a->hide_reasoning)
        return;
    if (row->has_reasoning && !str_eq(row->state, STR("opaque")))
        row->state = STR("hidden");
    if (row->has_reasoning)
        row->decision = decision_bare(row->decision);
    row->reasoning = row->reasoning_summary = row->reply = row->segments = STR("");
    row->request = a->redact ? a->redact(row->request, &x->row) : STR("");
}

static bool export_on_segment(void *ctx, const struct db_value *v, size_t n)
{
    struct export_sqlite *x = ctx;
    struct db_value out[SEGMENT_COLUMNS];

    assert(n == SEGMENT_COLUMNS);
    memcpy(out, v, sizeof out);
    if (x->a->hide_reasoning && str_eq(v[SEGMENT_KIND].s, STR("reasoning"))) {
        out[SEGMENT_TEXT] = db_null();
        out[SEGMENT_STATE] = db_text(STR("hidden"));
    }
    return export_run(x,
                      "INSERT INTO reasoning_segments VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
                      " $10, $11)",
                      out,
                      SEGMENT_COLUMNS);
}

static void export_put_tools(struct export_sqlite *x, const struct store_call *row, int64_t call_n)
{
    const struct json_node *root, *v;
    struct err bad;
    size_t n = 0;

    if (row->tools.n == 0 || !json_parse(&x->tools, row->tools, &bad))
        return;
    root = json_root(&x->tools);
    for (v = json_first(&x->tools, root); v && n < EXPORT_TOOLS_MAX;
         v = json_next(&x->tools, root, v), n++) {
        struct db_value args[2] = {db_null(), db_int(call_n)};
        str name;

        if (!json_text(&x->tools, v, &x->row, &name))
            continue;
        args[0] = db_text(name);
        if (!export_run(x, "INSERT OR IGNORE INTO decision_tools VALUES ($1, $2)", args, 2))
            return;
    }
}

static bool export_put_decision(struct export_sqlite *x, const struct store_call *row,
                                int64_t call_n)
{
    int64_t ms = row->ended_ms >= 0 ? row->ended_ms : row->started_ms;
    bool called = str_starts(row->decision, STR("[TOOL_CALL]"));
    struct db_value args[] = {
        db_int(call_n),
        db_text(row->id),
        db_text_or_null(row->session_id),
        db_int(ms * 1000),
        db_text(called ? STR("TOOL_CALL") : STR("DIRECT")),
        db_text_or_null(row->tools),
        db_text_or_null(row->model),
        db_text(row->decision),
    };

    if (row->decision.n == 0)
        return true;
    export_put_tools(x, row, call_n);
    return export_run(
        x, "INSERT INTO decisions VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", args, COUNT_OF(args));
}

static bool export_put_call(struct export_sqlite *x, const struct engine_call *c, struct err *e)
{
    struct db_value values[ENGINE_COLUMNS_MAX];
    struct store_call row = c->row;
    size_t n;

    arena_reset(&x->row);
    if (!texts_read(&x->r->texts, &c->at, &x->row, &row, e))
        return false;
    call_segments_read(&x->r->segments, &row, &x->row, (struct db_rows){export_on_segment, x});
    export_hide(x, &row);
    n = export_call_values(&row, c->at.call_n, values);
    (void)(export_run(x, x->put_call.p, values, n) && export_put_decision(x, &row, c->at.call_n));
    x->to->calls++;
    return export_ok(x, true, e);
}

static bool export_on_call(void *ctx, const struct db_value *v, size_t n)
{
    struct export_sqlite *x = ctx;
    struct engine_call *c = &x->calls[x->count];

    assert(x->count < EXPORT_PAGE);
    engine_row_read(v, n - 1, &c->at, &c->row);
    engine_row_keep(&c->row, &x->page);
    x->wanted[x->count++] = v[n - 1].i != 0;
    return x->count < EXPORT_PAGE;
}

/* Reads the page after `after` and writes it. */
static bool export_call_page(struct export_sqlite *x, int64_t after, struct err *e)
{
    struct sql q;
    bool ok;

    x->count = 0;
    arena_reset(&x->page);
    sql_begin(&q, "SELECT ");
    engine_columns(&q.text, false);
    export_add_wanted(x, &q);
    export_add_page(x, &q, "llm_interactions", "call_n", db_int(after));
    sql_limit(&q, EXPORT_PAGE, 0);
    ok = sql_query(x->r, &q, (struct db_rows){export_on_call, x}, e);
    for (size_t i = 0; ok && i < x->count; i++)
        ok = !x->wanted[i] || export_put_call(x, &x->calls[i], e);
    return ok && db_run(x->db, x->put_usage.p, (struct db_value[]){db_int(after)}, 1, e);
}

static bool export_calls(struct export_sqlite *x, struct err *e)
{
    int64_t after = 0, last = 0;
    struct progress p;
    bool ok = db_number(
        x->r->db, "SELECT coalesce(max(call_n), 0) FROM llm_interactions", DB_NO_ARGS, &last, e);

    p = progress_begin("export", "calls", (uint64_t)last);
    do {
        progress_set(&p, (uint64_t)after);
        ok = ok && export_call_page(x, after, e);
        if (ok && x->count)
            after = x->calls[x->count - 1].at.call_n;
    } while (ok && x->count == EXPORT_PAGE);
    progress_end(&p);
    return ok;
}

/* ---- all of it ---- */

static bool export_all(struct export_sqlite *x, struct err *e)
{
    if (!export_make_tables(x, e) || !export_copy(x, &export_sessions, e))
        return false;
    x->to->sessions = x->copied;
    if (x->f->session_id.n && x->copied == 0)
        return query_not_found("session", x->f->session_id, e);
    return export_calls(x, e) && export_copy(x, &export_exchanges, e) &&
           db_run(x->db, export_last_answers, DB_NO_ARGS, e);
}

static bool export_open(struct export_sqlite *x, struct err *e)
{
    struct buf url;
    bool ok;

    buf_init(&url, FILE_PATH_MAX + 16);
    buf_printf(&url, "sqlite://%s", x->to->path);
    ok = db_open(buf_str(&url), DB_NEW, &x->db, e);
    buf_release(&url);
    return ok;
}

static bool export_in_one_view(struct export_sqlite *x, struct err *e)
{
    bool ok;

    if (!query_begin(x->r, e))
        return false;
    ok = session_look(x->r, x->a, x->f, true, &x->found, e) && db_begin(x->db, false, e) &&
         export_all(x, e) && db_commit(x->db, e);
    return query_end(x->r, ok, &x->after, e);
}

bool export_sqlite_write(struct reader *r, const struct query_asker *a,
                         const struct query_filter *f, struct export_sqlite_to *to, struct err *e)
{
    struct export_sqlite *x = base_alloc(sizeof *x);
    bool ok;

    *x = (struct export_sqlite){.r = r, .a = a, .f = f, .to = to};
    json_init(&x->tools);
    arena_init(&x->page, ENGINE_ARENA_MAX);
    arena_init(&x->row, ENGINE_ARENA_MAX);
    buf_init(&x->put_call, EXPORT_SQL_MAX);
    buf_init(&x->put_usage, EXPORT_SQL_MAX);
    buf_init(&x->put_copy, EXPORT_SQL_MAX);
    buf_init(&x->after, 65536);
    export_make_statements(x);
    ok = export_open(x, e) && export_in_one_view(x, e);
    db_close(x->db);
    buf_release(&x->after);
    buf_release(&x->put_copy);
    buf_release(&x->put_usage);
    buf_release(&x->put_call);
    arena_release(&x->row);
    arena_release(&x->page);
    json_release(&x->tools);
    free(x);
    return ok;
}
