/* alert_table_alerts.c - the alerts that belong to incidents; finds a known firing and group.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/alert_table_state.h"

#define COLUMNS(data)                                                                              \
    "m.incident_id, m.position, m.key_name, m.source, m.fingerprint, m.group_key, m.name,"         \
    " m.severity, " data ", m.starts_us, m.ended_us, m.seen, m.first_seen_us, m.last_seen_us"

bool alert_table_alert_put(struct db *db, const struct alert_table_alert *x, struct err *e)
{
    return db_run(db,
                  "INSERT INTO incident_alerts (incident_id, position, key_name, source,"
                  " fingerprint, group_key, name, severity, data, starts_us, ended_us, seen,"
                  " first_seen_us, last_seen_us)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
                  " ON CONFLICT (incident_id, position) DO UPDATE SET"
                  " starts_us = excluded.starts_us, ended_us = excluded.ended_us,"
                  " seen = excluded.seen, last_seen_us = excluded.last_seen_us",
                  DB_ARGS(db_text(x->incident),
                          db_int(x->position),
                          db_text(x->key),
                          db_text(x->source),
                          db_text(x->fingerprint),
                          db_text(x->group),
                          db_text(x->name),
                          db_text(x->severity),
                          db_text(x->data),
                          db_int(x->starts_us),
                          column_time_or_null(x->ended_us),
                          db_int(x->seen),
                          db_int(x->first_seen_us),
                          db_int(x->last_seen_us)),
                  e);
}

struct alert_list {
    struct arena *arena;
    struct alert_table_alert *at;
    size_t n, cap, max;
    size_t data_size; /* of the data of all */
};

static bool alert_table_alerts_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct alert_list *l = ctx;

    assert((n == 14 || n == 16) && l->n < l->max);
    l->data_size += c[8].type == DB_TEXT ? c[8].s.n : 0;
    l->at = arena_grow(l->arena, l->at, l->n, &l->cap, sizeof *l->at);
    l->at[l->n++] = (struct alert_table_alert){
        .incident = column_text(l->arena, &c[0]),
        .position = c[1].i,
        .key = column_text(l->arena, &c[2]),
        .source = column_text(l->arena, &c[3]),
        .fingerprint = column_text(l->arena, &c[4]),
        .group = column_text(l->arena, &c[5]),
        .name = column_text(l->arena, &c[6]),
        .severity = column_text(l->arena, &c[7]),
        .data = l->data_size <= BOOK_ALERTS_DATA_MAX ? column_text(l->arena, &c[8]) : STR(""),
        .starts_us = c[9].i,
        .ended_us = column_time(&c[10]),
        .seen = c[11].i,
        .first_seen_us = c[12].i,
        .last_seen_us = c[13].i,
        .state = n > 14 ? column_text(l->arena, &c[14]) : STR(""),
        .reason = n > 14 ? column_text(l->arena, &c[15]) : STR(""),
    };
    return l->n < l->max;
}

bool alert_table_alert_find(struct alert_table *b, const struct alert_table_alert *of,
                            struct arena *a, struct alert_table_alert *out, bool *found,
                            struct err *e)
{
    struct alert_list l = {.arena = a, .max = 1};

    if (!alert_table_query(
            b,
            "SELECT " COLUMNS(
                "''") ", a.state, a.reason FROM incident_alerts m"
                      " JOIN alerts a ON a.alert_id = m.incident_id"
                      " WHERE m.fingerprint = $1 AND m.source = $2 AND m.key_name = $3"
                      " AND ($4 = '' OR m.incident_id = $4)"
                      " ORDER BY m.starts_us DESC, m.incident_id DESC LIMIT 1",
            DB_ARGS(db_text(of->fingerprint),
                    db_text(of->source),
                    db_text(of->key),
                    db_text(of->incident)),
            (struct db_rows){alert_table_alerts_on_row, &l},
            e))
        return false;
    *found = l.n > 0;
    if (*found)
        *out = l.at[0];
    return true;
}

bool alert_table_group_find(struct alert_table *b, const struct alert_table_alert *of,
                            struct arena *a, str *incident, int64_t *alerts, struct err *e)
{
    *incident = STR("");
    *alerts = 0;
    return alert_table_query(
        b,
        "SELECT m.incident_id,"
        " (SELECT COUNT(*) FROM incident_alerts o WHERE o.incident_id = m.incident_id)"
        " FROM incident_alerts m WHERE m.group_key = $1 AND m.source = $2 AND m.key_name = $3"
        " AND m.group_key <> '' AND m.ended_us IS NULL ORDER BY m.incident_id DESC LIMIT 1",
        DB_ARGS(db_text(of->group), db_text(of->source), db_text(of->key)),
        DB_ROW(db_into_text(a, incident), db_into_i64(alerts)),
        e);
}

bool alert_table_alerts(struct alert_table *b, str incident, struct arena *a,
                        struct alert_table_alert **out, size_t *n, struct err *e)
{
    struct alert_list l = {.arena = a, .max = BOOK_ALERTS_MAX};

    if (!alert_table_query(
            b,
            "SELECT " COLUMNS("m.data") " FROM incident_alerts m WHERE m.incident_id = $1"
                                        " ORDER BY m.position LIMIT $2",
            DB_ARGS(db_text(incident), db_int(BOOK_ALERTS_MAX)),
            (struct db_rows){alert_table_alerts_on_row, &l},
            e))
        return false;
    *out = l.at;
    *n = l.n;
    return true;
}
