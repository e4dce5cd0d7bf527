/* eval_report.c - results as JSON and as Markdown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/eval.h"

static const char *eval_switch_name(enum incident_tri t)
{
    return NAME_OF(t, "configured", "on", "off");
}

static const char *eval_end_name(enum incident_end end)
{
    return NAME_OF(end, "completed", "error", "cancelled", "left", "waiting");
}

/* ---- JSON ---- */

static void eval_write_facts(struct json_out *o, const struct eval_result *r)
{
    json_member_array(o, "facts");
    for (size_t i = 0; i < r->of->expected.facts.n; i++) {
        json_out_object(o);
        json_member_str(o, "fact", r->of->expected.facts.at[i]);
        json_member_bool(o, "met", r->analysis.facts[i].met);
        json_member_double(o, "share", r->analysis.facts[i].share);
        json_member_str(o, "missing", r->analysis.facts[i].missing);
        json_out_end(o);
    }
    json_out_end(o);
}

static void eval_report_write_tools(struct json_out *o, const struct eval_result *r)
{
    json_member_object(o, "tools");
    json_member_texts(o, "called", r->called, r->called_count);
    json_member_texts(o, "expected", r->of->tools, r->of->tool_count);
    json_member_array(o, "missing");
    for (size_t i = 0; i < r->of->tool_count; i++)
        if (!r->tools_called[i])
            json_out_str(o, r->of->tools[i]);
    json_out_close(o, 2);
}

static void eval_report_write_result(struct json_out *o, const struct eval_result *r)
{
    assert(r->analysis.facts_met <= r->of->expected.facts.n && r->tags.n > 0);
    json_out_object(o);
    json_member_str(o, "case", r->of->name);
    json_member_str(o, "alert_type", r->of->alert.alert_type);
    json_member_str(o, "reasoning", str_c(eval_switch_name(r->reasoning)));
    json_member_double(o, "score", r->score);
    json_member_double(o, "weight", r->of->weight);
    json_member_str(o, "scored_by", str_c(eval_scored_by(r->of)));
    json_member_str(o, "verdict", str_c(score_verdict_name(r->analysis.verdict)));
    json_member_str(o, "missing", r->analysis.missing);
    eval_write_facts(o, r);
    eval_report_write_tools(o, r);
    json_member_str(o, "status", str_c(eval_end_name(r->report.end)));
    json_member_str(o, "error", r->report.error);
    json_member_raw(o, "tags", r->tags);
    json_member_i64(o, "model_calls", r->report.model_calls);
    json_member_i64(o, "tool_calls", r->report.tool_calls);
    json_member_i64(o, "input_tokens", r->report.input_tokens);
    json_member_i64(o, "output_tokens", r->report.output_tokens);
    json_member_i64(o, "reasoning_tokens", r->report.reasoning_tokens);
    json_member_i64(o, "duration_ms", r->report.duration_ms);
    json_member_str(o, "session_id", r->session);
    json_member_str(o, "analysis", r->report.final_analysis);
    json_member_str(o, "report", r->report.markdown);
    json_out_end(o);
}

static void eval_write_total(struct json_out *o, const char *key, const struct eval_total *t)
{
    json_member_object(o, key);
    json_member_i64(o, "cases", (int64_t)t->cases);
    json_member_double(o, "score", t->score);
    json_member_i64(o, "facts", (int64_t)t->facts);
    json_member_i64(o, "facts_met", (int64_t)t->facts_met);
    json_member_i64(o, "model_calls", t->model_calls);
    json_member_i64(o, "tool_calls", t->tool_calls);
    json_member_i64(o, "input_tokens", t->input_tokens);
    json_member_i64(o, "output_tokens", t->output_tokens);
    json_member_i64(o, "reasoning_tokens", t->reasoning_tokens);
    json_member_i64(o, "duration_ms", t->duration_ms);
    json_out_end(o);
}

/* The first half of an A/B is without reasoning, the second half with it, in the same order. */
void eval_json(const struct eval_result *results, size_t n, bool ab, struct buf *out)
{
    struct eval_total total, on;
    struct json_out o;

    assert(!ab || n % 2 == 0);
    json_out_init_object(&o, out);
    json_member_array(&o, "cases");
    for (size_t i = 0; i < n; i++)
        eval_report_write_result(&o, &results[i]);
    json_out_end(&o);
    if (ab) {
        eval_sum(results, n / 2, &total);
        eval_sum(results + n / 2, n / 2, &on);
        eval_write_total(&o, "off", &total);
        eval_write_total(&o, "on", &on);
    } else {
        eval_sum(results, n, &total);
        eval_write_total(&o, "total", &total);
    }
    json_out_end(&o);
}

/* ---- Markdown ---- */

static int64_t eval_report_tokens(const struct incident_report *r)
{
    return r->input_tokens + r->output_tokens;
}

