/* chat.c - a question about an investigation that has ended.
 *
 * Each question is a run of its own below that of the investigation, by what is asked and after how
 * many others; the answers before it are part of what the next one knows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"
#include "base/json.h"
#include "base/sha256.h"

#define QUESTION_MAX 20000
#define TALK_MAX 200 /* questions about one investigation */

struct follow_up {
    struct incident in;
    struct arena *arena;
    str report;
    str said; /* questions and answers so far */
    size_t count;
};

static str incident_chat_member(struct follow_up *t, str json, const char *key)
{
    struct json doc;
    struct err e;
    str text = STR("");

    json_init(&doc);
    if (json_parse(&doc, json, &e) &&
        json_text(&doc, json_find(&doc, json_root(&doc), str_c(key)), t->arena, &text))
        text = arena_dup(t->arena, text);
    json_release(&doc);
    return text;
}

static str incident_chat_run_of(struct follow_up *t, size_t n)
{
    return arena_printf(t->arena, STR_FMT "/chat/%zu", STR_ARG(t->in.o->run), n);
}

/* What was asked and answered before. */
static bool read_talk(struct follow_up *t, struct err *e)
{
    struct agent_row row;

    t->said = STR("");
    while (t->count < TALK_MAX &&
           agent_log_run_get(
               t->in.o->host->log, incident_chat_run_of(t, t->count + 1), t->arena, &row, e)) {
        if (str_eq(row.status, STR("running")))
            return true; /* cut off: asked again under the same name */
        t->count++;
        if (!str_eq(row.status, STR("done")))
            continue; /* nobody could answer it */
        t->said = arena_printf(t->arena,
                               STR_FMT "Question: " STR_FMT "\nAnswer: " STR_FMT "\n\n",
                               STR_ARG(t->said),
                               STR_ARG(incident_chat_member(t, row.input, "question")),
                               STR_ARG(incident_chat_member(t, row.result, "text")));
    }
    return t->count < TALK_MAX ? e->code == ERR_NOT_FOUND
                               : err_set(e, ERR_LIMIT, "there were %d questions already", TALK_MAX);
}

static bool incident_chat_ask(struct follow_up *t, str question, str *answer, struct err *e)
{
    struct agent_options o = incident_agent_options(&t->in, incident_chat_run_of(t, t->count + 1));
    struct agent_prompt prompt = {
        .system = STR(""), .extra = STR(INCIDENT_EXTRA), .level = STR("")};
    struct agent_result result;
    struct agent_work *w;
    struct ask_reply reply;
    struct buf user, input;
    bool ok, asked = false;

    buf_init(&user, INCIDENT_TEXT_MAX);
    buf_init(&input, INCIDENT_TEXT_MAX);
    buf_add(&input, STR("{\"question\":"));
    (void)json_quote(&input, question);
    buf_add_c(&input, '}');
    prompt_chat(&t->in, t->report, t->said, question, &user);
    prompt.user = buf_str(&user);
    o.app = STR("incidents.chat");
    o.title = question;
    o.input = buf_str(&input);
    ok = agent_work_begin(&o, t->arena, &result, &w, e);
    if (ok) {
        asked = agent_work_answer(w, &prompt, &reply);
        if (asked) {
            result.end = AGENT_FINISHED;
            result.text = str_trim(reply.text);
        }
        ok = agent_work_end(w, STR(""), e);
    }
    if (ok && !asked)
        ok = err_set(e,
                     str_eq(result.reason, STR("rate_limit_exceeded")) ? ERR_LIMIT : ERR_UPSTREAM,
                     "the model could not be asked: " STR_FMT,
                     STR_ARG(result.detail));
    if (ok)
        *answer = result.text.n ? result.text : STR("The model gave no answer to this question.");
    buf_release(&user);
    buf_release(&input);
    return ok;
}

/* The alert's id is chance and says nothing: the same is to be asked about the same alert. */
static str without_id(struct follow_up *t, str report)
{
    size_t from = str_find(report, STR("| Alert | ")), to;
    str rest;

    if (from == STR_NONE)
        return report;
    rest = str_slice(report, from, report.n);
    to = str_find(rest, STR("\n"));
    return arena_join(t->arena,
                      str_slice(report, 0, from),
                      to == STR_NONE ? STR("") : str_slice(rest, to + 1, rest.n),
                      STR(""));
}

static bool incident_chat_read_run(struct follow_up *t, const struct incident_options *o,
                                   struct incident_options *told, struct err *e)
{
    struct agent_row row;

    if (!o->host->log)
        return err_set(e, ERR_INPUT, "without a store there is no history to ask about");
    if (!agent_log_run_get(o->host->log, o->run, t->arena, &row, e))
        return false;
    if (str_eq(row.status, STR("running")))
        return err_set(e, ERR_INPUT, "the investigation still runs");
    t->report = without_id(t, incident_chat_member(t, row.result, "report"));
    if (!incident_input_read(row.input, t->arena, told, e))
        return false;
    told->host = o->host;
    told->setup = o->setup;
    told->key = o->key;
    told->ask = o->ask;
    told->cancel = o->cancel;
    told->on_effect = o->on_effect;
    told->ctx = o->ctx;
    told->model = o->model.n ? o->model : told->model;
    if (!told->default_model.n)
        told->default_model = o->default_model;
    return true;
}

bool incident_chat(const struct incident_options *o, str question, struct arena *a, str *answer,
                   struct err *e)
{
    struct incident_options told;
    struct follow_up t = {.arena = a};
    bool ok;

    question = str_trim(question);
    if (!question.n || question.n > QUESTION_MAX)
        return err_set(e, ERR_INPUT, "a question has 1 to %d bytes", QUESTION_MAX);
    if (!incident_chat_read_run(&t, o, &told, e) || !incident_prepare(&t.in, &told, a, e))
        return false;
    incident_watch(&t.in);
    t.in.runbook = told.runbook_text;
    t.in.runbook_note = STR("");
    ok = read_talk(&t, e) && incident_chat_ask(&t, question, answer, e);
    incident_unwatch(&t.in);
    return ok;
}
