/* plan.c - writes the request for the provider: the client's body or its translation, edited.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"
#include "gateway/provider.h"

#define LINES_USUAL 640  /* bytes of target and headers, of most calls */
#define EDITS_USUAL 1024 /* bytes of the edits of a body, likewise */
#define NOTES_BEGIN                                                                                \
    "You have already thought about this, and the time for thinking is over. Your notes so far, "  \
    "which may stop in the middle:\n\n<notes>\n"
#define NOTES_END "\n</notes>\n\n"
#define STARVED "You have thought about this but not answered yet. "
#define TRANSITION "\n\nI have thought about this long enough and will "

/* How a second call asks the model to continue. In an agent's turn a tool call is as good as an
 * answer. */
static const struct {
    const char *asked, *thought; /* of the user, and in the model's own voice */
} plan_endings[] = {
    {"Give the final answer now, directly and completely, without thinking further.",
     "give the final answer now."},
    {"Continue now with the answer or the tool call that comes next, without thinking further.",
     "now answer, or call the tool that I need next."},
};

/* Whether the client's reasoning parameters are sent unchanged: those of the same dialect, in any
 * spelling. If presets apply to them, providers with other parameters get their own. */
static bool plan_words_stay(const struct call *c, const struct provider_row *row, bool same)
{
    const struct chat_request *r = c->in.request;

    if (!same || c->level.source != LEVEL_BY_REQUEST || c->attempt.effort)
        return false;
    return r->budget_tokens >= 0 || row->think == WIRE_THINK_DEFAULT ||
           c->config->presets_for != CONFIG_PRESETS_ALWAYS;
}

/* The budget in tokens that goes along: the cap, or else the client's own; -1: none. */
static int64_t plan_budget(const struct call *c, const struct provider_row *row)
{
    int64_t budget = c->level.cap;

    if (budget < 0 && c->level.source == LEVEL_BY_REQUEST)
        budget = c->in.request->budget_tokens;
    if (budget < 0 || !(row->levers & PROVIDER_NATIVE))
        return -1;
    return budget < row->native_min ? row->native_min : budget; /* if the cap is less: we cut */
}

/* How the request asks the model to think. */
static void plan_level(struct call *c, const struct provider_row *row, bool same,
                       struct wire_plan *plan)
{
    plan->think = row->think;
    plan->other_way = c->attempt.without & CALL_WITHOUT_USUAL_WAY;
    c->attempt.budget = plan->budget_tokens = -1;
    c->attempt.sets_level = false;
    plan->drop_reasoning = c->attempt.without & CALL_WITHOUT_REASONING;
    if (plan->drop_reasoning || call_level(c) == CHAT_LEVEL_NOT_GIVEN)
        return;
    if (c->attempt.phase == CALL_FIRST && plan_words_stay(c, row, same)) {
        c->attempt.budget = c->in.request->budget_tokens;
        return;
    }
    c->attempt.sets_level = plan->set_level = true;
    plan->level = c->attempt.effort ? (enum chat_level)c->attempt.effort : call_level(c);
    plan->least = c->attempt.effort && call_level(c) == CHAT_LEVEL_NONE;
    if (c->attempt.phase == CALL_FIRST)
        c->attempt.budget = plan->budget_tokens = plan_budget(c, row);
}

/* A cap on reasoning that the provider has no budget for, and may not show: all of its output is
 * bounded, unless the client has bounded it. Messages always have a maximum. */
static void plan_bound(struct call *c, const struct provider_row *row, struct wire_plan *plan)
{
    bool budget = (row->levers & PROVIDER_NATIVE) && c->attempt.wire->dialect != CHAT_GEMINI &&
                  !(c->attempt.without & CALL_WITHOUT_REASONING);

    c->attempt.bounded = c->attempt.phase == CALL_FIRST && c->level.cap >= 0 &&
                         c->config->answer_tokens > 0 && !c->in.request->max_tokens.n && !budget &&
                         c->attempt.wire->dialect != CHAT_ANTHROPIC &&
                         !(c->attempt.without & CALL_WITHOUT_BOUND);
    if (c->attempt.bounded)
        plan->max_tokens =
            arena_printf(&c->arena, "%lld", (long long)c->level.cap + c->config->answer_tokens);
}

static str plan_join_texts(struct arena *a, str x, str y)
{
    if (!x.n || !y.n)
        return x.n ? x : y;
    return arena_printf(a, STR_FMT "\n\n" STR_FMT, STR_ARG(x), STR_ARG(y));
}