static void eval_report_missing(const struct eval_result *r, struct buf *out)
{
    if (r->analysis.verdict != SCORE_VERDICT_FOUND)
        buf_printf(out,
                   "- " STR_FMT "%s%s: %s%s" STR_FMT "\n",
                   STR_ARG(r->of->name),
                   r->reasoning == INCIDENT_AS_CONFIGURED ? "" : ", reasoning ",
                   r->reasoning == INCIDENT_AS_CONFIGURED ? "" : eval_switch_name(r->reasoning),
                   score_verdict_name(r->analysis.verdict),
                   r->analysis.missing.n ? ": " : "",
                   STR_ARG(r->analysis.missing));
    for (size_t i = 0; i < r->of->expected.facts.n; i++)
        if (!r->analysis.facts[i].met)
            buf_printf(out,
                       "- " STR_FMT "%s%s: " STR_FMT " (without: " STR_FMT ")\n",
                       STR_ARG(r->of->name),
                       r->reasoning == INCIDENT_AS_CONFIGURED ? "" : ", reasoning ",
                       r->reasoning == INCIDENT_AS_CONFIGURED ? "" : eval_switch_name(r->reasoning),
                       STR_ARG(r->of->expected.facts.at[i]),
                       STR_ARG(r->analysis.facts[i].missing));
    if (r->report.error.n)
        buf_printf(
            out, "- " STR_FMT ": " STR_FMT "\n", STR_ARG(r->of->name), STR_ARG(r->report.error));
}

static void eval_plain_rows(const struct eval_result *results, size_t n, struct buf *out)
{
    struct eval_total t;

    buf_add(out,
            STR("| Case | Score | Verdict | Facts | Tools called | Tokens | Reasoning tokens | "
                "Time (ms) "
                "|\n| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |\n"));
    for (size_t i = 0; i < n; i++) {
        const struct eval_result *r = &results[i];

        buf_printf(out,
                   "| " STR_FMT " | %.2f | %s | %zu/%zu | %u | %lld | %lld | %lld |\n",
                   STR_ARG(r->of->name),
                   r->score,
                   score_verdict_name(r->analysis.verdict),
                   r->analysis.facts_met,
                   r->of->expected.facts.n,
                   r->report.tool_calls,
                   (long long)eval_report_tokens(&r->report),
                   (long long)r->report.reasoning_tokens,
                   (long long)r->report.duration_ms);
    }
    eval_sum(results, n, &t);
    buf_printf(out,
               "| **all %zu** | **%.2f** | | %zu/%zu | %u | %lld | %lld | %lld |\n",
               t.cases,
               t.score,
               t.facts_met,
               t.facts,
               t.tool_calls,
               (long long)t.input_tokens + t.output_tokens,
               (long long)t.reasoning_tokens,
               (long long)t.duration_ms);
}

static void ab_row(struct buf *out, const char *what, double off, double on, int digits)
{
    buf_printf(
        out, "| %s | %.*f | %.*f | %+.*f |\n", what, digits, off, digits, on, digits, on - off);
}

static void ab_totals(const struct eval_result *results, size_t half, struct buf *out)
{
    struct eval_total off, on;

    eval_sum(results, half, &off);
    eval_sum(results + half, half, &on);
    buf_add(out,
            STR("| Sum of all cases | Without reasoning | With reasoning | Difference |\n"
                "| --- | ---: | ---: | ---: |\n"));
    ab_row(out, "Score", off.score, on.score, 2);
    ab_row(out, "Facts found", (double)off.facts_met, (double)on.facts_met, 0);
    ab_row(out,
           "Tokens",
           (double)(off.input_tokens + off.output_tokens),
           (double)(on.input_tokens + on.output_tokens),
           0);
    ab_row(out, "Reasoning tokens", (double)off.reasoning_tokens, (double)on.reasoning_tokens, 0);
    ab_row(out, "Tools called", off.tool_calls, on.tool_calls, 0);
    ab_row(out, "Model calls", off.model_calls, on.model_calls, 0);
    ab_row(out, "Time (ms)", (double)off.duration_ms, (double)on.duration_ms, 0);
}

static void ab_cases(const struct eval_result *results, size_t half, struct buf *out)
{
    buf_add(out,
            STR("\n| Case | Score off | on | Tools off | on | Tokens off | on | Time (ms) off | on "
                "|\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"));
    for (size_t i = 0; i < half; i++) {
        const struct eval_result *a = &results[i], *b = &results[half + i];

        buf_printf(out,
                   "| " STR_FMT " | %.2f | %.2f | %u | %u | %lld | %lld | %lld | %lld |\n",
                   STR_ARG(a->of->name),
                   a->score,
                   b->score,
                   a->report.tool_calls,
                   b->report.tool_calls,
                   (long long)eval_report_tokens(&a->report),
                   (long long)eval_report_tokens(&b->report),
                   (long long)a->report.duration_ms,
                   (long long)b->report.duration_ms);
    }
}

void eval_markdown(const struct eval_result *results, size_t n, bool ab, struct buf *out)
{
    size_t before;

    assert(!ab || n % 2 == 0);
    buf_add(out, ab ? STR("# Reasoning against none\n\n") : STR("# Evaluation\n\n"));
    if (ab) {
        ab_totals(results, n / 2, out);
        ab_cases(results, n / 2, out);
    } else {
        eval_plain_rows(results, n, out);
    }
    buf_add(out, STR("\n## What is missing\n\n"));
    before = out->n;
    for (size_t i = 0; i < n; i++)
        eval_report_missing(&results[i], out);
    if (out->n == before)
        buf_add(out, STR("Nothing.\n"));
}
