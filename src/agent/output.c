/* output.c - the answer of a run by a JSON Schema: describes it to the model, finds it in the text,
 * and checks it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"

#include "base/json_loose.h"

#define PROBLEMS_MAX 8
#define WHY_MAX 8192

bool output_init(struct run *r)
{
    struct err e;

    assert(!r->output);
    if (!r->o->output.n)
        return true;
    r->output = schema_new();
    if (schema_compile(r->output, r->o->output, &e))
        return true;
    err_prefix(&e, "output: ");
    return run_break(r, &e);
}

void output_release(struct run *r)
{
    schema_free(r->output);
}

void output_describe(const struct run *r, struct buf *out)
{
    if (!r->output)
        return;
    buf_add(out,
            out->n ? STR("\n\nYour final answer is one JSON value, without any other text, that is "
                         "valid by this JSON Schema:\n")
                   : STR("Your final answer is one JSON value, without any other text, that is "
                         "valid by this JSON Schema:\n"));
    buf_add(out, r->o->output);
}

static void output_add_problem(void *ctx, const struct schema_problem *p)
{
    struct buf *why = ctx;

    buf_printf(why,
               "- %.*s: " STR_FMT "\n",
               p->path.n ? (int)p->path.n : 10,
               p->path.n ? p->path.p : "the answer",
               STR_ARG(p->text));
}

/* The whole text as JSON, or else JSON within the text. */
static bool output_find_json(str text, struct buf *out, struct err *e)
{
    struct json doc;
    bool plain;

    plain = json_open(&doc, str_trim(text), e);
    json_release(&doc);
    if (plain)
        buf_add(out, str_trim(text));
    return plain || json_loose(text, NULL, NULL, out, e);
}

bool output_check(struct run *r, str text, str *why)
{
    struct buf found, problems;
    struct json doc;
    struct err e;
    bool ok;

    if (!r->output)
        return true;
    buf_init(&found, JSON_LOOSE_MAX);
    buf_init(&problems, WHY_MAX);
    json_init(&doc);
    ok = output_find_json(text, &found, &e) && json_parse(&doc, buf_str(&found), &e);
    if (!ok)
        buf_printf(&problems, "- it is not JSON: %s\n", e.text);
    else
        ok = schema_check_each(r->output,
                               &doc,
                               json_root(&doc),
                               (struct schema_sink){output_add_problem, &problems, PROBLEMS_MAX},
                               &e);
    if (ok)
        r->out->finish = arena_dup(r->arena, buf_str(&found));
    else
        *why = arena_printf(r->arena,
                            "Your answer is not valid by the JSON Schema:\n" STR_FMT
                            "Give the whole answer again, as JSON only.",
                            STR_ARG(buf_str(&problems)));
    json_release(&doc);
    buf_release(&found);
    buf_release(&problems);
    return ok;
}
