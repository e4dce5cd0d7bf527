/* classic.c - the classic strategy: select tools, select more, analyse.
 *
 * Each model call is one prompt with all that is known, not a conversation. The runtime has taken
 * the reasoning out of each reply; the JSON of the rest is read as tolerantly as it can be without
 * guessing. An answer that cannot be read is asked for once more, with the reason; if that fails
 * too, a note in the report says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/decide.h"
#include "agent/extract.h"
#include "apps/incidents/engine.h"
#include "base/json_loose.h"

#define CALLS_MAX 64 /* of one selection */

/* The result of a selection. */
struct selection {
    struct point calls[CALLS_MAX]; /* without results */
    size_t n;
    bool more;     /* "continue" */
    str reasoning; /* the member of that name */
};

/* ---- reading an answer ---- */

static bool incident_classic_is_call(const struct json *doc, const struct json_node *v)
{
    return v->kind == JSON_OBJECT &&
           (json_find(doc, v, STR("tool")) || json_find(doc, v, STR("tool_name")));
}

static bool incident_classic_is_list(const struct json *doc, const struct json_node *v)
{
    if (v->kind != JSON_ARRAY)
        return false;
    JSON_FOREACH(c, doc, v)
        if (!incident_classic_is_call(doc, c))
            return false;
    return true;
}

static const struct json_node *incident_classic_list_in(const struct json *doc,
                                                        const struct json_node *v)
{
    const struct json_node *list = json_find(doc, v, STR("tools"));

    list = list ? list : json_find(doc, v, STR("tool_calls"));
    return list && incident_classic_is_list(doc, list) ? list : NULL;
}

/* A list of calls, one call, or an object with the list. */
static bool wanted_first(void *ctx, const struct json *doc)
{
    const struct json_node *root = json_root(doc);

    (void)ctx;
    return incident_classic_is_list(doc, root) || incident_classic_is_call(doc, root) ||
           (root->kind == JSON_OBJECT && incident_classic_list_in(doc, root));
}

/* An object with "continue", or what the first selection is. */
static bool wanted_next(void *ctx, const struct json *doc)
{
    const struct json_node *go = json_find(doc, json_root(doc), STR("continue"));

    return (go && go->kind <= JSON_STRING) || wanted_first(ctx, doc);
}

static str incident_classic_text_at(const struct json *doc, const struct json_node *v,
                                    const char *key, const char *or_key, struct arena *a)
{
    const struct json_node *t = json_find(doc, v, str_c(key));
    str s;

    t = t ? t : json_find(doc, v, str_c(or_key));
    return json_text(doc, t, a, &s) ? arena_dup(a, s) : STR("");
}

/* An object, or an object inside a string. Any other value is passed on unchanged, so that the
 * tool reports the error. */
static str parameters_at(const struct json *doc, const struct json_node *v, struct arena *a)
{
    const struct json_node *p = json_find(doc, v, STR("parameters"));
    str text;

    p = p ? p : json_find(doc, v, STR("arguments"));
    if (!p || p->kind == JSON_NULL)
        return STR("{}");
    if (json_text(doc, p, a, &text))
        return text.n ? arena_dup(a, text) : STR("{}");
    return arena_dup(a, json_raw(doc, p));
}

static void incident_classic_take_call(struct arena *a, const struct json *doc,
                                       const struct json_node *v, struct selection *s)
{
    struct point *c = &s->calls[s->n];

    if (s->n == CALLS_MAX)
        return;
    *c = (struct point){.server = incident_classic_text_at(doc, v, "server", "server_name", a),
                        .tool = incident_classic_text_at(doc, v, "tool", "tool_name", a),
                        .arguments = parameters_at(doc, v, a),
                        .reason = incident_classic_text_at(doc, v, "reason", "reasoning", a),
                        .result = STR("")};
    s->n++;
}

static bool truth(const struct json *doc, const struct json_node *v, bool otherwise)
{
    static const char *const yes[] = {"true", "yes", "1", "True", "Yes"};
    bool on;

    if (!v)
        return otherwise;
    if (json_bool(v, &on))
        return on;
    for (size_t i = 0; i < COUNT_OF(yes); i++)
        if (json_is(doc, v, str_c(yes[i])) || str_eq(json_raw(doc, v), str_c(yes[i])))
            return true;
    return false;
}

