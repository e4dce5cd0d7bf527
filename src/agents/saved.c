/* saved.c - the input of a run: its definition, its prompt, the listed tools.
 *
 * The note is written before the first effect. A process that resumes the run, after a wait or a
 * restart, reads everything from the note, whatever the configuration and the servers have by then.
 * Only the sources of tools are used as they are configured now.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"
#include "base/json_get.h"

static bool saved_open_tools(struct agents_part *p, str listed, struct err *e)
{
    struct agents_tools_options o = {.config = p->job->setup->config,
                                     .agent = p->agent,
                                     .servers = p->job->runner->servers,
                                     .clock = p->job->runner->host.clock,
                                     .mask = p->job->setup->mask,
                                     .listed = listed,
                                     .cancel = &p->job->stop};

    assert(!p->tools);
    return agents_open_tools(&o, &p->tools, e);
}

static bool saved_prompt(struct agents_part *p, str *out, struct err *e)
{
    const struct agents_host *h = &p->job->runner->host;

    *out = p->agent->prompt;
    if (!p->agent->prompt_name.n)
        return true;
    if (!h->find_prompt)
        return err_input(e,
                         "there is no registry for the prompt \"" STR_FMT "\"",
                         STR_ARG(p->agent->prompt_name));
    return h->find_prompt(h->prompt_ctx, p->agent->prompt_name, p->arena, out, e);
}

/* The prompt, the instructions of the caller, and the servers that cannot be used. */
static str saved_system(struct agents_part *p, str prompt)
{
    str added = p->root ? p->job->q.instructions : STR("");

    assert(p->tools);
    if (added.n)
        prompt = arena_printf(p->arena,
                              STR_FMT "%s" STR_FMT,
                              STR_ARG(prompt),
                              prompt.n ? "\n\n" : "",
                              STR_ARG(added));
    if (!p->tools->notes.n)
        return prompt;
    return arena_printf(p->arena,
                        STR_FMT "%sSome tools cannot be used now:\n" STR_FMT,
                        STR_ARG(prompt),
                        prompt.n ? "\n\n" : "",
                        STR_ARG(p->tools->notes));
}

/* ---- the definition, into the note ---- */

static void saved_take_definition(struct agents_part *p)
{
    const struct config_agent *d = p->agent;
    const struct config_agents *all = agents_job_config(p->job);
    const struct config_guard *from[] = {&d->guard_input, &d->guard_output};
    struct agents_guard *to[] = {&p->guard_input, &p->guard_output};
    struct agent_limits *l = &p->limits;

    p->model = d->model;
    p->level = d->level == CHAT_LEVEL_NOT_GIVEN ? STR("") : str_c(chat_level_name(d->level));
    p->handoff_count = d->handoff_count;
    p->handoffs = arena_zero(p->arena, d->handoff_count + 1, sizeof *p->handoffs);
    assert(p->handoff_count <= all->agent_count);
    for (size_t i = 0; i < d->handoff_count; i++)
        p->handoffs[i] = (struct agents_handoff){all->agents[d->handoff[i]].name,
                                                 all->agents[d->handoff[i]].description};
    for (size_t i = 0; i < COUNT_OF(from); i++) {
        *to[i] = (struct agents_guard){from[i]->kind, STR(""), from[i]->url};
        if (from[i]->kind == CONFIG_GUARD_AGENT)
            to[i]->name = all->agents[from[i]->agent].name;
        else if (from[i]->tools)
            to[i]->name = from[i]->tools->name;
    }
    if (!l->iterations || l->iterations > d->limits.steps)
        l->iterations = d->limits.steps;
    assert(l->iterations > 0);
    if (d->limits.tokens > 0 && (l->tokens < 0 || l->tokens > d->limits.tokens))
        l->tokens = d->limits.tokens;
    if (d->limits.usd > 0 && (l->cost_usd <= 0 || l->cost_usd > d->limits.usd))
        l->cost_usd = d->limits.usd;
    if (d->limits.time_ms && (!l->time_ms || l->time_ms > d->limits.time_ms))
        l->time_ms = d->limits.time_ms;
}

