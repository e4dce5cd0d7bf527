/* chat.c - a question about an investigation that has ended.
 *
 * Each question is a run of its own below that of the investigation, RUN/chat/N: a loop with the
 * tools that the agents of the chain have, under the limits and approvals of the agent of the last
 * stage. The questions and answers before it are part of its prompt.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_json.h"
#include "apps/incidents/engine.h"
#include "base/json_get.h"

#define QUESTION_MAX 20000
#define TALK_MAX 200   /* questions about one investigation */
#define ACTIVE_MAX 256 /* questions that are being answered in this process */
#define SETTLE_ARENA ((size_t)256 << 20)
#define CHAT_ROW_ARENA ((size_t)512 << 20) /* of one earlier question and its answer */
#define INTERRUPTED "interrupted"

struct follow_up {
    struct incident in;
    struct arena *arena;
    str question; /* masked */
    str run;
    str input, report; /* of the investigation's run */
    str tools;         /* of the investigation's servers, as its log has them; or "" */
    str said;          /* questions and answers so far */
    size_t count;
};

/* ---- the questions that are being answered ---- */

static pthread_mutex_t chat_lock = PTHREAD_MUTEX_INITIALIZER;
static struct follow_up *chat_active[ACTIVE_MAX];

static bool chat_enter(struct follow_up *t, struct err *e)
{
    struct follow_up **place = NULL;
    bool busy = false;

    assert(t->in.o->run.n > 0 && !t->run.n);
    pthread_mutex_lock(&chat_lock);
    for (size_t i = 0; i < ACTIVE_MAX; i++) {
        if (!chat_active[i])
            place = &chat_active[i];
        else
            busy |= str_eq(chat_active[i]->in.o->run, t->in.o->run);
    }
    if (place && !busy)
        *place = t;
    pthread_mutex_unlock(&chat_lock);
    if (busy)
        return err_set(e,
                       ERR_CONFLICT,
                       "another question about this investigation is being answered: wait for its "
                       "answer, or cancel it");
    return place || err_set(e, ERR_LIMIT, "%d questions are being answered: try later", ACTIVE_MAX);
}

static void chat_leave(const struct follow_up *t)
{
    pthread_mutex_lock(&chat_lock);
    for (size_t i = 0; i < ACTIVE_MAX; i++)
        if (chat_active[i] == t)
            chat_active[i] = NULL;
    pthread_mutex_unlock(&chat_lock);
}

bool incident_chat_cancel(str run)
{
    bool found = false;

    pthread_mutex_lock(&chat_lock);
    for (size_t i = 0; i < ACTIVE_MAX; i++)
        if (chat_active[i] && str_eq(chat_active[i]->run, run)) {
            atomic_store(&chat_active[i]->in.stop, true);
            found = true;
        }
    pthread_mutex_unlock(&chat_lock);
    return found;
}

/* ---- the record ---- */

static bool chat_is_interrupted(const struct agent_row *row)
{
    return str_eq(row->status, STR("cancelled")) && str_eq(row->reason, STR(INTERRUPTED));
}

/* Neither answered nor given up. */
static bool chat_is_open(const struct agent_row *row)
{
    return str_is_one_of(row->status, "running waiting") || chat_is_interrupted(row);
}

static bool chat_is_answered(const struct agent_row *row)
{
    return str_eq(row->status, STR("done")) || str_eq(row->status, STR("stopped"));
}

bool incident_chat_settle(struct agent_log *log, int64_t now_us, struct err *e)
{
    struct agent_row *rows;
    struct arena a;
    size_t n = 0;
    bool ok;

    arena_init(&a, SETTLE_ARENA);
    ok = agent_log_unfinished(log, STR("incidents.chat"), &a, &rows, &n, e);
    for (size_t i = 0; ok && i < n; i++) {
        rows[i].from = rows[i].status;
        rows[i].status = STR("cancelled");
        rows[i].reason = STR(INTERRUPTED);
        rows[i].updated_us = now_us;
        ok = agent_log_run_put(log, &rows[i], e);
    }
    arena_release(&a);
    return ok;
}