static void incident_classic_take(struct arena *a, const struct json *doc, struct selection *s)
{
    const struct json_node *root = json_root(doc), *list = root;

    *s = (struct selection){.reasoning = STR("")};
    if (incident_classic_is_call(doc, root))
        incident_classic_take_call(a, doc, root, s);
    else if (root->kind == JSON_OBJECT)
        list = incident_classic_list_in(doc, root);
    if (list && list->kind == JSON_ARRAY)
        JSON_FOREACH(c, doc, list)
            incident_classic_take_call(a, doc, c, s);
    s->more = truth(doc, json_find(doc, root, STR("continue")), s->n > 0);
    s->reasoning = incident_classic_text_at(doc, root, "reasoning", "reason", a);
}

/* The selection in a reply's text. */
static bool incident_classic_read(str text, bool first, struct arena *a, struct selection *s,
                                  struct err *e)
{
    struct buf found;
    struct json doc;
    bool ok;

    buf_init(&found, INCIDENT_TEXT_MAX);
    json_init(&doc);
    ok = json_loose(text, first ? wanted_first : wanted_next, NULL, &found, e) &&
         json_parse(&doc, buf_str(&found), e);
    if (ok)
        incident_classic_take(a, &doc, s);
    json_release(&doc);
    buf_release(&found);
    return ok;
}

static bool incident_classic_read_answer(struct agent_team *p, const struct ask_reply *reply,
                                         bool first, struct selection *s, struct err *e)
{
    p->reasoning_seen = reply->reasoning;
    if (!reply->text.n)
        return err_set(e, ERR_INPUT, "the reply has no answer after its reasoning");
    return incident_classic_read(reply->text, first, &p->arena, s, e);
}

/* Whether the selection ends the investigation. */
static bool incident_classic_concludes(const struct selection *s, bool first)
{
    return !s->n || (!first && !s->more);
}

/* ---- the decision log ---- */

struct classic_reply {
    struct agent_team *p;
    bool first;
};

/* The reader of a selection: see call_reader in gateway/call.h. */
static void classic_decide(void *ctx, str text, struct arena *a, struct decision *d)
{
    const struct classic_reply *c = ctx;
    struct ask_call *calls = arena_zero(a, CALLS_MAX, sizeof *calls);
    struct selection *s = arena_zero(a, 1, sizeof *s);
    struct ask_reply reply = {.text = text, .reasoning = STR("")};
    str why;
    struct err e;

    agent_extract_reply(&reply, a);
    agent_decide_why(reply.reasoning, d);
    if (!incident_classic_read(reply.text, c->first, a, s, &e))
        return;
    why = s->reasoning;
    for (size_t i = 0; i < s->n && !s->reasoning.n; i++)
        if (s->calls[i].reason.n)
            why = arena_join(a, why, why.n ? STR("; ") : STR(""), s->calls[i].reason);
    agent_decide_why(why, d);
    if (incident_classic_concludes(s, c->first))
        return;
    for (size_t i = 0; i < s->n; i++) {
        calls[i] = (struct ask_call){STR(""), s->calls[i].tool, s->calls[i].arguments};
        (void)!agent_team_tool(c->p, s->calls[i].server, s->calls[i].tool, &calls[i].name);
    }
    agent_decide_calls(c->p->tools->box, calls, s->n, a, d);
}

/* ---- asking ---- */

enum asked { ASKED_OVER, ASKED_READ, ASKED_UNREAD };

/* The prompt; if its answer cannot be read, the prompt and why, once. */
static enum asked incident_classic_ask(struct agent_team *p, struct buf *user, str system,
                                       bool first, struct selection *s)
{
    struct classic_reply log = {p, first};
    struct agent_prompt prompt = {.system = system,
                                  .extra = STR(INCIDENT_EXTRA),
                                  .level = p->reasoning ? p->level : STR(""),
                                  .quiet = !p->reasoning,
                                  .what = first ? STR("choose the first tools")
                                                : STR("go on or conclude"),
                                  .reader = {classic_decide, &log}};
    struct ask_reply reply;
    struct err e;

    for (int i = 0; i < 2; i++) {
        prompt.user = buf_str(user);
        if (!agent_work_ask(p->work, &prompt, &reply))
            return ASKED_OVER;
        if (incident_classic_read_answer(p, &reply, first, s, &e))
            return ASKED_READ;
        if (i == 0)
            prompt_again(user, reply.text, e.text);
    }
    agent_team_note(
        p,
        "The model was asked twice which tools to call, and its answers could not be read "
        "(%s). %s",
        e.text,
        first ? "No tool was called." : "The investigation ended there.");
    return ASKED_UNREAD;
}