static void saved_write_refs(const struct agents_part *p, struct json_out *o, const char *key,
                             const struct config_tool_ref *refs, size_t n)
{
    json_member_array(o, key);
    for (size_t i = 0; i < n; i++) {
        str source;

        assert(refs[i].source < agents_job_config(p->job)->tools_count);
        source = agents_job_config(p->job)->tools[refs[i].source].name;
        json_out_str(
            o, refs[i].tool.n ? arena_join(p->arena, source, STR("."), refs[i].tool) : source);
    }
    json_out_end(o);
}

static void saved_write_guard(struct json_out *o, const char *key, const struct agents_guard *g)
{
    json_member_object(o, key);
    json_member_i64(o, "kind", g->kind);
    json_member_str(o, "name", g->name);
    json_member_str(o, "url", g->url);
    json_out_end(o);
}

static void saved_write_definition(const struct agents_part *p, struct json_out *o)
{
    const struct config_agent *d = p->agent;

    json_member_object(o, "definition");
    json_member_str(o, "strategy", str_c(agents_strategy_name(d->strategy)));
    json_member_str(o, "output", d->output);
    saved_write_refs(p, o, "tools", d->tools, d->tool_count);
    saved_write_refs(p, o, "approve", d->approve, d->approve_count);
    json_member_array(o, "handoff");
    for (size_t i = 0; i < p->handoff_count; i++) {
        json_out_object(o);
        json_member_str(o, "name", p->handoffs[i].name);
        json_member_str(o, "description", p->handoffs[i].description);
        json_out_end(o);
    }
    json_out_end(o);
    saved_write_guard(o, "guard_input", &p->guard_input);
    saved_write_guard(o, "guard_output", &p->guard_output);
    json_member_i64(o, "steps", p->limits.iterations);
    json_member_i64(o, "tokens", p->limits.tokens);
    json_member_double(o, "usd", p->limits.cost_usd);
    json_member_i64(o, "time_ms", (int64_t)p->limits.time_ms);
    json_out_end(o);
}