static str chat_error_of(const struct agent_row *row, struct arena *a)
{
    str detail = json_copy_member(row->result, "detail", a);

    if (chat_is_interrupted(row))
        return STR("the daemon ended before it was answered: ask the same again to continue");
    if (str_eq(row->status, STR("cancelled")))
        return STR("it was cancelled");
    return str_eq(row->status, STR("failed")) ? (detail.n ? detail : row->reason) : STR("");
}

static void chat_write_question(struct json_out *o, const struct agent_row *row)
{
    struct arena a; /* the texts of a row are freed before the next */

    assert(str_eq(row->app, STR("incidents.chat")));
    arena_init(&a, CHAT_ROW_ARENA);
    json_out_object(o);
    json_member_str(o, "run_id", row->id);
    json_member_str(o, "question", json_copy_member(row->input, "question", &a));
    json_member_str(o, "status", row->status);
    json_member_str_or_null(
        o, "answer", chat_is_answered(row) ? json_copy_member(row->result, "text", &a) : STR(""));
    json_member_str_or_null(o, "error", chat_error_of(row, &a));
    json_member_i64(o, "asked_at_us", row->created_us);
    json_member_i64(o, "updated_at_us", row->updated_us);
    json_out_end(o);
    arena_release(&a);
}

bool incident_chat_list(struct agent_log *log, str run, str session, struct arena *a,
                        struct json_out *o, struct err *e)
{
    struct agent_rows parts = {.n = 0};

    if (log && !agent_log_parts(log, run, session, a, &parts, e))
        return false;
    json_member_array(o, "questions");
    for (size_t i = 0; i < parts.n; i++)
        if (str_eq(parts.at[i].app, STR("incidents.chat")))
            chat_write_question(o, &parts.at[i]);
    json_out_end(o);
    return true;
}

static str incident_chat_run_of(struct follow_up *t, size_t n)
{
    return arena_printf(t->arena, STR_FMT "/chat/%zu", STR_ARG(t->in.o->run), n);
}

/* Whether an unanswered run belongs to this question, so that it can be resumed. */
static bool chat_continues(struct follow_up *t, const struct agent_row *row, struct err *e)
{
    if (str_eq(json_copy_member(row->input, "question", t->arena), t->question))
        return true;
    if (str_eq(row->status, STR("waiting")))
        return err_set(
            e,
            ERR_CONFLICT,
            "the question before this one waits for approval of a call: answer or cancel "
            "the run " STR_FMT " first",
            STR_ARG(row->id));
    e->code = ERR_NONE;
    return false; /* interrupted, and not asked again */
}

/* Undoes incident_chat_settle for a question that is asked again. */
static bool chat_reopen(struct follow_up *t, struct agent_row row, struct err *e)
{
    assert(chat_is_open(&row));
    if (!chat_is_interrupted(&row))
        return true;
    row.status = STR("running");
    row.reason = STR("");
    return agent_log_run_put(t->in.o->host->log, &row, e);
}

/* From here on incident_chat_cancel finds the question. */
static bool chat_set_run(struct follow_up *t, str run)
{
    assert(run.n > 0 && !t->run.n);
    pthread_mutex_lock(&chat_lock);
    t->run = run;
    pthread_mutex_unlock(&chat_lock);
    return true;
}

/* Reads one earlier run. *last: it is the run of this question, or there is an error. */
static bool chat_read_question(struct follow_up *t, str run, struct buf *said, bool *last,
                               struct err *e)
{
    struct agent_row row;
    struct arena a;
    bool ok = true;

