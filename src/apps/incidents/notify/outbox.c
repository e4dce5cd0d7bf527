/* outbox.c - see outbox.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/outbox.h"

#include "agent/column.h"

#define SELECT                                                                                     \
    "SELECT notification_id, alert_id, session_id, target, event, occasion, state, error,"         \
    " receipt, tries, next_us, created_us, updated_us FROM notifications"

bool outbox_add(struct db *db, const struct outbox_row *r, bool *added, struct err *e)
{
    int64_t n = 0;

    assert(r->id.n > 0 && r->alert_id.n > 0);
    if (!db_run(db,
                "INSERT INTO notifications (notification_id, alert_id, session_id, target, event,"
                " occasion, state, error, next_us, created_us, updated_us, daemon_id)"
                " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $9, $10)"
                " ON CONFLICT (alert_id, target, event, occasion) DO NOTHING",
                DB_ARGS(db_text(r->id),
                        db_text(r->alert_id),
                        db_text(r->session),
                        db_text(r->target),
                        db_text(r->event),
                        db_text(r->occasion),
                        db_text(r->state),
                        db_text_or_null(r->error),
                        db_int(r->created_us),
                        db_text(r->daemon)),
                e) ||
        !db_changed(db, &n, e))
        return false;
    *added = n > 0;
    return true;
}

bool outbox_put(struct db *db, const struct outbox_row *r, struct err *e)
{
    return db_run(db,
                  "UPDATE notifications SET state = $2, tries = $3, next_us = $4, error = $5,"
                  " receipt = $6, updated_us = $7 WHERE notification_id = $1"
                  " AND state = 'pending'", /* else another daemon has sent it */
                  DB_ARGS(db_text(r->id),
                          db_text(r->state),
                          db_int(r->tries),
                          db_int(r->next_us),
                          db_text_or_null(r->error),
                          db_text_or_null(r->receipt),
                          db_int(r->updated_us)),
                  e);
}

static bool outbox_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct outbox_list *l = ctx;

    assert(n == 13 && l->n < l->max);
    l->rows[l->n++] = (struct outbox_row){.id = column_text(l->arena, &c[0]),
                                          .alert_id = column_text(l->arena, &c[1]),
                                          .session = column_text(l->arena, &c[2]),
                                          .target = column_text(l->arena, &c[3]),
                                          .event = column_text(l->arena, &c[4]),
                                          .occasion = column_text(l->arena, &c[5]),
                                          .state = column_text(l->arena, &c[6]),
                                          .error = column_text(l->arena, &c[7]),
                                          .receipt = column_text(l->arena, &c[8]),
                                          .tries = c[9].i,
                                          .next_us = c[10].i,
                                          .created_us = c[11].i,
                                          .updated_us = c[12].i};
    return l->n < l->max;
}

bool outbox_next(struct db *db, str target, str daemon, struct outbox_list *out, struct err *e)
{
    return db_query(db,
                    SELECT " WHERE target = $1 AND state = 'pending'"
                           " AND coalesce(daemon_id, '') IN ('', $2) AND NOT EXISTS"
                           " (SELECT 1 FROM notifications o"
                           " WHERE o.alert_id = notifications.alert_id"
                           " AND o.target = notifications.target AND o.state = 'pending'"
                           " AND o.notification_id < notifications.notification_id)"
                           " ORDER BY next_us, notification_id LIMIT 1",
                    DB_ARGS(db_text(target), db_text(daemon)),
                    (struct db_rows){outbox_on_row, out},
                    e);
}

bool outbox_of(struct db *db, str alert_id, struct outbox_list *out, struct err *e)
{
    return db_query(db,
                    SELECT " WHERE alert_id = $1 ORDER BY notification_id LIMIT $2",
                    DB_ARGS(db_text(alert_id), db_int((int64_t)out->max)),
                    (struct db_rows){outbox_on_row, out},
                    e);
}

bool outbox_newest(struct db *db, struct outbox_list *out, struct err *e)
{
    return db_query(db,
                    SELECT " ORDER BY notification_id DESC LIMIT $1",
                    DB_ARGS(db_int((int64_t)out->max)),
                    (struct db_rows){outbox_on_row, out},
                    e);
}

bool outbox_waiting(struct db *db, int64_t *out, struct err *e)
{
    return db_number(
        db, "SELECT count(*) FROM notifications WHERE state = 'pending'", DB_NO_ARGS, out, e);
}

static bool outbox_on_target(void *ctx, const struct db_value *c, size_t n)
{
    struct outbox_list *l = ctx;

    assert(n == 1 && l->n < l->max);
    l->rows[l->n++].target = column_text(l->arena, &c[0]);
    return l->n < l->max;
}

bool outbox_targets(struct db *db, struct outbox_list *out, struct err *e)
{
    return db_query(db,
                    "SELECT DISTINCT target FROM notifications WHERE state = 'pending'",
                    NULL,
                    0,
                    (struct db_rows){outbox_on_target, out},
                    e);
}

bool outbox_fail(struct db *db, str target, str why, int64_t now_us, int64_t *n, struct err *e)
{
    return db_run(db,
                  "UPDATE notifications SET state = 'failed', error = $2, updated_us = $3"
                  " WHERE target = $1 AND state = 'pending'",
                  DB_ARGS(db_text(target), db_text(why), db_int(now_us)),
                  e) &&
           db_changed(db, n, e);
}

bool outbox_make_due(struct db *db, int64_t now_us, struct err *e)
{
    struct db_value args[] = {db_int(now_us)};

    return db_run(db,
                  "UPDATE notifications SET next_us = $1"
                  " WHERE state = 'pending' AND tries = 0 AND next_us > $1",
                  args,
                  COUNT_OF(args),
                  e);
}

void outbox_write(struct json_out *o, const struct outbox_row *m)
{
    bool pending = str_eq(m->state, STR("pending"));

    assert(m->id.n > 0 && m->tries >= 0);
    json_out_object(o);
    json_member_str(o, "id", m->id);
    json_member_str(o, "incident_id", m->alert_id);
    json_member_str(o, "target", m->target);
    json_member_str(o, "event", m->event);
    json_member_str(o, "status", m->state);
    json_member_i64(o, "tries", m->tries);
    json_member_str_or_null(o, "error", m->error);
    json_member_i64(o, "created_at_us", m->created_us);
    json_member_i64(o, "updated_at_us", m->updated_us);
    json_member_i64_or_null(o, "next_try_at_us", pending ? m->next_us : -1);
    json_out_end(o);
}
