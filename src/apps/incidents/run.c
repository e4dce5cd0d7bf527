/* run.c - runs an investigation, from its options to its report.
 *
 * The log of the investigation's own run has the facts that were found out once (the runbook, the
 * tools), and the summary. Each agent has a run of its own below it, RUN/STAGE/AGENT. Called again
 * after a crash, all of them repeat their logged steps and continue.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/mcp_tools.h"
#include "apps/incidents/engine.h"
#include "store/step.h"

#define LOOK_MS 20
#define SOFT(ms)                                                                                   \
    ((ms) / 4 * 3)    /* of the time: then agents conclude, and there is time left for it */
#define GRACE_MS 5000 /* after it: a caller that waits may end the run itself */

/* ---- watching ---- */

static void *incident_run_watch(void *arg)
{
    struct incident *in = arg;
    const _Atomic bool *leave = in->o->host->leave;
    uint64_t due = clock_deadline_ns(&clock_real, (int64_t)(in->timeout_ms + GRACE_MS));

    while (!atomic_load(&in->ending)) {
        struct timespec t = {0, LOOK_MS * 1000000L};

        if ((in->o->cancel && atomic_load(in->o->cancel)) || (leave && atomic_load(leave)))
            atomic_store(&in->stop, true);
        if (clock_mono_ns(&clock_real) >= due && !atomic_load(&in->stop)) {
            atomic_store(&in->overdue, true);
            atomic_store(&in->stop, true);
        }
        (void)nanosleep(&t, NULL);
    }
    return NULL;
}

void incident_watch(struct incident *in)
{
    pthread_mutex_init(&in->lock, NULL);
    in->watched = pthread_create(&in->watcher, NULL, incident_run_watch, in) == 0;
}

void incident_unwatch(struct incident *in)
{
    assert(!atomic_load(&in->ending));
    atomic_store(&in->ending, true);
    if (in->watched)
        pthread_join(in->watcher, NULL);
    pthread_mutex_destroy(&in->lock);
    setup_release(in->held);
}

/* ---- telling ---- */

void incident_report_progress(struct incident *in, int percent, str step, str agent)
{
    assert(percent >= 0 && percent <= 100);
    pthread_mutex_lock(&in->lock);
    in->percent = percent > in->percent ? percent : in->percent;
    if (in->o->on_progress)
        in->o->on_progress(in->o->ctx, &(struct incident_progress){in->percent, step, agent});
    pthread_mutex_unlock(&in->lock);
}

/* How far the stages are: from 15 to 90 percent, each stage with an equal part. */
static int incident_stages_percent(const struct incident *in)
{
    size_t n = in->chain->stage_count;

    assert(n > 0 && in->stage < n);
    return (int)(15 + 75 * (1000 * in->stage + in->stage_done) / (1000 * n));
}

void incident_report_stage(struct incident *in, size_t stage)
{
    const struct incident_chain *c = in->chain;

    assert(stage < c->stage_count);
    in->stage = stage;
    in->stage_done = 0;
    incident_report_progress(
        in,
        incident_stages_percent(in),
        step_write(in->arena, c->stages[stage].name, c->name, STR("begin the stage")),
        c->name);
}

void agent_team_report_progress(struct agent_team *p, str what, unsigned n, unsigned max)
{
    struct incident *in = p->in;
    unsigned done = max ? 1000 * (n < max ? n : max) / (max + 1) : 0;
    int percent;

    assert(p->stage->agent_count > 0);
    pthread_mutex_lock(&in->lock);
    if (done > p->done) {
        in->stage_done += (done - p->done) / (unsigned)p->stage->agent_count;
        p->done = done;
    }
    percent = incident_stages_percent(in);
    pthread_mutex_unlock(&in->lock);
    incident_report_progress(
        in, percent, step_write(&p->arena, p->stage->name, p->label, what), p->label);
}

void incident_step(struct incident *in, const struct incident_step *s)
{
    if (!in->o->on_step)
        return;
    pthread_mutex_lock(&in->lock);
    in->o->on_step(in->o->ctx, s);
    pthread_mutex_unlock(&in->lock);
}