/* For a model that accepts only one of temperature and top_p: keeps top_p if the client sent top_p
 * and no temperature, else temperature. */
static void plan_pick_sampling(const struct chat_request *r, struct wire_plan *plan)
{
    bool temperature = plan->temperature.n || (r->temperature.n && !plan->drop_temperature);
    bool top_p = plan->top_p.n || (r->top_p.n && !plan->drop_top_p);

    if (!temperature || !top_p)
        return;
    if (r->top_p.n && !r->temperature.n) {
        plan->temperature = STR("");
    } else {
        plan->top_p = STR("");
        plan->drop_top_p = true;
    }
}

static void plan_prompt(struct call *c, const struct config_provider *p, struct wire_plan *plan)
{
    const struct config_preset *preset = c->level.preset;

    plan->system_extra = level_words(c->in.request, preset);
    if (p->enable_reasoning && !c->in.quiet && c->level.asked != CHAT_LEVEL_NONE &&
        c->attempt.phase == CALL_FIRST)
        plan->system_extra =
            plan_join_texts(&c->arena, plan->system_extra, level_convention(c->in.request));
    plan->drop_temperature = c->attempt.without & CALL_WITHOUT_TEMPERATURE;
    plan->drop_top_p = c->attempt.without & CALL_WITHOUT_TOP_P;
    if (preset && !plan->drop_reasoning && !plan->drop_temperature)
        plan->temperature = preset->temperature;
    if (preset && !plan->drop_reasoning && !plan->drop_top_p)
        plan->top_p = preset->top_p;
    if (c->attempt.without & CALL_WITHOUT_CONFLICT)
        plan_pick_sampling(c->in.request, plan);
    if (!plan->drop_reasoning && !(c->attempt.without & CALL_WITHOUT_PARAMS) &&
        c->attempt.phase == CALL_FIRST)
        plan->merge = p->reasoning_params;
}

static void plan_note_cut(struct call *c, str action, const char *what)
{
    if (!str_eq(c->sum.cut_action, action)) /* not for each of its tries */
        call_note_attempt(c, what, STR("the cap was passed"));
    c->sum.cut_action = action;
}

/* The second call of a cut or starved answer: it includes the reasoning so far. */
static void plan_tail(struct call *c, const struct provider_row *row, struct wire_tail *tail,
                      struct wire_plan *plan)
{
    bool tools = c->in.request->tool_count && c->in.request->choice != CHAT_CHOICE_NONE;
    const char *asked = plan_endings[tools].asked;
    str thought = call_get_reasoning(c);
    uint64_t max;

    assert(c->attempt.phase != CALL_FIRST);
    plan->tails = tail;
    plan->tail_count = 1;
    *tail = (struct wire_tail){.role = CHAT_USER, .reasoning = STR("")};
    tail->text = arena_join(&c->arena, STR(STARVED), str_c(asked), STR(""));
    c->attempt.prefilled = c->attempt.phase == CALL_CUT && (row->levers & PROVIDER_PREFILL) &&
                           !(c->attempt.without & (CALL_WITHOUT_REASONING | CALL_WITHOUT_PREFILL));
    if (c->attempt.prefilled) {
        tail->role = CHAT_ASSISTANT;
        tail->text = STR("");
        tail->reasoning = arena_printf(
            &c->arena, STR_FMT TRANSITION "%s", STR_ARG(thought), plan_endings[tools].thought);
        tail->prefill = tail->closed = true;
        plan_note_cut(c, STR("prefill"), "cut, continued by prefill");
    } else if (thought.n) {
        tail->text =
            arena_printf(&c->arena, NOTES_BEGIN STR_FMT NOTES_END "%s", STR_ARG(thought), asked);
    }
    if (!tail->prefill)
        pipe_continue_inside(&c->pipe);
    if (c->attempt.phase == CALL_CUT && !tail->prefill)
        plan_note_cut(c, STR("restate"), "cut, restated");
    if (c->attempt.phase == CALL_CUT && str_u64(c->in.request->max_tokens, &max)) {
        uint64_t used = (uint64_t)pipe_kept_tokens(&c->pipe);

        plan->max_tokens = arena_printf(
            &c->arena, "%llu", (unsigned long long)(max > used + 16 ? max - used : 16));
    }
}

/* Path and query of the upstream's URL. A provider of the client's dialect gets its query, too. */
static bool plan_target(const struct call *c, struct call_lines *lines, str model, bool same,
                        struct err *e)
{
    const struct wire *wire = same ? c->in.wire : c->attempt.wire;

