/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres_help.h"
#include "store_help.h"

#include "store/row.h"
#include "store/schema.h"

#include <unistd.h>

static void take_steps(struct place *p, int newest)
{
    const struct schema_step *steps = p->postgres ? schema_postgres_steps : schema_steps;
    size_t n = p->postgres ? schema_postgres_step_count : schema_step_count;
    char sql[200];

    do_sql(p, "CREATE TABLE store_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL)");
    for (size_t i = 0; i < n && steps[i].version <= newest; i++) {
        do_sql(p, steps[i].sql);
        snprintf(sql,
                 sizeof sql,
                 "INSERT INTO store_version VALUES (%d, '%s')",
                 steps[i].version,
                 steps[i].name);
        do_sql(p, sql);
    }
}

const char *store_tables_of(int newest)
{
    static struct model {
        int newest;
        struct place place;
    } models[4];
    struct model *m = models, *end = models + COUNT_OF(models);

    while (m < end && m->place.postgres && m->newest != newest)
        m++;
    CHECK(m < end);
    if (!m->place.postgres) {
        m->newest = newest;
        m->place.postgres = true;
        snprintf(m->place.database, sizeof m->place.database, "tables_%d_%d", newest, getpid());
        postgres_create(m->place.database, NULL);
        take_steps(&m->place, newest);
        postgres_disconnect();
    }
    return m->place.database;
}

/* ---- a store without blocks ---- */

#define OLD_VERSION 11

void steps_store(struct place *p, int newest)
{
    if (!p->postgres) {
        take_steps(p, newest);
        return;
    }
    postgres_drop(p->database);
    postgres_create(p->database, store_tables_of(newest));
}

void old_store(struct place *p)
{
    steps_store(p, OLD_VERSION);
}

static void add_literal(struct buf *b, const struct place *p, const struct row_field *f,
                        const struct store_call *row)
{
    const void *from = (const char *)row + f->at;
    str text = f->kind <= ROW_BODY ? *(const str *)from : STR("");

    switch (f->kind) {
    case ROW_TEXT:
        if (text.n == 0) {
            buf_add(b, STR("NULL"));
            return;
        }
        buf_add_c(b, '\'');
        for (size_t i = 0; i < text.n; i++)
            buf_printf(b, text.p[i] == '\'' ? "''" : "%c", text.p[i]);
        buf_add_c(b, '\'');
        return;
    case ROW_BODY:
        if (text.n == 0) {
            buf_add(b, STR("NULL, 0"));
            return;
        }
        buf_add(b, p->postgres ? STR("'\\x") : STR("x'"));
        for (size_t i = 0; i < text.n; i++)
            buf_printf(b, "%02x", (unsigned char)text.p[i]);
        buf_printf(b, "', %zu", text.n);
        return;
    case ROW_INT:
        buf_printf(b, "%d", *(const int *)from);
        return;
    case ROW_BOOL:
        buf_printf(b, "%d", *(const bool *)from);
        return;
    case ROW_COST:
        if (*(const double *)from >= 0)
            buf_printf(b, "%.17g", *(const double *)from);
        else
            buf_add(b, STR("NULL"));
        return;
    case ROW_I64:
    case ROW_KNOWN:
        if (*(const int64_t *)from == -1 && f->kind == ROW_KNOWN)
            buf_add(b, STR("NULL"));
        else
            buf_printf(b, "%lld", (long long)*(const int64_t *)from);
        return;
    }
}

void old_store_put(struct place *p, const struct store_call *row)
{
    struct buf b;

    buf_init(&b, (size_t)64 << 20);
    buf_add(&b, STR("INSERT INTO llm_interactions ("));
    for (size_t i = 0; i < OLD_FIELDS; i++) {
        buf_printf(&b, "%s%s", i ? ", " : "", row_fields[i].column);
        if (row_fields[i].kind == ROW_BODY)
            buf_printf(&b, ", %s_size", row_fields[i].column);
    }
    buf_add(&b, STR(") VALUES ("));
    for (size_t i = 0; i < OLD_FIELDS; i++) {
        buf_add(&b, i ? STR(", ") : STR(""));
        add_literal(&b, p, &row_fields[i], row);
    }
    buf_printf(&b,
               "); INSERT INTO alert_sessions (session_id, call_count, agent_type, status, outcome,"
               " first_seen_ms, last_seen_ms, started_at_us, completed_at_us, final_analysis)"
               " SELECT session_id, 1, 'gateway', 'completed', 'completed', started_ms, ended_ms,"
               " started_ms * 1000, ended_ms * 1000, answer FROM llm_interactions WHERE"
               " interaction_id = '" STR_FMT "'",
               STR_ARG(row->id));
    buf_add_c(&b, '\0');
    do_sql(p, b.p);
    buf_release(&b);
}