static void incident_run_on_effect(void *ctx, const struct agent_effect *f)
{
    struct incident *in = ctx;

    if (in->o->on_effect)
        in->o->on_effect(in->o->ctx, f);
}

struct agent_options incident_agent_options(struct incident *in, str run)
{
    return (struct agent_options){.run = run,
                                  .app = STR("incidents.agent"),
                                  .session = in->session,
                                  .agent = in->chain->name,
                                  .title = in->title,
                                  .key = in->o->key,
                                  .input = STR("{}"),
                                  .model_name = in->model,
                                  .level = STR(""),
                                  .system = STR(""),
                                  .user = STR(""),
                                  .messages = STR(""),
                                  .extra = STR(INCIDENT_EXTRA),
                                  .ask = in->ask,
                                  .limits = {.tokens = -1},
                                  .part = true,
                                  .keep_reasoning = in->config->keep == CONFIG_KEEP_TEXT,
                                  .log = in->o->host->log,
                                  .mask = in->mask,
                                  .store = in->o->host->gateway->store,
                                  .hub = in->o->host->gateway->hub,
                                  .clock = in->o->host->clock,
                                  .cancel = &in->stop,
                                  .leave = in->o->host->leave,
                                  .on_effect = incident_run_on_effect,
                                  .ctx = in};
}

/* ---- determined once per run ---- */

/* Used if the runbook is missing. */
static const char usual_steps[] =
    "# What is looked at where there is no runbook\n\n"
    "1. The state of what the alert is about: is it there, does it run, since when not?\n"
    "2. Its last log lines and events before the alert.\n"
    "3. What was deployed or configured shortly before.\n"
    "4. What it depends on: names, addresses, storage, credentials that ran out.\n"
    "5. Whether something is full: memory, disk, connections, quotas.\n";

struct fetching {
    struct incident *in;
    struct runbook_source source;
};

static bool incident_run_fetch_runbook(void *ctx, struct buf *out, struct err *e)
{
    struct fetching *f = ctx;
    struct buf text;
    bool ok;

    if (str_find(f->source.name, STR("[MASKED:")) != STR_NONE)
        return err_set(e,
                       ERR_AUTH,
                       "its address had credentials, which are not stored: the daemon that took "
                       "the alert was restarted before it fetched the runbook");
    buf_init(&text, INCIDENT_TEXT_MAX);
    ok = runbook_read(&f->source, &text, e);
    if (ok)
        buf_add(out, mask_json_kept(f->in->mask, buf_str(&text), f->in->arena));
    else
        mcp_mask_error(f->in->mask, e); /* it may contain the address */
    buf_release(&text);
    return ok;
}

static bool incident_run_find_runbook(struct incident *in, struct agent_work *w)
{
    const struct incident_options *o = in->o;
    str ca = in->config->ca_file;
    struct fetching f = {.in = in,
                         .source = {.folder = o->setup->runbooks,
                                    .name = in->runbook_address,
                                    .domains = in->config->incidents.domains,
                                    .domain_count = in->config->incidents.domain_count,
                                    .ca_file = ca.n ? ca.p : NULL}};
    struct agent_done done;

    in->runbook = o->runbook_text;
    in->runbook_note = STR("");
    if (in->runbook.n)
        return true;
    if (!o->alert.runbook.n) {
        in->runbook_note = STR("There is none for this alert; this is what is usually looked at.");
        in->runbook = str_c(usual_steps);
        return true;
    }
    incident_report_progress(in, 5, STR("Fetching the runbook"), in->chain->name);
    if (!agent_work_once(
            w, STR("runbook"), o->alert.runbook, incident_run_fetch_runbook, &f, &done))
        return false;
    in->runbook = done.ok ? done.result : str_c(usual_steps);
    if (done.ok)
        return true;
    log_warn("an alert's runbook cannot be read; the usual steps are used",
             LOG_STR("alert", o->alert.id),
             LOG_STR("why", done.result));
    in->runbook_note =
        arena_printf(in->arena,
                     "It could not be had (" STR_FMT "); this is what is usually looked at.",
                     STR_ARG(done.result));
    return true;
}