    *last = true;
    arena_init(&a, CHAT_ROW_ARENA);
    if (!agent_log_run_get(t->in.o->host->log, run, &a, &row, e)) {
        ok = e->code == ERR_NOT_FOUND && chat_set_run(t, run);
    } else if (!chat_is_open(&row)) {
        *last = false;
    } else if (chat_continues(t, &row, e)) {
        ok = chat_reopen(t, row, e) && chat_set_run(t, run);
    } else {
        ok = e->code == ERR_NONE;
        *last = !ok;
    }
    if (ok && !*last && chat_is_answered(&row))
        buf_printf(said,
                   "Question: " STR_FMT "\nAnswer: " STR_FMT "\n\n",
                   STR_ARG(json_copy_member(row.input, "question", &a)),
                   STR_ARG(json_copy_member(row.result, "text", &a)));
    assert(!ok || *last == (t->run.n > 0));
    arena_release(&a);
    return ok;
}

/* Reads earlier questions and answers, and the run of this question. */
static bool incident_chat_read_earlier(struct follow_up *t, struct err *e)
{
    bool ok = true, last = false;
    struct buf said;

    assert(t->count == 0);
    buf_init(&said, INCIDENT_TEXT_MAX);
    for (; t->count < TALK_MAX && !last; t->count += !last)
        ok = chat_read_question(t, incident_chat_run_of(t, t->count + 1), &said, &last, e);
    assert(t->count <= TALK_MAX);
    t->said = arena_move_buf(t->arena, &said);
    return last ? ok : err_set(e, ERR_LIMIT, "there were %d questions already", TALK_MAX);
}

/* Leaves out the alert's id, which is random, so that requests about the same alert are equal. */
static str chat_without_id(struct follow_up *t, str report)
{
    size_t from = str_find(report, STR("| Alert | "));
    str rest = str_slice(report, from, report.n);

    if (from == STR_NONE)
        return report;
    (void)str_cut(&rest, '\n');
    return arena_join(t->arena, str_slice(report, 0, from), rest, STR(""));
}

/* The tools that the investigation found: the same ones after a restart. */
static bool chat_read_tools(struct follow_up *t, const struct incident_options *o, struct err *e)
{
    struct agent_effect *all;
    size_t n;

    t->tools = STR("");
    if (!agent_log_read(o->host->log, o->run, t->arena, &all, &n, e))
        return false;
    for (size_t i = 0; i < n; i++)
        if (str_eq(all[i].kind, STR("note")) && str_eq(all[i].name, STR("tools")) &&
            all[i].state == AGENT_DONE && !all[i].failed)
            t->tools = all[i].result;
    return true;
}

static bool incident_chat_read_run(struct follow_up *t, const struct incident_options *o,
                                   struct incident_options *stored, struct err *e)
{
    struct agent_row row;

    if (!o->host->log)
        return err_input(e, "without a store there is no history to ask about");
    if (!agent_log_run_get(o->host->log, o->run, t->arena, &row, e))
        return false;
    if (str_eq(row.status, STR("running")))
        return err_input(e, "the investigation still runs");
    t->input = row.input;
    t->report = chat_without_id(t, json_copy_member(row.result, "report", t->arena));
    if (!chat_read_tools(t, o, e) || !incident_input_read(row.input, t->arena, stored, e))
        return false;
    stored->host = o->host;
    stored->setup = o->setup;
    stored->key = o->key;
    stored->ask = o->ask;
    stored->cancel = o->cancel;
    stored->on_effect = o->on_effect;
    stored->server_argv = o->server_argv;
    stored->ctx = o->ctx;
    stored->model = o->model.n ? o->model : stored->model;
    if (!stored->default_model.n)
        stored->default_model = o->default_model;
    return true;
}

/* ---- asking ---- */

static bool chat_pending(struct follow_up *t, struct incident_answer *out, struct err *e)
{
    struct agent_effect f;
    struct json_out o;
    struct buf text;

    if (!agent_log_question(t->in.o->host->log, t->run, t->arena, &f, e))
        return false;
    buf_init(&text, INCIDENT_TEXT_MAX);
    json_out_init(&o, &text);
    run_json_question(&o, &f, false);
    json_out_end(&o);
    out->waiting = true;
    out->pending = arena_move_buf(t->arena, &text);
    return true;
}

static bool chat_result(struct follow_up *t, const struct agent_team *p,
                        struct incident_answer *out, struct err *e)
{
    const struct agent_result *r = &p->result;