/* ---- acting ---- */

static bool incident_classic_called_before(const struct agent_team *p, size_t n,
                                           const struct point *c)
{
    struct buf now, then;
    bool same = false;

    buf_init(&now, INCIDENT_TEXT_MAX);
    buf_init(&then, INCIDENT_TEXT_MAX);
    tool_canonical(&now, c->arguments);
    for (size_t i = 0; i < n && !same; i++) {
        const struct point *t = &p->points[i];

        if (!str_eq(t->tool, c->tool) || !str_eq(t->server, c->server))
            continue;
        buf_reset(&then);
        tool_canonical(&then, t->arguments);
        same = str_eq(buf_str(&now), buf_str(&then));
    }
    buf_release(&now);
    buf_release(&then);
    return same;
}

/* The tools that may still be called, by the servers' names. False: a limit is reached. */
static bool admit(struct agent_team *p, struct selection *s, struct ask_call *calls, size_t *n)
{
    size_t from = p->point_count;

    for (size_t i = 0; i < s->n; i++) {
        struct point *c = &s->calls[i];
        str name;

        if (p->point_count >= p->agent->max_tool_calls ||
            p->point_count >= p->agent->max_data_points || p->point_count >= INCIDENT_POINTS_MAX)
            return false;
        if (!agent_team_tool(p, c->server, c->tool, &name))
            name = c->tool.n ? c->tool : STR("none");
        else if (agent_team_origin(p, name, &c->server, &c->tool))
            c->server = arena_dup(&p->arena, c->server), c->tool = arena_dup(&p->arena, c->tool);
        if (incident_classic_called_before(p, p->point_count, c))
            continue;
        calls[*n] = (struct ask_call){
            arena_printf(&p->arena, "call-%zu", from + *n + 1), name, c->arguments};
        p->points[p->point_count++] = *c;
        ++*n;
    }
    return true;
}

enum acted { ACTED_OVER, ACTED_ALL, ACTED_LIMIT, ACTED_NOTHING };

static enum acted incident_classic_act(struct agent_team *p, struct selection *s)
{
    struct ask_call *calls = arena_zero(&p->arena, CALLS_MAX, sizeof *calls);
    struct agent_done *done = arena_zero(&p->arena, CALLS_MAX, sizeof *done);
    size_t n = 0, from = p->point_count;
    bool all = admit(p, s, calls, &n);

    p->step_at = from;
    if (n && !agent_work_act(p->work, calls, n, done)) {
        p->point_count = from;
        return ACTED_OVER;
    }
    for (size_t i = 0; i < n; i++) {
        p->points[from + i].ok = done[i].ok;
        p->points[from + i].result = done[i].result;
    }
    return !all ? ACTED_LIMIT : n ? ACTED_ALL : ACTED_NOTHING;
}

/* ---- the whole ---- */

/* Why it ended before the model said so: a code and words, "" if it did not. */
struct early {
    str reason, words;
};

static bool ends_early(struct early *out, str reason, str words)
{
    *out = (struct early){reason, words};
    return true;
}

static void incident_classic_record(struct agent_team *p, const char *action, str reason,
                                    str observation)
{
    incident_step(p->in,
                  &(struct incident_step){.stage = p->stage->name,
                                          .agent = p->label,
                                          .action = str_c(action),
                                          .reason = reason,
                                          .reasoning = p->reasoning_seen,
                                          .observation = observation,
                                          .ok = true});
}

static str incident_classic_limit(struct agent_team *p, unsigned n, const char *noun)
{
    return arena_printf(&p->arena, "the limit of %u %s%s is reached", n, noun, n == 1 ? "" : "s");
}