static bool incident_run_find_tools(struct incident *in, struct agent_work *w)
{
    struct agent_done done;

    incident_report_progress(in, 10, STR("Asking the servers for their tools"), in->chain->name);
    if (!agent_work_once(w, STR("tools"), STR(""), servers_list, in, &done))
        return false;
    if (done.ok && done.result.n)
        in->listed = done.result;
    return true;
}

/* ---- stages ---- */

struct course {
    struct agent_work *work;
    struct agent_result own; /* of the work itself, without its stages */
    int64_t started_us;
    struct stage_result stages[CONFIG_STAGES_MAX];
    size_t n;
    bool ok, broken, waiting;
    struct err err;
};

static str incident_run_so_far(struct incident *in, const struct course *c)
{
    str all = STR("");

    assert(c->n <= in->chain->stage_count);
    for (size_t i = 0; i < c->n; i++)
        all = arena_printf(in->arena,
                           STR_FMT "%s# " STR_FMT "\n\n" STR_FMT,
                           STR_ARG(all),
                           i ? "\n\n" : "",
                           STR_ARG(in->chain->stages[i].name),
                           STR_ARG(c->stages[i].result.text));
    return all;
}

static void incident_run_stages(struct incident *in, struct course *c, struct incident_report *out)
{
    size_t n = in->chain->stage_count;

    assert(n <= CONFIG_STAGES_MAX && c->n == 0);
    c->ok = true;
    for (size_t i = 0; i < n && c->ok; i++) {
        str earlier = incident_run_so_far(in, c);
        struct stage_result *r = &c->stages[i];

        incident_report_stage(in, i);
        stage_run(in, i, earlier, r);
        c->n++;
        c->broken = r->broken;
        c->ok = !r->broken && r->result.end == AGENT_FINISHED;
        c->waiting = !r->broken && r->result.end == AGENT_WAITING;
        if (c->ok) {
            out->final_analysis = r->result.text;
        } else {
            c->err = r->err;
            out->reason = r->result.reason;
            out->error = arena_printf(in->arena,
                                      "stage " STR_FMT ": " STR_FMT,
                                      STR_ARG(in->chain->stages[i].name),
                                      STR_ARG(r->result.detail));
        }
    }
}

static bool incident_run_summarize(struct incident *in, struct agent_work *w,
                                   struct incident_report *out)
{
    struct agent_prompt prompt = {.system = STR(""),
                                  .extra = STR(INCIDENT_EXTRA),
                                  .level = STR(""),
                                  .quiet = true,
                                  .what = STR("summarise for executives")};
    struct ask_reply reply;
    struct buf user;
    bool ok;

    if (!in->chain->summary)
        return true;
    incident_report_progress(in, 92, STR("Summarising"), in->chain->name);
    buf_init(&user, INCIDENT_TEXT_MAX);
    prompt_summary(in, out->final_analysis, &user);
    prompt.system = arena_join(in->arena, in->role, STR("\n"), STR(""));
    prompt.user = buf_str(&user);
    ok = agent_work_answer(w, &prompt, &reply);
    if (ok) {
        out->summary = str_trim(reply.text);
        incident_step(in,
                      &(struct incident_step){.stage = STR("summary"),
                                              .agent = in->chain->name,
                                              .action = STR("summary"),
                                              .reason = STR(""),
                                              .reasoning = reply.reasoning,
                                              .observation = out->summary,
                                              .ok = true});
    }
    buf_release(&user);
    return ok;
}

/* ---- the end ---- */

static void incident_run_sum_up(struct incident *in, const struct course *c,
                                struct incident_report *out)
{
    struct agent_result used = c->own;
    struct json_text tools;