    assert(!out->waiting && !out->text.n);
    if (p->broken) {
        *e = p->err;
        return false;
    }
    if (r->end == AGENT_WAITING)
        return chat_pending(t, out, e);
    if (r->end == AGENT_CANCELLED)
        return err_set(e, ERR_CONFLICT, "the question was cancelled before it was answered");
    if (r->end == AGENT_FAILED)
        return err_set(e,
                       str_eq(r->reason, STR("rate_limit_exceeded")) ? ERR_LIMIT : ERR_UPSTREAM,
                       "the question could not be answered: " STR_FMT,
                       STR_ARG(r->detail));
    out->text = r->text.n ? arena_dup(t->arena, str_trim(r->text))
                          : STR("The model gave no answer to this question.");
    return true;
}

/* The agent of the last stage, with the tools of all agents of the chain. */
static struct incident_agent chat_agent(const struct follow_up *t)
{
    const struct incident_chain *c = t->in.chain;
    const struct config_stage *last = &c->stages[c->stage_count - 1];
    struct incident_agent agent;

    assert(c->stage_count > 0 && last->agent_count > 0);
    assert(last->agents[0] < t->in.o->setup->agent_count);
    agent = t->in.o->setup->agents[last->agents[0]];
    agent.def = c->def;
    return agent;
}

static void chat_loop(struct follow_up *t, struct agent_team *p)
{
    struct agent_options o = agent_team_options(p);
    struct buf user, input;

    buf_init(&user, INCIDENT_TEXT_MAX);
    buf_init(&input, INCIDENT_TEXT_MAX);
    prompt_chat(p, t->report, t->said, t->question, &user);
    buf_add(&input, STR("{\"question\":"));
    (void)json_quote(&input, t->question);
    buf_add_c(&input, '}');
    o.app = STR("incidents.chat");
    o.title = t->question;
    o.input = buf_str(&input);
    if (!toolbox_count(p->tools->box))
        p->strategy = INCIDENT_NATIVE;
    agent_team_loop(p, &o, prompt_system(p), buf_str(&user));
    buf_release(&user);
    buf_release(&input);
}

static bool chat_ask(struct follow_up *t, struct incident_answer *out, struct err *e)
{
    static const struct config_stage stage = {.name = STR_INIT("chat"), .agent_count = 1};
    struct incident_agent agent;
    struct agent_team p;
    bool ok;

    servers_open(&t->in);
    t->in.listed = t->tools.n ? t->tools : t->in.listed;
    agent = chat_agent(t);
    agent_team_init(&p, &t->in, &stage, &agent, agent.name);
    p.run = t->run;
    if (agent_team_open_tools(&p, e))
        chat_loop(t, &p);
    ok = chat_result(t, &p, out, e);
    agent_team_close_tools(&p);
    arena_release(&p.arena);
    agents_servers_free(t->in.servers);
    return ok;
}

bool incident_chat(const struct incident_options *o, str question, struct arena *a,
                   struct incident_answer *out, struct err *e)
{
    struct incident_options stored;
    struct follow_up t = {.arena = a, .run = STR("")};
    bool ok;

    *out = (struct incident_answer){.text = STR(""), .pending = STR("")};
    t.question = str_trim(question);
    if (!t.question.n || t.question.n > QUESTION_MAX)
        return err_input(e, "a question has 1 to %d bytes", QUESTION_MAX);
    if (!incident_chat_read_run(&t, o, &stored, e) || !incident_prepare(&t.in, &stored, a, e))
        return false;
    t.question = mask_json_kept(t.in.mask, t.question, a);
    incident_watch(&t.in);
    t.in.runbook = stored.runbook_text;
    t.in.runbook_note = STR("");
    ok = version_choose(&t.in, t.input, e) && chat_enter(&t, e);
    if (ok) {
        ok = incident_chat_read_earlier(&t, e) && chat_ask(&t, out, e);
        chat_leave(&t);
    }
    out->run = t.run;
    out->question = t.question;
    incident_unwatch(&t.in);
    return ok;
}
