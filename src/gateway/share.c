/* share.c - see share.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/share.h"

#include "base/ctype.h"
#include "live/relay.h"

#define TOPIC_LIMITS STR("limits")
#define TOPIC_LIVE STR("live")
#define TOPIC_TALK STR("talk")
#define TOPIC_FORGET STR("forget")
#define TOPIC_VAULT STR("vault")
#define TOPIC_VAULT_PAST STR("vault_past") /* for a daemon that has just started */
#define VAULT_PAST_MAX ((size_t)512 << 10)
#define SHARED_TEXT_MAX ((size_t)256 << 10) /* of one entry of the vault */
#define STATE_NS ((uint64_t)1000 * CLOCK_NS_PER_MS)

struct gateway_sharing {
    struct gateway *g;
    struct bus *bus;
    uint8_t secret[VAULT_SECRET_SIZE];
    /* Used by the thread of the bus only. */
    bool base[BUS_PEERS_MAX]; /* the peer has sent all of its totals */
    bool greet;               /* a peer is new: it gets ours */
    str state;                /* of the hub, as it was sent last */
    uint64_t state_ns;
    struct buf report;
};

/* ---- limits ---- */

static void share_wake(void *ctx)
{
    bus_wake(((struct gateway_sharing *)ctx)->bus);
}

static void share_write_use(void *ctx, const struct limits_use *u)
{
    buf_printf(ctx,
               "%.17g %.17g %.17g %.17g " STR_FMT "\n",
               u->requests,
               u->tokens,
               u->spent_usd,
               u->aside_usd,
               STR_ARG(u->key));
}

static void share_report(struct gateway_sharing *s, bool all)
{
    buf_reset(&s->report);
    buf_add(&s->report, all ? STR("all\n") : STR("some\n"));
    limits_report(s->g->limits, all, share_write_use, &s->report);
    if (all || s->report.n > strlen("some\n"))
        bus_send(s->bus, TOPIC_LIMITS, buf_str(&s->report));
}

static double share_number(str *text)
{
    str word = str_cut(text, ' ');
    char number[64];

    (void)snprintf(number, sizeof number, STR_FMT, STR_ARG(word));
    return strtod(number, NULL);
}

/* Until a peer has sent all of its totals, its use before we met is not known. */
static void share_on_limits(void *ctx, const struct bus_peer *from, str text)
{
    struct gateway_sharing *s = ctx;
    bool all = str_eq(str_cut(&text, '\n'), STR("all")), base = all && !s->base[from->number];

    assert(from->number < BUS_PEERS_MAX);
    if (!all && !s->base[from->number])
        return;
    s->base[from->number] = true;
    while (text.n) {
        str line = str_cut(&text, '\n');
        struct limits_use u = {0};

        u.requests = share_number(&line);
        u.tokens = share_number(&line);
        u.spent_usd = share_number(&line);
        u.aside_usd = share_number(&line);
        u.key = line;
        if (line.n)
            limits_peer_used(s->g->limits, from->number, base, &u);
    }
}

/* ---- running calls ---- */

static void share_send_live(void *ctx, str message)
{
    bus_send(((struct gateway_sharing *)ctx)->bus, TOPIC_LIVE, message);
}

static void share_on_live(void *ctx, const struct bus_peer *from, str text)
{
    hub_relay_receive(((struct gateway_sharing *)ctx)->g->hub, from->number, text);
}

/* ---- conversations ---- */

void gateway_share_conversation(struct gateway *g, str session, str talk, bool tools)
{
    struct buf b;

    if (!g->sharing || !bus_peers(g->sharing->bus) || !talk.n)
        return;
    buf_init(&b, BUS_TEXT_MAX);
    buf_printf(&b, "%zu " STR_FMT STR_FMT, session.n, STR_ARG(session), STR_ARG(talk));
    (tools ? bus_send : bus_send_later)(g->sharing->bus, TOPIC_TALK, buf_str(&b));
    buf_release(&b);
}

static void share_on_conversation(void *ctx, const struct bus_peer *from, str text)
{
    struct gateway_sharing *s = ctx;
    uint64_t n;

    (void)from;
    if (str_u64(str_cut(&text, ' '), &n) && n <= text.n)
        conversations_recall(
            s->g->conversations, str_slice(text, 0, (size_t)n), str_slice(text, (size_t)n, text.n));
}

void gateway_share_forget(struct gateway *g, str session)
{
    previous_response_forget(g->previous_responses, session);
    vault_file_forget(g->vault_file);
    if (g->sharing)
        bus_send(g->sharing->bus, TOPIC_FORGET, session);
}

static void share_on_forget(void *ctx, const struct bus_peer *from, str text)
{
    struct gateway *g = ((struct gateway_sharing *)ctx)->g;

    (void)from;
    previous_response_forget(g->previous_responses, text);
    vault_file_forget(g->vault_file);
}

/* ---- the vault ---- */

static void share_add_hex(struct buf *out, str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        buf_add_c(out, "0123456789abcdef"[(unsigned char)bytes.p[i] >> 4]);
        buf_add_c(out, "0123456789abcdef"[(unsigned char)bytes.p[i] & 15]);
    }
}