    buf_reset(&lines->text);
    buf_reserve(&lines->text, LINES_USUAL);
    buf_add(&lines->text, call_provider(c)->url.path);
    if (wire->path)
        wire->path(model, c->attempt.streams, &lines->text);
    else
        buf_add(&lines->text, str_c(wire->path_text));
    lines->path_size = lines->text.n;
    if (same && c->in.head)
        headers_add_query(c->in.head(c->in.head_ctx)->query, &lines->text);
    lines->target_size = lines->text.n;
    assert(lines->path_size <= lines->target_size);
    if (buf_full(&lines->text) || lines->text.n > CALL_TARGET_MAX)
        return err_set(e,
                       ERR_LIMIT,
                       "the model's name and the query: larger than %d bytes, the most that is "
                       "sent to a provider",
                       (int)CALL_TARGET_MAX);
    return true;
}

/* Header lines, after the target in the same buffer. */
static bool plan_headers(struct call *c, struct call_lines *lines, bool same, struct err *e)
{
    const struct config_provider *p = call_provider(c);
    const struct provider_row *row = p->row;
    const struct http1_head *client = c->in.head ? c->in.head(c->in.head_ctx) : NULL;
    char trace[56];

    lines->known = setup_head(c->in.setup, p, c->attempt.streams);
    if (!setup_head_sound(c->in.setup, p)) { /* the sender reports the error */
        buf_add(&lines->text, lines->known);
        lines->known = STR("");
    }
    if (!client || !http1_has(client, STR("user-agent")))
        buf_add(&lines->text, STR("user-agent: rationale/" RATIONALE_VERSION "\r\n"));
    if (client && !headers_add_request(client, same, &lines->text, e))
        return false;
    if (row->extra_headers[0] && !(same && client && http1_has(client, STR("anthropic-version"))))
        buf_add(&lines->text, str_c(row->extra_headers));
    otlp_trace_format(&c->in.trace, trace);
    buf_add(&lines->text, STR("traceparent: "));
    buf_add(&lines->text, (str){trace, 55});
    if (c->in.trace.state.n) {
        buf_add(&lines->text, STR("\r\ntracestate: "));
        buf_add(&lines->text, c->in.trace.state);
    }
    buf_add(&lines->text, STR("\r\n"));
    assert(lines->text.n >= lines->target_size);
    if (buf_full(&lines->text) || lines->text.n - lines->target_size > CALL_HEADERS_MAX)
        return err_set(e,
                       ERR_LIMIT,
                       "the request's headers: larger than %d bytes, the most that is sent to a "
                       "provider",
                       (int)CALL_HEADERS_MAX);
    return true;
}

/* The request as it is translated, with the provider's name of the model. Some dialects have no
 * request with only system prompts: the last of them becomes the user's message. */
static const struct chat_request *plan_translated(struct call *c)
{
    const struct chat_request *r = c->in.request;
    struct chat_request *changed = arena_alloc(&c->arena, sizeof *changed);

    *changed = *r;
    changed->model = call_model(c)->upstream;
    for (size_t i = 0; i < r->message_count; i++)
        if (r->messages[i].role != CHAT_SYSTEM)
            return changed;
    if (!r->message_count || c->attempt.wire->dialect == CHAT_OPENAI ||
        c->attempt.wire->dialect == CHAT_OLLAMA)
        return changed;
    changed->messages = arena_alloc(&c->arena, r->message_count * sizeof *r->messages);
    memcpy(changed->messages, r->messages, r->message_count * sizeof *r->messages);
    changed->messages[r->message_count - 1].role = CHAT_USER;
    return changed;
}

static bool plan_body(struct call *c, bool same, const struct wire_plan *plan, struct err *e)
{
    max_align_t room[EDITS_USUAL / sizeof(max_align_t)];
    struct json doc;
    struct json_edits edits;
    struct arena scratch;
    struct buf written;
    bool ok = false;

    arena_init(&scratch, CALL_ARENA_MAX);
    json_init(&doc);
    buf_init(&written, CALL_BODY_MAX);
    if (!same) {
        c->attempt.wire->write(plan_translated(c), &written);
        if (!buf_ok(&written, "the request for the provider", e) ||
            !json_parse(&doc, buf_str(&written), e))
            goto out;
    }
    assert(!same || c->in.request->doc);
    json_edits_init(&edits, same ? c->in.request->doc : &doc, &scratch);
    arena_init(&scratch, CALL_ARENA_MAX + JSON_EDITS_SIZE * edits.doc->src.n);
    arena_lend(&scratch, room, sizeof room);
    c->attempt.wire->patch(edits.doc, plan, &edits);
    buf_reset(&c->sent);
    json_edits_apply(&edits, &c->sent);
    ok = buf_ok(&c->sent, "the request for the provider", e);
out:
    json_release(&doc);
    buf_release(&written);
    arena_release(&scratch);
    return ok;
}