static bool saved_write(struct agents_part *p, struct err *e)
{
    struct json_out o;
    struct buf note;
    str prompt, kept;
    bool ok;

    saved_take_definition(p);
    if (!saved_prompt(p, &prompt, e) || !saved_open_tools(p, STR(""), e))
        return false;
    assert(p->tools);
    p->system = saved_system(p, prompt);
    buf_init(&note, AGENTS_TEXT_MAX);
    json_out_init_object(&o, &note);
    json_member_str(&o, "agent", p->agent->name);
    json_member_str(&o, "model", p->model);
    json_member_str(&o, "level", p->level);
    json_member_str(&o, "system", p->system);
    json_member_str(&o, "messages", p->messages);
    json_member_str(&o, "input", p->input);
    json_member_str(&o, "listed", p->tools->listed);
    json_member_bool(&o, "guarded", p->guard_output.kind != CONFIG_GUARD_NONE);
    saved_write_definition(p, &o);
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

/* ---- the note, read back ---- */

/* The configuration of a source may have changed, but the source must exist. */
static bool saved_read_refs(struct agents_part *p, const struct json *doc,
                            const struct json_node *list, struct config_tool_ref **out, size_t *n,
                            struct err *e)
{
    const struct config_agents *all = agents_job_config(p->job);

    *n = 0;
    *out = arena_zero(p->arena, json_count(doc, list) + 1, sizeof **out);
    JSON_FOREACH(v, doc, list) {
        struct config_tool_ref *ref = &(*out)[(*n)++];
        str name, source;
        size_t dot;

        if (!json_text(doc, v, p->arena, &name))
            return err_input(e, "the note of the run is damaged: no name of a tool");
        dot = str_find(name, STR("."));
        source = str_slice(name, 0, dot);
        ref->tool =
            dot == STR_NONE ? STR("") : arena_dup(p->arena, str_slice(name, dot + 1, name.n));
        ref->line = p->agent->line;
        while (ref->source < all->tools_count && !str_eq(all->tools[ref->source].name, source))
            ref->source++;
        if (ref->source == all->tools_count)
            return err_set(e,
                           ERR_NOT_FOUND,
                           "the run began with the tools \"" STR_FMT
                           "\", which the configuration does not have any more",
                           STR_ARG(str_slice(source, 0, 80)));
    }
    return true;
}

static void saved_read_guard(struct agents_part *p, const struct json *doc,
                             const struct json_node *v, struct agents_guard *out)
{
    *out = (struct agents_guard){(enum config_guard_kind)json_get_i64(doc, v, "kind", 0),
                                 json_copy_text(doc, v, "name", p->arena),
                                 json_copy_text(doc, v, "url", p->arena)};
}

static void saved_read_handoffs(struct agents_part *p, const struct json *doc,
                                const struct json_node *list)
{
    p->handoff_count = 0;
    p->handoffs = arena_zero(p->arena, json_count(doc, list) + 1, sizeof *p->handoffs);
    JSON_FOREACH(v, doc, list)
        p->handoffs[p->handoff_count++] =
            (struct agents_handoff){json_copy_text(doc, v, "name", p->arena),
                                    json_copy_text(doc, v, "description", p->arena)};
}

static bool saved_read_definition(struct agents_part *p, const struct json *doc, struct err *e)
{
    const struct json_node *v = json_find(doc, json_root(doc), STR("definition"));
    struct config_agent *d = arena_zero(p->arena, 1, sizeof *d);
    str strategy;

    if (!v || v->kind != JSON_OBJECT) /* for a run that an older version began */
        return true;
    *d = *p->agent;
    p->agent = d;
    strategy = json_copy_text(doc, v, "strategy", p->arena);
    for (int i = CONFIG_NATIVE; i <= CONFIG_CLASSIC; i++)
        if (str_eq(strategy, str_c(agents_strategy_name((enum config_strategy)i))))
            d->strategy = (enum config_strategy)i;
    d->output = json_copy_text(doc, v, "output", p->arena);
    saved_read_handoffs(p, doc, json_find(doc, v, STR("handoff")));
    saved_read_guard(p, doc, json_find(doc, v, STR("guard_input")), &p->guard_input);
    saved_read_guard(p, doc, json_find(doc, v, STR("guard_output")), &p->guard_output);
    p->limits = (struct agent_limits){.iterations = (unsigned)json_get_i64(doc, v, "steps", 0),
                                      .tokens = json_get_i64(doc, v, "tokens", 0),
                                      .time_ms = (uint64_t)json_get_i64(doc, v, "time_ms", 0)};
    if (!json_double(doc, json_find(doc, v, STR("usd")), &p->limits.cost_usd))
        p->limits.cost_usd = 0;
    return saved_read_refs(p, doc, json_find(doc, v, STR("tools")), &d->tools, &d->tool_count, e) &&
           saved_read_refs(
               p, doc, json_find(doc, v, STR("approve")), &d->approve, &d->approve_count, e);
}

static bool saved_read(struct agents_part *p, str note, struct err *e)
{
    const struct json_node *root;
    struct json doc;
    bool ok;

    saved_take_definition(p);
    ok = json_open(&doc, note, e);
    if (ok) {
        root = json_root(&doc);
        p->model = json_copy_text(&doc, root, "model", p->arena);
        p->level = json_copy_text(&doc, root, "level", p->arena);
        p->system = json_copy_text(&doc, root, "system", p->arena);
        p->messages = json_copy_text(&doc, root, "messages", p->arena);
        p->input = json_copy_text(&doc, root, "input", p->arena);
        ok = saved_read_definition(p, &doc, e) &&
             saved_open_tools(p, json_copy_text(&doc, root, "listed", p->arena), e);
    }
    json_release(&doc);
    return ok;
}

bool agents_saved_load(struct agents_part *p, struct err *e)
{
    str note;

    if (!agent_run_note(p->job->runner->host.log, p->run, STR(""), p->arena, &note, e))
        return false;
    return note.n ? saved_read(p, note, e) : saved_write(p, e);
}
