/* control.c - tells a provider, while it streams, to end its reasoning.
 *
 * llama.cpp's server can do so: POST {base_url}/chat/completions/control with the id of a running
 * reply and the action "reasoning_end". The reply then continues with its answer. The request must
 * have had "reasoning_control": true, so every call under a cap sends that. The control call is
 * made only if the reasoning passes the cap despite the budget in the request: the provider
 * refused the budget, is too old for it, or counts tokens differently.
 *
 * The server answers {"success": true}, which promises little: a model whose reasoning the server
 * does not recognize continues to reason. For an unknown id (of a reply that has ended, or of
 * another server at the same address) it answers {"success": false}; servers from before mid-2026
 * have no such path. After any failure the model is not told again for some time.
 *
 * A request for several choices has one id, so its choices are cut in other ways. A cassette
 * cannot be told: its recorded reply either ends its reasoning or is cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"
#include "gateway/provider.h"

#define WAIT_MS 5000    /* for the answer to begin */
#define LATE_MS 250     /* the same after "success": false: older bytes may be on the way */
#define AGAIN_MS 600000 /* a model that failed is asked again then: its server may be a newer one */
#define UNHEARD_MAX ((size_t)16384) /* bytes of reasoning before it has answered, */
#define HEARD_MAX ((size_t)2048)    /* and from there until its own answer begins */
#define REPLY_MAX 4096
#define ID_MAX 256

/* The members up to the id are set before the reply, all others in CALL_CUTTING. */
struct call_control {
    str path, headers; /* of the request; `with_known`: the provider's own headers go before */
    bool with_known;
    str id;                   /* of the reply; empty: not known yet */
    struct client_call *call; /* or NULL */
    int status;               /* of its reply */
    struct buf reply;
    struct loop_timer timer;
    bool heard;      /* it has said that it will */
    size_t dropped;  /* bytes of reasoning that were dropped before that */
    const char *why; /* it fails if nothing comes */
};

static bool control_known_to_fail(struct call *c)
{
    const struct setup_capability *known =
        setup_find_capability(c->in.setup, call_provider(c), call_model(c)->upstream);

    return known && known->no_control_ns > call_now_ns(c);
}

bool call_control_arm(struct call *c)
{
    str choices = c->in.request->n;

    c->control = NULL;
    assert(c->state == CALL_CONNECTING && c->attempt.wire);
    if (!(call_provider(c)->row->levers & PROVIDER_CONTROL) || c->attempt.phase != CALL_FIRST ||
        !c->attempt.streams || c->level.cap < 0 || (choices.n && !str_eq(choices, STR("1"))) ||
        (c->attempt.without & CALL_WITHOUT_CONTROL) || control_known_to_fail(c))
        return false;
    c->control = arena_zero(&c->arena, 1, sizeof *c->control);
    c->control->id = STR("");
    return true;
}

void call_control_keep_lines(struct call *c, const struct call_lines *lines)
{
    struct call_control *k = c->control;
    str text = arena_dup(&c->arena, buf_str(&lines->text));

    k->path = str_slice(text, 0, lines->path_size);
    k->headers = str_slice(text, lines->target_size, text.n);
    k->with_known = lines->known.n > 0;
}

void call_control_named(struct call *c, str id)
{
    assert(c->control && call_is_reading(c));
    if (id.n && id.n <= ID_MAX)
        c->control->id = arena_dup(&c->arena, id);
    if (c->control->id.n && c->pipe.options.at_cap == PIPE_STOP)
        c->pipe.options.at_cap = PIPE_STOP_OR_RESUME;
}

void call_control_failed(struct call *c)
{
    struct setup_capability *known =
        setup_add_capability(c->in.setup, call_provider(c), call_model(c)->upstream);

    if (known)
        known->no_control_ns = call_now_ns(c) + (uint64_t)AGAIN_MS * CLOCK_NS_PER_MS;
}

void call_control_gave_up(struct call *c, str why)
{
    call_control_failed(c);
    assert(c->state == CALL_CUTTING);
    call_note_attempt(c, "control failed", why);
    log_info("a provider did not end its reasoning on request",
             LOG_STR("provider", call_provider(c)->name),
             LOG_STR("why", call_mask_text(c, why)));
}

static void control_give_up(struct call *c, str why)
{
    call_control_gave_up(c, why);
    call_cut_now(c);
}

bool call_control_ignored(const struct call *c)
{
    assert(c->state == CALL_CUTTING && c->pipe.cap.dropped >= c->control->dropped);
    return c->pipe.cap.dropped - c->control->dropped >
           (c->control->heard ? HEARD_MAX : UNHEARD_MAX);
}