/* A recording may be older than the maximum of output that is added now: it is looked for without,
 * too. */
static bool plan_recorded(const struct call *c, const struct call_lines *lines)
{
    const struct config_provider *p = call_provider(c);
    const struct cassette *cassette = c->in.setup->cassettes[p - c->config->providers];
    str path = str_slice(buf_str(&lines->text), 0, lines->path_size);
    const struct cassette_call *found;
    struct err e;

    assert(p->replay);
    return cassette_find(cassette, path, buf_str(&c->sent), c->attempt.replayed, &found, &e);
}

bool call_plan_request(struct call *c, struct call_lines *lines, struct err *e)
{
    const struct config_provider *p = call_provider(c);
    const struct chat_request *r = c->in.request;
    /* A second call adds messages, which only one of a dialect's two forms has. */
    bool same = c->attempt.wire->dialect == c->in.wire->dialect &&
                (c->attempt.phase == CALL_FIRST || c->attempt.wire == c->in.wire);
    str model = call_model(c)->upstream;
    struct wire_vault vault = {call_vault_find, c};
    struct wire_tail tail;
    struct wire_plan plan = {.model = STR(""),
                             .system_extra = STR(""),
                             .temperature = STR(""),
                             .top_p = STR(""),
                             .max_tokens = STR(""),
                             .merge = STR(""),
                             .vault = &vault};

    assert(c->state == CALL_CONNECTING && c->attempt.wire);
    c->attempt.streams = r->stream;
    c->attempt.relays = same && c->attempt.phase == CALL_FIRST && !c->in.inside;
    if (c->in.watch) {
        c->attempt.budget = r->budget_tokens;
        return true; /* the request is sent as it came */
    }
    call_parse_request(c);
    if (!call_check_translatable(c, e))
        return false;
    call_vault_rewind(c);
    plan.foreign_kept = call_vault_has_foreign(c);
    plan.whole = c->in.whole;
    if (!same || c->attempt.wire->dialect == CHAT_GEMINI || !str_eq(model, r->model))
        plan.model = model; /* Gemini's bodies do not name the model */
    plan.set_stream = !same;
    plan.stream = c->attempt.streams;
    plan.want_usage = c->attempt.streams && !(c->attempt.without & CALL_WITHOUT_USAGE);
    plan_level(c, p->row, same, &plan);
    plan_prompt(c, p, &plan);
    plan_bound(c, p->row, &plan);
    plan.control = call_control_arm(c);
    c->attempt.prefilled = false;
    if (c->attempt.phase != CALL_FIRST)
        plan_tail(c, p->row, &tail, &plan);
    if (!plan_target(c, lines, model, same, e) || !plan_headers(c, lines, same, e) ||
        !plan_body(c, same, &plan, e))
        return false;
    if (c->attempt.phase == CALL_FIRST)
        call_list_dropped(c);
    if (!p->replay || !c->attempt.bounded || plan_recorded(c, lines))
        return true;
    c->attempt.without |= CALL_WITHOUT_BOUND;
    return call_plan_request(c, lines, e);
}

void call_send_request(struct call *c, const struct call_lines *lines)
{
    const struct config_provider *p = call_provider(c);
    str text = buf_str(&lines->text);
    struct upstream_request r = {
        .provider = p,
        .cassette = p->replay ? c->in.setup->cassettes[p - c->config->providers] : NULL,
        .feed = c->in.watch ? &c->in.watch->feed : NULL,
        .nth = c->attempt.replayed,
        .target = str_slice(text, 0, lines->target_size),
        .path = str_slice(text, 0, lines->path_size),
        .known = lines->known,
        .headers = str_slice(text, lines->target_size, text.n),
        .body = buf_str(&c->sent),
        .front = c->sent.n ? c->sent.front : 0,
        .cassette_writer = c->gl->gateway->cassette_writer,
        .clock = c->gl->gateway->clock};

    assert(lines->path_size <= lines->target_size && lines->target_size <= text.n);
    if (c->control)
        call_control_keep_lines(c, lines);
    if (!c->sum.upstream_ns)
        c->sum.upstream_ns = call_now_ns(c);
    c->reply.header_count = 0;
    upstream_start(&c->upstream, c->gl->loop, c->gl->client, &r, &call_upstream_handler, c);
}
