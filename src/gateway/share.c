/* share.c - see share.h.
 *
 * Texts of the vault are not masked, so they are sent encrypted: with a key stream of HMAC-SHA256
 * under a secret of the store and a nonce, and an HMAC over the result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/share.h"

#include "base/ctype.h"
#include "base/rand.h"
#include "base/sha256.h"
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
#define NONCE_SIZE 16
#define VAULT_NUMBERS (4 * sizeof(uint64_t))

struct gateway_sharing {
    struct gateway *g;
    struct bus *bus;
    uint8_t secret[32];
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

static str share_line(str *text)
{
    size_t n = str_find(*text, STR("\n"));
    str line = str_slice(*text, 0, n == STR_NONE ? text->n : n);

    *text = n == STR_NONE ? STR("") : str_slice(*text, n + 1, text->n);
    return line;
}

static str share_word(str *text)
{
    size_t n = str_find(*text, STR(" "));
    str word = str_slice(*text, 0, n == STR_NONE ? text->n : n);

    *text = n == STR_NONE ? STR("") : str_slice(*text, n + 1, text->n);
    return word;
}

static double share_number(str *text)
{
    str word = share_word(text);
    char number[64];

    (void)snprintf(number, sizeof number, STR_FMT, STR_ARG(word));
    return strtod(number, NULL);
}

/* Until a peer has sent all of its totals, what it used before we met is not known. */
static void share_on_limits(void *ctx, const struct bus_peer *from, str text)
{
    struct gateway_sharing *s = ctx;
    bool all = str_eq(share_line(&text), STR("all")), base = all && !s->base[from->number];

    if (!all && !s->base[from->number])
        return;
    s->base[from->number] = true;
    while (text.n) {
        str line = share_line(&text);
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
    if (str_u64(share_word(&text), &n) && n <= text.n)
        conversations_recall(
            s->g->conversations, str_slice(text, 0, (size_t)n), str_slice(text, (size_t)n, text.n));
}

void gateway_share_forget(struct gateway *g, str session)
{
    previous_response_forget(g->previous_responses, session);
    if (g->sharing)
        bus_send(g->sharing->bus, TOPIC_FORGET, session);
}

static void share_on_forget(void *ctx, const struct bus_peer *from, str text)
{
    (void)from;
    previous_response_forget(((struct gateway_sharing *)ctx)->g->previous_responses, text);
}

/* ---- the vault ---- */

static void share_hash(const struct gateway_sharing *s, str first, str second,
                       uint8_t out[SHA256_SIZE])
{
    struct sha256_mac m;

    sha256_mac_init(&m, (str){(const char *)s->secret, sizeof s->secret});
    sha256_mac_feed(&m, first);
    sha256_mac_feed(&m, second);
    sha256_mac_finish(&m, out);
}

/* Encrypts or decrypts in place. */
static void share_cipher(const struct gateway_sharing *s, str nonce, char *p, size_t n)
{
    uint8_t key[SHA256_SIZE];

    for (uint64_t at = 0; at < n; at += sizeof key) {
        share_hash(s, nonce, (str){(const char *)&at, sizeof at}, key);
        for (size_t i = 0; i < sizeof key && at + i < n; i++)
            p[at + i] ^= (char)key[i];
    }
}

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

static void share_add_part(struct buf *b, str s)
{
    uint64_t n = s.n;

    buf_add(b, (str){(const char *)&n, sizeof n});
    buf_add(b, s);
}

static bool share_take_part(str *from, str *out)
{
    uint64_t n;

    if (from->n < sizeof n)
        return false;
    memcpy(&n, from->p, sizeof n);
    if (n > from->n - sizeof n)
        return false;
    *out = str_slice(*from, sizeof n, sizeof n + (size_t)n);
    *from = str_slice(*from, sizeof n + (size_t)n, from->n);
    return true;
}

/* `past`: with its age. */
static void share_send_kept(struct gateway_sharing *s, const struct gateway_kept *k, bool past)
{
    uint64_t numbers[] = {
        k->call->asked, k->call->system, k->call->results, k->call->reply, k->call->age_ns};
    uint8_t nonce[NONCE_SIZE], mac[SHA256_SIZE];
    struct buf b, hex;

    if (!s || !bus_peers(s->bus) || k->text.n > SHARED_TEXT_MAX)
        return;
    rand_os(nonce, sizeof nonce);
    buf_init(&b, BUS_TEXT_MAX / 2);
    share_add_part(&b, k->origin);
    share_add_part(&b, k->call->id);
    share_add_part(&b, (str){(const char *)numbers, past ? sizeof numbers : VAULT_NUMBERS});
    share_add_part(&b, k->name);
    share_add_part(&b, k->text);
    share_cipher(s, (str){(const char *)nonce, sizeof nonce}, b.p, b.n);
    share_hash(s, (str){(const char *)nonce, sizeof nonce}, buf_str(&b), mac);
    buf_init(&hex, BUS_TEXT_MAX);
    share_add_hex(&hex, (str){(const char *)nonce, sizeof nonce});
    share_add_hex(&hex, (str){(const char *)mac, sizeof mac});
    share_add_hex(&hex, buf_str(&b));
    if (!buf_full(&b))
        bus_send(s->bus, past ? TOPIC_VAULT_PAST : TOPIC_VAULT, buf_str(&hex));
    buf_release(&hex);
    buf_release(&b);
}

void gateway_share_kept(struct gateway *g, const struct gateway_kept *k)
{
    share_send_kept(g->sharing, k, false);
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
        share_send_kept(
            s, &(struct gateway_kept){all[i].origin, all[i].name, all[i].text, &all[i].call}, true);
    arena_release(&a);
}

static void share_put_kept(struct gateway_sharing *s, unsigned peer, str bytes)
{
    struct vault_call call = {0};
    uint64_t n[5] = {0};
    str origin, numbers, name, text;

    if (!share_take_part(&bytes, &origin) || !share_take_part(&bytes, &call.id) ||
        !share_take_part(&bytes, &numbers) ||
        (numbers.n != VAULT_NUMBERS && numbers.n != sizeof n) || !share_take_part(&bytes, &name) ||
        !share_take_part(&bytes, &text))
        return;
    memcpy(n, numbers.p, numbers.n);
    call.asked = n[0];
    call.system = n[1];
    call.results = (uint32_t)n[2];
    call.reply = n[3] ^ (uint64_t)(peer + 1) << 48; /* apart from the numbers of others */
    call.age_ns = n[4];
    if (numbers.n == sizeof n)
        vault_add(s->g->vault, origin, &call, name, text);
    else
        vault_put(s->g->vault, origin, &call, name, text);
}

static void share_on_kept(void *ctx, const struct bus_peer *from, str text)
{
    struct gateway_sharing *s = ctx;
    size_t head = NONCE_SIZE + SHA256_SIZE;
    uint8_t mac[SHA256_SIZE];
    struct buf b;
    str nonce;

    buf_init(&b, BUS_TEXT_MAX);
    if (share_read_hex(text, &b) && b.n >= head) {
        nonce = str_slice(buf_str(&b), 0, NONCE_SIZE);
        share_hash(s, nonce, str_slice(buf_str(&b), head, b.n), mac);
        if (mem_equal_ct(mac, b.p + NONCE_SIZE, sizeof mac)) {
            share_cipher(s, nonce, b.p + head, b.n - head);
            share_put_kept(s, from->number, str_slice(buf_str(&b), head, b.n));
        }
    }
    buf_release(&b);
}

/* ---- all of it ---- */

static void share_on_peer(void *ctx, const struct bus_peer *who, enum bus_event event)
{
    struct gateway_sharing *s = ctx;

    if (event == BUS_PEER_NEW) {
        s->greet = true;
        if (!who->again) { /* else its totals go on from those that we know */
            s->base[who->number] = false;
            limits_peer_gone(s->g->limits, who->number);
        }
    } else if (event == BUS_PEER_GAP) {
        hub_relay_gap(s->g->hub, who->number);
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

    /* Now and then all of it, in case a report was lost. */
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
    bus_on(bus, TOPIC_VAULT_PAST, share_on_kept, s);
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