/* While the client does not read, the reply is not read either, so the wait is extended. */
static void control_on_timeout(void *ctx)
{
    struct call *c = ctx;

    assert(c->state == CALL_CUTTING);
    if (c->client.paused)
        loop_timer_set(c->gl->loop, &c->control->timer, WAIT_MS);
    else
        control_give_up(c, str_c(c->control->why));
}

/* ---- the call ---- */

static void control_on_head(void *ctx, const struct http1_head *h)
{
    struct call *c = ctx;

    assert(c->state == CALL_CUTTING);
    c->control->status = h->status;
}

static void control_on_bytes(void *ctx, str bytes)
{
    struct call *c = ctx;

    assert(c->state == CALL_CUTTING);
    buf_add(&c->control->reply, bytes);
}

/* Whatever else it says, it has done something. */
static bool control_was_refused(str reply)
{
    struct json doc;
    struct err e;
    bool no;

    no = json_open(&doc, reply, &e) && json_find(&doc, json_root(&doc), STR("success")) &&
         json_find(&doc, json_root(&doc), STR("success"))->kind == JSON_FALSE;
    json_release(&doc);
    return no;
}

static void control_on_end(void *ctx)
{
    struct call *c = ctx;
    struct call_control *k = c->control;

    assert(c->state == CALL_CUTTING && !k->heard);
    k->call = NULL;
    if (k->status < 200 || k->status > 299) {
        control_give_up(
            c, arena_printf(&c->arena, "the control call was answered with %d", k->status));
    } else if (control_was_refused(buf_str(&k->reply))) {
        k->why = "the control call was answered with no success";
        loop_timer_set(c->gl->loop, &k->timer, LATE_MS);
    } else {
        k->heard = true;
        k->dropped = c->pipe.cap.dropped;
    }
}

static void control_on_error(void *ctx, const struct err *e, bool sent)
{
    struct call *c = ctx;

    assert(c->state == CALL_CUTTING);
    (void)sent;
    c->control->call = NULL;
    control_give_up(c, str_c(e->text));
}

static const struct client_handler control_handler = {
    control_on_head, control_on_bytes, control_on_end, control_on_error, NULL};

/* A server that hands on to others by model wants its name, too. */
static str control_write_body(struct call *c)
{
    struct buf b;

    buf_init(&b, CALL_BODY_MAX);
    assert(c->control->id.n > 0 && c->control->id.n <= ID_MAX);
    buf_add(&b, STR("{\"id\":"));
    (void)json_quote(&b, c->control->id);
    buf_add(&b, STR(",\"action\":\"reasoning_end\",\"model\":"));
    (void)json_quote(&b, call_model(c)->upstream);
    buf_add_c(&b, '}');
    return arena_move_buf(&c->arena, &b);
}

/* Sends the request to the address of the current reply, with the same headers. */
static void control_send(struct call *c)
{
    const struct config_provider *p = call_provider(c);
    const struct call_control *k = c->control;
    struct client_request r = {
        .url = &p->url,
        .method = STR("POST"),
        .target = arena_join(&c->arena, k->path, STR("/control"), STR("")),
        .known = k->with_known ? setup_head(c->in.setup, p, false) : STR(""),
        .headers = k->headers,
        .body = control_write_body(c),
        .connect_ms = WAIT_MS,
        .first_ms = WAIT_MS,
        .stall_ms = WAIT_MS,
    };

    assert(c->state == CALL_CUTTING && !k->call && k->id.n);
    c->control->call = client_start(c->gl->client, &r, &control_handler, c);
}

bool call_control_ask(struct call *c)
{
    struct call_control *k = c->control;

    if (!k || !k->id.n || c->pipe.cap.before.called)
        return false;
    assert(c->attempt.phase == CALL_FIRST && !k->call);
    call_enter_state(c, CALL_CUTTING);
    assert(c->attempt.streams && !c->in.watch);
    c->decoder.hides = true; /* hidden reasoning is not repeated either */
    c->sum.cut_action = STR("control");
    call_note_attempt(c, "told to end its reasoning", STR("the cap was passed"));
    buf_init(&k->reply, REPLY_MAX);
    k->why = "its reasoning did not end in time";
    loop_timer_init(&k->timer, control_on_timeout, c);
    loop_timer_set(c->gl->loop, &k->timer, WAIT_MS);
    if (!c->in.setup->cassettes[call_provider(c) - c->config->providers])
        control_send(c);
    return true;
}

void call_control_stop(struct call *c)
{
    struct call_control *k = c->control;

    assert(c->state == CALL_CUTTING);
    if (k->call)
        client_cancel(k->call);
    loop_timer_clear(c->gl->loop, &k->timer);
    buf_release(&k->reply);
}
