/* server_answer.c - the answer of a tool, and the state that the client keeps for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base64.h"
#include "mcp/serving.h"

/* ---- states the client carries ----
 *
 * EXPIRY.STATE.MAC: the state in base64; the MAC covers the caller, the request's method and name,
 * the expiry and the state.
 */

static void mcp_state_mac(const struct mcp_answer *r, str name, str text, struct buf *out)
{
    uint8_t mac[SHA256_SIZE];
    struct sha256_mac m;

    sha256_mac_init(&m, (str){(const char *)r->server->key, sizeof r->server->key});
    sha256_mac_feed(&m, (str){(const char *)&r->channel->who, sizeof r->channel->who});
    sha256_mac_feed(&m, r->message->method);
    sha256_mac_feed(&m, (str){"", 1});
    sha256_mac_feed(&m, name);
    sha256_mac_feed(&m, (str){"", 1});
    sha256_mac_feed(&m, text);
    sha256_mac_finish(&m, mac);
    base64_add_url(out, (str){(const char *)mac, sizeof mac});
    assert(out->n == (SHA256_SIZE * 4 + 2) / 3);
}

str mcp_state_seal(const struct mcp_answer *r, str name, str state)
{
    struct buf b, mac;

    assert(state.n > 0);
    buf_init(&b, MCP_MESSAGE_MAX);
    buf_init(&mac, 64);
    buf_add_u64(&b, (uint64_t)clock_wall_ms(r->server->clock) + MCP_STATE_MS);
    buf_add_c(&b, '.');
    base64_add(&b, state);
    mcp_state_mac(r, name, buf_str(&b), &mac);
    buf_add_c(&b, '.');
    buf_add(&b, buf_str(&mac));
    buf_release(&mac);
    return arena_move_buf(r->arena, &b);
}

bool mcp_state_open(const struct mcp_answer *r, str name, str sealed, str *state)
{
    size_t first = str_find(sealed, STR(".")), last = sealed.n;
    struct buf mac, text;
    uint64_t expiry = 0;
    bool ok;

    while (last > 0 && sealed.p[last - 1] != '.')
        last--;
    if (first == STR_NONE || last < first + 2)
        return false;
    buf_init(&mac, 64);
    buf_init(&text, MCP_MESSAGE_MAX);
    mcp_state_mac(r, name, str_slice(sealed, 0, last - 1), &mac);
    ok = mac.n == sealed.n - last && mem_equal_ct(mac.p, sealed.p + last, mac.n) &&
         str_u64(str_slice(sealed, 0, first), &expiry) &&
         clock_wall_ms(r->server->clock) < (int64_t)expiry &&
         base64_decode(str_slice(sealed, first + 1, last - 1), &text);
    if (ok)
        *state = arena_dup(r->arena, buf_str(&text));
    buf_release(&text);
    buf_release(&mac);
    return ok;
}

str mcp_run_name(const struct mcp_answer *r)
{
    str name = mcp_member(r->doc, r->message->params, STR("name"), r->arena);

    return name.n ? name : mcp_member(r->doc, r->message->params, STR("uri"), r->arena);
}

/* ---- functions for tools ---- */

static void mcp_add_item(struct buf *b, str json)
{
    if (b->n)
        buf_add_c(b, ',');
    buf_add(b, json);
}

void mcp_answer_item(struct mcp_answer *r, str json)
{
    assert(json.n > 0);
    mcp_add_item(&r->items, json);
}

void mcp_answer_text(struct mcp_answer *r, str text)
{
    mcp_add_item(&r->items, STR("{\"type\":\"text\",\"text\":"));
    (void)json_quote(&r->items, text);
    buf_add_c(&r->items, '}');
}

void mcp_answer_structured(struct mcp_answer *r, str json)
{
    r->structured = arena_dup(r->arena, json);
    mcp_answer_text(r, json);
}

void mcp_answer_fail(struct mcp_answer *r, const char *fmt, ...)
{
    char text[1000];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    mcp_answer_fail_text(r, str_c(text));
}

void mcp_answer_fail_text(struct mcp_answer *r, str text)
{
    r->is_error = true;
    buf_reset(&r->items);
    mcp_answer_text(r, text);
}

static unsigned mcp_cap_for(str method)
{
    return str_eq(method, STR("elicitation/create"))       ? MCP_ELICITATION
           : str_eq(method, STR("sampling/createMessage")) ? MCP_SAMPLING
                                                           : MCP_ROOTS;
}

void mcp_answer_input(struct mcp_answer *r, str key, str method, str params)
{
    unsigned cap = mcp_cap_for(method);
    str *keys;

    assert(key.n > 0 && method.n > 0);
    if (!(r->caps & cap)) {
        r->lacking |= cap;
        return;
    }
    if (r->input_count)
        buf_add_c(&r->inputs, ',');
    (void)json_quote(&r->inputs, key);
    buf_add(&r->inputs, STR(":{\"method\":"));
    (void)json_quote(&r->inputs, method);
    buf_add(&r->inputs, STR(",\"params\":"));
    buf_add(&r->inputs, params.n ? params : STR("{}"));
    buf_add_c(&r->inputs, '}');
    keys = arena_alloc(r->arena, (r->input_count + 1) * sizeof *keys);
    if (r->input_count)
        memcpy(keys, r->keys, r->input_count * sizeof *keys);
    keys[r->input_count++] = arena_dup(r->arena, key);
    r->keys = keys;
}

void mcp_answer_state(struct mcp_answer *r, str state)
{
    r->state = arena_dup(r->arena, state);
}

static void mcp_send_note(struct mcp_answer *r, str method, str params)
{
    struct buf out;

    assert(method.n > 0);
    buf_init(&out, MCP_MESSAGE_MAX);
    mcp_emit_notification(&out, method, params);
    if (!buf_full(&out))
        r->channel->send(r->channel, buf_str(&out));
    buf_release(&out);
}

void mcp_answer_progress(struct mcp_answer *r, double progress, double total, str message)
{
    struct json_out o;
    struct buf b;

    if (!r->progress.n)
        return;
    buf_init(&b, MCP_MESSAGE_MAX);
    json_out_init_object(&o, &b);
    json_member_raw(&o, "progressToken", r->progress);
    json_member_double(&o, "progress", progress);
    json_member_double(&o, "total", total);
    if (message.n) {
        json_member_str(&o, "message", message);
    }
    json_out_end(&o);
    mcp_send_note(r, STR("notifications/progress"), buf_str(&b));
    buf_release(&b);
}

void mcp_answer_log(struct mcp_answer *r, enum mcp_level level, str data)
{
    static const char *const names[] = {
        "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};
    struct buf b;

    static_assert(COUNT_OF(names) == MCP_LOG_OFF, "a name for each level");
    if (level < r->level || level >= MCP_LOG_OFF)
        return;
    buf_init(&b, MCP_MESSAGE_MAX);
    buf_printf(&b, "{\"level\":\"%s\",\"logger\":\"rationale\",\"data\":", names[level]);
    (void)json_quote(&b, data);
    buf_add_c(&b, '}');
    mcp_send_note(r, STR("notifications/message"), buf_str(&b));
    buf_release(&b);
}
