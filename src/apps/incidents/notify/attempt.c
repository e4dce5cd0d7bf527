/* attempt.c - how each kind of target is sent to; and a test message, for a person who sets one up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/notify.h"

notify_sender *const notify_senders[] = {
    [CONFIG_NOTIFY_SLACK_WEBHOOK] = slack_webhook_send,
    [CONFIG_NOTIFY_SLACK_BOT] = slack_bot_send,
    [CONFIG_NOTIFY_WEBHOOK] = hook_send,
    [CONFIG_NOTIFY_EMAIL] = email_send,
};

static bool notify_test_send(const struct config *c, struct notify_attempt *t,
                             struct notify_outcome *out, struct err *e)
{
    const char *ca_file = c->ca_file.n ? c->ca_file.p : NULL;
    struct err ignored;
    bool ok;

    assert((size_t)t->target->kind < COUNT_OF(notify_senders));
    t->io = mcp_io_new(ca_file, e);
    if (!t->io)
        return false;
    t->tls = tls_client_new(ca_file, &ignored);
    t->deadline_ns = clock_deadline_ns(&clock_real, (int64_t)t->target->timeout_ms);
    ok = notify_senders[t->target->kind](t, out, e);
    mcp_io_free(t->io);
    if (t->tls)
        tls_free(t->tls);
    return ok;
}

bool notify_test(const struct config *c, const struct config_notify *target, struct arena *a,
                 str *note, struct err *e)
{
    struct notify_outcome out = {.after_ms = -1, .receipt = STR(""), .note = STR("")};
    struct notice notice = {
        .event = CONFIG_NOTIFY_COMPLETED,
        .id = STR("test"),
        .title = STR("A test message of Rationale"),
        .alert_type = STR("test"),
        .severity = STR("info"),
        .environment = STR("test"),
        .agent = STR(""),
        .status = STR("completed"),
        .link = c->incidents.public_url,
        .text = STR("Messages about incidents will look like this. Nothing has happened."),
        .question = STR(""),
        .silence = STR(""),
        .silence_link = STR(""),
        .at_us = clock_wall_ms(&clock_real) * 1000};
    char id[RAND_ID_SIZE];
    struct rand_ids ids;
    bool ok;

    if (target->missing.n)
        return err_set(e, ERR_AUTH, STR_FMT, STR_ARG(target->missing));
    rand_ids_init(&ids, &clock_real);
    ok = notify_test_send(c,
                          &(struct notify_attempt){.target = target,
                                                   .notice = &notice,
                                                   .id = rand_id(&ids, id),
                                                   .receipt = STR(""),
                                                   .arena = a},
                          &out,
                          e);
    rand_ids_release(&ids);
    *note = out.note;
    return ok;
}