    json_text_begin_array(&tools, INCIDENT_TEXT_MAX);
    for (size_t i = 0; i < c->n; i++) {
        const struct stage_result *s = &c->stages[i];

        agent_result_add_usage(&used, &s->result);
        for (size_t j = 0; j < s->agent_team_count; j++)
            for (size_t k = 0; k < s->parties[j].point_count; k++)
                json_out_str(&tools.o, s->parties[j].points[k].tool);
    }
    out->model_calls = used.model_calls;
    out->tool_calls = used.tool_calls;
    out->input_tokens = used.input_tokens;
    out->output_tokens = used.output_tokens;
    out->reasoning_tokens = used.reasoning_tokens;
    out->tools = json_text_end(&tools, in->arena, STR("[]"));
}

static void incident_run_decide_end(struct incident *in, const struct course *c,
                                    struct incident_report *out)
{
    const _Atomic bool *leave = in->o->host->leave;
    bool stopped = atomic_load(&in->stop) && !c->ok;

    stopped |= c->own.end == AGENT_CANCELLED;
    if (stopped && atomic_load(&in->overdue)) {
        out->end = INCIDENT_FAILED;
        out->reason = STR("time_limit_exceeded");
        out->error = STR("the investigation took too long and was cut off");
    } else if (stopped && leave && atomic_load(leave)) {
        out->end = INCIDENT_LEFT;
        out->reason = STR("left");
    } else if (!stopped && c->waiting) {
        out->end = INCIDENT_WAITING;
        out->reason = STR("approval_needed");
    } else if (stopped) {
        out->end = INCIDENT_CANCELLED;
        out->reason = STR("cancelled");
        out->error = STR("the investigation was cancelled");
    } else {
        out->end = c->ok ? INCIDENT_COMPLETED : INCIDENT_FAILED;
    }
}

static bool incident_run_finish(struct incident *in, struct course *c, struct incident_report *out,
                                struct err *e)
{
    static const enum agent_end ends[] = {
        AGENT_FINISHED, AGENT_FAILED, AGENT_CANCELLED, AGENT_CANCELLED, AGENT_CANCELLED};
    bool goes_on;
    struct buf stages;
    struct err ignored;

    assert(c->n <= in->chain->stage_count);
    incident_run_decide_end(in, c, out);
    incident_run_sum_up(in, c, out);
    out->duration_ms = clock_wall_ms(in->o->host->clock) - c->started_us / 1000;
    report_write(in, c->stages, c->n, out);
    buf_init(&stages, INCIDENT_TEXT_MAX);
    if (in->o->host->log &&
        incident_stages(
            in->o->setup, in->o->host->log, in->o->run, in->o->alert.alert_type, &stages, &ignored))
        out->stages = arena_move_buf(in->arena, &stages);
    c->own.end = ends[out->end];
    assert((size_t)out->end < COUNT_OF(ends));
    goes_on = out->end == INCIDENT_LEFT || out->end == INCIDENT_WAITING;
    c->own.reason = goes_on ? STR("left") : out->reason; /* the row then stays unchanged */
    c->own.detail = out->error;
    c->own.text = out->final_analysis;
    if (!agent_work_end(c->work, record_result(in, out), e) && !record_astray(in, out, e))
        return false;
    if (!goes_on) {
        record_session(
            in, out->end == INCIDENT_COMPLETED ? "completed" : "failed", out, c->started_us);
        incident_report_progress(in, 100, STR("Done"), in->chain->name);
    }
    return true;
}

/* ---- the whole ---- */

static bool incident_run_prepare(struct incident *in, const struct incident_options *o,
                                 struct err *e)
{
    const struct config *c = in->config;
    str *const texts[] = {&in->masked.alert.data,
                          &in->masked.alert.severity,
                          &in->masked.alert.environment,
                          &in->masked.alert.runbook,
                          &in->masked.runbook_text};