/* One selection and its calls. False: select again. *over: the run has ended. */
static bool round_ends(struct agent_team *p, str system, unsigned i, struct selection *s,
                       bool *over, struct early *early)
{
    enum asked asked;
    enum acted acted;
    struct buf user;

    buf_init(&user, INCIDENT_TEXT_MAX);
    agent_team_report_progress(
        p,
        i == 0 ? STR("choose the first tools")
               : arena_printf(&p->arena, "round %u of at most %u", i, p->agent->iterations),
        i,
        p->agent->iterations);
    if (i == 0)
        prompt_select(p, &user);
    else
        prompt_iterate(p, i, &user);
    asked = incident_classic_ask(p, &user, system, i == 0, s);
    buf_release(&user);
    *over = asked == ASKED_OVER;
    if (asked != ASKED_READ)
        return true;
    p->why = s->reasoning;
    if (incident_classic_concludes(s, i == 0)) {
        incident_classic_record(p, "conclude", s->reasoning, STR(""));
        return true;
    }
    acted = incident_classic_act(p, s);
    *over = acted == ACTED_OVER;
    if (acted == ACTED_LIMIT) {
        bool calls = p->agent->max_tool_calls <= p->agent->max_data_points;

        return ends_early(early,
                          calls ? STR("max_tool_calls_reached") : STR("max_data_points_reached"),
                          calls
                              ? incident_classic_limit(p, p->agent->max_tool_calls, "tool call")
                              : incident_classic_limit(p, p->agent->max_data_points, "data point"));
    }
    return *over || acted == ACTED_NOTHING; /* or it repeats calls whose results it has */
}

/* False: there is nothing to be concluded. */
static bool incident_classic_investigate(struct agent_team *p, str system, struct early *early)
{
    struct selection *s = arena_zero(&p->arena, 1, sizeof *s);
    bool over = false;

    if (!toolbox_count(p->tools->box)) {
        agent_team_note(p, "There were no tools, so no facts could be gathered.");
        return true;
    }
    for (unsigned i = 0; i <= p->agent->iterations; i++) {
        if (!agent_work_within(p->work))
            return p->result.end == AGENT_STOPPED &&
                   ends_early(early, p->result.reason, p->result.detail);
        if (round_ends(p, system, i, s, &over, early))
            return !over;
    }
    return ends_early(early,
                      STR("max_iterations_reached"),
                      incident_classic_limit(p, p->agent->iterations, "round"));
}

static void incident_classic_conclude(struct agent_team *p, str system, const struct early *early)
{
    struct agent_prompt prompt = {.system = system,
                                  .extra = STR(INCIDENT_EXTRA),
                                  .level = STR(""),
                                  .quiet = true,
                                  .what = early->reason.n ? STR("analyse what there is")
                                                          : STR("analyse the alert")};
    struct ask_reply reply;
    struct buf user;

    buf_init(&user, INCIDENT_TEXT_MAX);
    agent_team_report_progress(
        p, STR("write the analysis"), p->agent->iterations, p->agent->iterations);
    if (early->reason.n)
        prompt_partial(p, early->words, &user);
    else
        prompt_analysis(p, &user);
    prompt.user = buf_str(&user);
    p->why = STR("");
    if (early->reason.n)
        agent_team_note(p, "The investigation ended early: " STR_FMT ".", STR_ARG(early->words));
    if (agent_work_answer(p->work, &prompt, &reply)) {
        p->reasoning_seen = reply.reasoning;
        p->result.end = early->reason.n ? AGENT_STOPPED : AGENT_FINISHED;
        p->result.text = str_trim(reply.text);
        p->result.reason = early->reason;
        p->result.detail = early->words;
        incident_classic_record(p, "analysis", STR(""), p->result.text);
    }
    buf_release(&user);
}

void classic_work(struct agent_team *p)
{
    struct early early = {STR(""), STR("")};
    struct buf text;
    str system;

    p->points = arena_zero(&p->arena, p->agent->max_tool_calls + CALLS_MAX, sizeof *p->points);
    buf_init(&text, INCIDENT_TEXT_MAX);
    prompt_system(p, &text);
    system = arena_dup(&p->arena, buf_str(&text));
    buf_release(&text);
    if (incident_classic_investigate(p, system, &early))
        incident_classic_conclude(p, system, &early);
}