static bool share_read_hex(str hex, struct buf *out)
{
    for (size_t i = 0; i + 1 < hex.n; i += 2) {
        int high = char_hex_value(hex.p[i]), low = char_hex_value(hex.p[i + 1]);

        if (high < 0 || low < 0)
            return false;
        buf_add_c(out, (char)(high << 4 | low));
    }
    return !buf_full(out);
}

static void share_send_kept(struct gateway_sharing *s, const struct vault_fragment *f, str topic)
{
    struct buf sealed, hex;

    if (!s || !bus_peers(s->bus) || f->text.n > SHARED_TEXT_MAX)
        return;
    buf_init(&sealed, BUS_TEXT_MAX / 2);
    buf_init(&hex, BUS_TEXT_MAX);
    if (vault_seal(s->secret, f, &sealed)) {
        share_add_hex(&hex, buf_str(&sealed));
        bus_send(s->bus, topic, buf_str(&hex));
    }
    buf_release(&hex);
    buf_release(&sealed);
}

void gateway_share_kept(struct gateway *g, const struct vault_fragment *f)
{
    share_send_kept(g->sharing, f, TOPIC_VAULT);
}

/* A daemon that starts gets the latest entries of all others; the same entry of two of them is
 * stored once. */
static void share_send_past(struct gateway_sharing *s)
{
    struct vault_fragment *all;
    struct arena a;
    size_t n;

    arena_init(&a, 16 * VAULT_PAST_MAX);
    n = vault_latest(s->g->vault, VAULT_PAST_MAX, &a, &all);
    for (size_t i = 0; i < n; i++)
        share_send_kept(s, &all[i], TOPIC_VAULT_PAST);
    arena_release(&a);
}

static void share_receive_kept(struct gateway_sharing *s, str text, bool past)
{
    struct vault_fragment f;
    struct buf sealed, plain;

    buf_init(&sealed, BUS_TEXT_MAX);
    buf_init(&plain, BUS_TEXT_MAX);
    if (share_read_hex(text, &sealed) && vault_unseal(s->secret, buf_str(&sealed), &plain, &f))
        (past ? vault_add : vault_put)(s->g->vault, f.origin, &f.call, f.name, f.text);
    buf_release(&plain);
    buf_release(&sealed);
}

static void share_on_kept(void *ctx, const struct bus_peer *from, str text)
{
    (void)from;
    share_receive_kept(ctx, text, false);
}

static void share_on_past(void *ctx, const struct bus_peer *from, str text)
{
    (void)from;
    share_receive_kept(ctx, text, true);
}

/* ---- all of it ---- */

static void share_on_peer(void *ctx, const struct bus_peer *who, enum bus_event event)
{
    struct gateway_sharing *s = ctx;

    assert(who->number < BUS_PEERS_MAX);
    if (event == BUS_PEER_NEW) {
        s->greet = true;
        if (!who->again) { /* else its totals go on from those that we know */
            s->base[who->number] = false;
            limits_peer_gone(s->g->limits, who->number);
        }
    } else if (event == BUS_PEER_GAP) {
        hub_relay_gap(s->g->hub);
    } else {
        hub_relay_gone(s->g->hub, who->number);
        limits_peer_silent(s->g->limits, who->number);
    }
}

static void share_on_group(void *ctx)
{
    struct gateway_sharing *s = ctx;
    uint64_t now = clock_mono_ns(s->g->clock);
    str state = hub_relay_state(s->g->hub);

    /* Sends all totals at intervals, in case a report was lost. */
    if (s->greet || now - s->state_ns >= STATE_NS)
        share_report(s, true);
    if (s->greet)
        share_send_past(s);
    s->greet = false;
    share_report(s, false);
    if (!str_eq(state, s->state) || now - s->state_ns >= STATE_NS) {
        bus_send(s->bus, TOPIC_LIVE, state);
        s->state = state;
        s->state_ns = now;
    }
}

void gateway_share(struct gateway *g, struct bus *bus)
{
    struct gateway_sharing *s;

    if (!bus)
        return;
    assert(!g->sharing);
    s = base_alloc(sizeof *s);
    *s = (struct gateway_sharing){.g = g, .bus = bus, .state = STR("")};
    store_secret(g->store, STR("bus"), s->secret);
    buf_init(&s->report, BUS_TEXT_MAX);
    g->sharing = s;
    limits_share(g->limits, share_wake, s);
    hub_relay_set(g->hub, &(struct hub_relay){share_send_live, share_wake, s});
    bus_on(bus, TOPIC_LIMITS, share_on_limits, s);
    bus_on(bus, TOPIC_LIVE, share_on_live, s);
    bus_on(bus, TOPIC_TALK, share_on_conversation, s);
    bus_on(bus, TOPIC_FORGET, share_on_forget, s);
    bus_on(bus, TOPIC_VAULT, share_on_kept, s);
    bus_on(bus, TOPIC_VAULT_PAST, share_on_past, s);
    bus_on_peer(bus, share_on_peer, s);
    bus_on_group(bus, share_on_group, s);
}

void gateway_share_stop(struct gateway *g)
{
    if (!g->sharing)
        return;
    limits_share(g->limits, NULL, NULL);
    hub_relay_set(g->hub, &(struct hub_relay){0});
    buf_release(&g->sharing->report);
    free(g->sharing);
    g->sharing = NULL;
}