    in->o = &in->masked;
    in->mask = in->held->mask;
    in->runbook_address = o->runbook_address.n ? o->runbook_address : o->alert.runbook;
    in->masked.runbook_address = STR("");
    /* The alert is stored masked, and prompts use the masked text: a resumed run asks the same. */
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = mask_json_kept(in->mask, *texts[i], in->arena);
    in->chain = setup_chain(o->setup, o->alert.alert_type);
    if (!in->chain)
        return err_input(e,
                         "no agent takes alerts of type \"" STR_FMT "\"",
                         STR_ARG(str_slice(o->alert.alert_type, 0, 80)));
    if (!o->run.n || !o->host || (!o->host->gl && !o->ask.ask))
        return err_input(e, "an investigation needs a run and someone to ask");
    if (!app_model(c,
                   o->model.n           ? o->model
                   : o->default_model.n ? o->default_model
                                        : c->incidents.model,
                   &in->model,
                   e))
        return false;
    in->masked.default_model = in->model; /* for the whole run; a later reload does not change it */
    in->session = o->session.n ? o->session : o->run;
    in->title = record_title(&in->masked.alert, in->arena);
    in->ask = o->ask.ask ? o->ask : agent_ask_gateway(o->host->gl);
    in->timeout_ms = c->incidents.timeout_ms ? c->incidents.timeout_ms : 600000;
    in->soft_ns = clock_deadline_ns(&clock_real, (int64_t)SOFT(in->timeout_ms));
    return true;
}

bool incident_prepare(struct incident *in, const struct incident_options *o, struct arena *a,
                      struct err *e)
{
    struct setup *held = gateway_setup(o->host->gateway);

    *in = (struct incident){.masked = *o, .held = held, .config = held->config, .arena = a};
    if (incident_run_prepare(in, o, e))
        return true;
    setup_release(held);
    return false;
}

static bool incident_run_investigate(struct incident *in, struct incident_report *out,
                                     struct err *e)
{
    struct agent_options options = incident_agent_options(in, in->o->run);
    struct course *c = arena_zero(in->arena, 1, sizeof *c);
    struct buf input;
    struct agent_row row = {.input = STR("")};
    bool ok;

    c->started_us = clock_wall_ms(in->o->host->clock) * 1000;
    if (in->o->host->log && agent_log_run_get(in->o->host->log, in->o->run, in->arena, &row, e))
        c->started_us = row.created_us;
    else if (in->o->host->log && e->code != ERR_NOT_FOUND)
        return false;
    if (!version_choose(in, row.input, e))
        return false;
    out->prompt_id = in->o->prompt_id;
    buf_init(&input, INCIDENT_INPUT_MAX);
    incident_input_write(in->o, &input);
    /* No other process could resume a run on recordings. */
    options.app = in->o->server_argv ? STR("incidents.eval") : STR("incidents");
    options.input = buf_str(&input);
    ok = agent_work_begin(&options, in->arena, &c->own, &c->work, e);
    if (ok) {
        record_session(in, "in_progress", NULL, c->started_us);
        if (incident_run_find_runbook(in, c->work) && incident_run_find_tools(in, c->work))
            incident_run_stages(in, c, out);
        if (c->ok && !incident_run_summarize(in, c->work, out) && c->own.end != AGENT_CANCELLED)
            out->summary = STR(""); /* the report is written without it */
        if (c->broken) {
            struct err ignored;

            c->own.end = AGENT_CANCELLED;
            c->own.reason = STR("left"); /* the row is not changed */
            (void)!agent_work_end(c->work, STR(""), &ignored);
            *e = c->err;
            ok = false;
        } else {
            ok = incident_run_finish(in, c, out, e);
        }
    }
    for (size_t i = 0; i < c->n; i++)
        stage_release(&c->stages[i]);
    buf_release(&input);
    return ok;
}

bool incident_run(const struct incident_options *o, struct arena *a, struct incident_report *out,
                  struct err *e)
{
    struct incident in;
    bool ok;

    *out = INCIDENT_REPORT_NONE;
    if (!incident_prepare(&in, o, a, e))
        return false;
    incident_watch(&in);
    servers_open(&in);
    ok = incident_run_investigate(&in, out, e);
    agents_servers_free(in.servers);
    incident_unwatch(&in);
    return ok;
}
