/* given.c - what a run was given: its prompt, its model, the tools that were listed.
 *
 * The note is written before the first effect. A process that goes on with the run takes all of it
 * from there, whatever the configuration and the servers say by then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"

static str given_text(const struct json *doc, const char *key, struct arena *a)
{
    str s;

    return json_text(doc, json_find(doc, json_root(doc), str_c(key)), a, &s) ? arena_dup(a, s)
                                                                             : STR("");
}

static bool given_open_tools(struct agents_part *p, str listed, struct err *e)
{
    struct agents_tools_options o = {.config = p->job->setup->config,
                                     .agent = p->agent,
                                     .servers = p->job->runner->servers,
                                     .clock = p->job->runner->host.clock,
                                     .mask = p->job->setup->mask,
                                     .listed = listed,
                                     .cancel = &p->job->stop};

    return agents_open_tools(&o, &p->tools, e);
}

static bool given_prompt(struct agents_part *p, str *out, struct err *e)
{
    const struct agents_host *h = &p->job->runner->host;

    *out = p->agent->prompt;
    if (!p->agent->prompt_name.n)
        return true;
    if (!h->find_prompt)
        return err_set(e,
                       ERR_INPUT,
                       "there is no registry for the prompt \"" STR_FMT "\"",
                       STR_ARG(p->agent->prompt_name));
    return h->find_prompt(h->prompt_ctx, p->agent->prompt_name, p->arena, out, e);
}

/* The prompt, and which servers cannot be used. */
static str given_system(struct agents_part *p, str prompt)
{
    if (!p->tools->notes.n)
        return prompt;
    return arena_printf(p->arena,
                        STR_FMT "%sSome tools cannot be used now:\n" STR_FMT,
                        STR_ARG(prompt),
                        prompt.n ? "\n\n" : "",
                        STR_ARG(p->tools->notes));
}

static bool given_write(struct agents_part *p, struct err *e)
{
    const struct config_agent *d = p->agent;
    struct json_out o;
    struct buf note;
    str prompt, kept;
    bool ok;

    if (!given_prompt(p, &prompt, e) || !given_open_tools(p, STR(""), e))
        return false;
    p->model = d->model;
    p->level = d->level == CHAT_LEVEL_NOT_GIVEN ? STR("") : str_c(chat_level_name(d->level));
    p->system = given_system(p, prompt);
    buf_init(&note, AGENTS_TEXT_MAX);
    json_out_init(&o, &note);
    json_out_object(&o);
    json_member_str(&o, "agent", d->name);
    json_member_str(&o, "definition", d->digest);
    json_member_str(&o, "model", p->model);
    json_member_str(&o, "level", p->level);
    json_member_str(&o, "system", p->system);
    json_member_str(&o, "messages", p->messages);
    json_member_str(&o, "input", p->input);
    json_member_str(&o, "listed", p->tools->listed);
    json_out_key(&o, STR("guarded"));
    json_out_bool(&o, d->guard_output.kind != CONFIG_GUARD_NONE);
    json_out_end(&o);
    ok = json_out_ok(&o, e) && agent_run_note(p->job->runner->host.log,
                                              p->run,
                                              agents_job_masked(p->job, buf_str(&note), p->arena),
                                              p->arena,
                                              &kept,
                                              e);
    buf_release(&note);
    return ok;
}

static bool given_read(struct agents_part *p, str note, struct err *e)
{
    struct json doc;
    bool ok;

    json_init(&doc);
    ok = json_parse(&doc, note, e);
    if (ok) {
        p->model = given_text(&doc, "model", p->arena);
        p->level = given_text(&doc, "level", p->arena);
        p->system = given_text(&doc, "system", p->arena);
        p->messages = given_text(&doc, "messages", p->arena);
        p->input = given_text(&doc, "input", p->arena);
        ok = given_open_tools(p, given_text(&doc, "listed", p->arena), e);
    }
    json_release(&doc);
    return ok;
}

bool agents_given_load(struct agents_part *p, struct err *e)
{
    str note;

    if (!agent_run_note(p->job->runner->host.log, p->run, STR(""), p->arena, &note, e))
        return false;
    return note.n ? given_read(p, note, e) : given_write(p, e);
}
