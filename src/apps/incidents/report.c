/* report.c - the report in Markdown, always laid out alike.
 *
 * The report contains no time, so an interrupted and resumed investigation gives the same report as
 * an uninterrupted one. It contains no reasoning of models, only the reasons they stated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"
#include "base/utf8.h"

#define RESULT_SHOWN 600
#define ARGUMENTS_SHOWN 400
#define CELL_SHOWN 300

/* ---- text from outside in Markdown ---- */

/* One line of a table. */
static void incident_report_cell(struct buf *out, str text)
{
    str front = utf8_cut_size(text, CELL_SHOWN);

    for (size_t i = 0; i < front.n; i++) {
        char c = front.p[i];

        if (c == '|' || c == '`' || c == '<')
            buf_add_c(out, '\\');
        buf_add_c(out, (unsigned char)c < ' ' ? ' ' : c);
    }
    if (front.n < text.n)
        buf_add(out, STR("..."));
}

static void incident_report_row(struct buf *out, const char *name, str value)
{
    if (!value.n)
        return;
    buf_printf(out, "| %s | ", name);
    incident_report_cell(out, value);
    buf_add(out, STR(" |\n"));
}

/* In a fence that is longer than any in the text. */
static void incident_report_write_fenced(struct buf *out, str text, size_t size_max)
{
    str front = utf8_cut_size(text, size_max);
    size_t run = 0, longest = 2;

    for (size_t i = 0; i < front.n; i++) {
        run = front.p[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        buf_add_c(out, '`');
    buf_add_c(out, '\n');
    buf_add(out, front);
    if (!front.n || front.p[front.n - 1] != '\n')
        buf_add_c(out, '\n');
    if (front.n < text.n)
        buf_printf(out, "... (%zu bytes in all)\n", text.n);
    for (size_t i = 0; i <= longest; i++)
        buf_add_c(out, '`');
    buf_add_c(out, '\n');
}

/* ---- its sections ---- */

static void incident_report_head(struct incident *in, const struct incident_report *r,
                                 struct buf *out)
{
    static const char *const ends[] = {"completed", "failed", "cancelled", "not ended", "waiting"};
    const struct incident_alert *alert = &in->o->alert;
    char when[CLOCK_TEXT_SIZE];

    assert((size_t)r->end < COUNT_OF(ends));
    buf_add(out, STR("# Incident report: "));
    incident_report_cell(out, alert->alert_type);
    buf_add(out, STR("\n\n| | |\n|---|---|\n"));
    incident_report_row(out, "Alert", alert->id);
    incident_report_row(out, "Severity", alert->severity);
    incident_report_row(out, "Environment", alert->environment);
    if (alert->timestamp_us)
        incident_report_row(out, "Time", clock_format(alert->timestamp_us / 1000, when));
    incident_report_row(
        out, "Runbook", in->o->runbook_text.n ? STR("given with the alert") : alert->runbook);
    incident_report_row(out, "Investigated by", in->chain->name);
    incident_report_row(out, "Status", str_c(ends[r->end]));
    if (r->end == INCIDENT_FAILED) {
        incident_report_row(out, "Reason", r->reason);
        incident_report_row(out, "Error", r->error);
    }
}

static bool incident_report_has_several(const struct stage_result *stages, size_t n)
{
    return n > 1 || (n == 1 && stages[0].agent_team_count > 1);
}

/* The findings of each agent, if there are several. */
static void incident_report_write_findings(const struct incident *in,
                                           const struct stage_result *stages, size_t n,
                                           struct buf *out)
{
    assert(n <= in->chain->stage_count);
    if (!incident_report_has_several(stages, n))
        return;
    buf_add(out, STR("\n## Findings of each stage\n"));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < stages[i].agent_team_count; j++) {
            const struct agent_team *p = &stages[i].parties[j];

            buf_printf(out,
                       "\n### " STR_FMT " / " STR_FMT "\n\n",
                       STR_ARG(in->chain->stages[i].name),
                       STR_ARG(p->label));
            if (agent_team_ok(p))
                buf_printf(out, STR_FMT "\n", STR_ARG(p->result.text));
            else
                buf_printf(out,
                           "No result: " STR_FMT " (" STR_FMT ")\n",
                           STR_ARG(p->result.detail),
                           STR_ARG(p->result.reason));
        }
}

static void incident_report_write_evidence(const struct stage_result *stages, size_t n,
                                           struct buf *out)
{
    size_t at = 0;

    buf_add(out, STR("\n## Evidence\n"));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < stages[i].agent_team_count; j++) {
            const struct agent_team *p = &stages[i].parties[j];

            for (size_t k = 0; k < p->point_count; k++) {
                const struct point *t = &p->points[k];

                buf_printf(out, "\n%zu. **", ++at);
                if (t->server.n) {
                    incident_report_cell(out, t->server);
                    buf_add_c(out, '.');
                }
                incident_report_cell(out, t->tool);
                buf_printf(out, "**%s", t->ok ? "" : " (failed)");
                if (incident_report_has_several(stages, n))
                    buf_printf(out, ", called by " STR_FMT, STR_ARG(p->label));
                if (t->reason.n) {
                    buf_add(out, STR(": "));
                    incident_report_cell(out, t->reason);
                }
                buf_add(out, STR("\n\n"));
                incident_report_write_fenced(out, t->arguments, ARGUMENTS_SHOWN);
                buf_add_c(out, '\n');
                incident_report_write_fenced(out, t->result, RESULT_SHOWN);
            }
        }
    if (!at)
        buf_add(out, STR("\nNo tool was called.\n"));
}

static void incident_report_write_course(struct incident *in, const struct stage_result *stages,
                                         size_t n, struct buf *out)
{
    buf_add(out, STR("\n## How it was decided\n\n"));
    if (in->runbook_note.n)
        buf_printf(out, "- Runbook: " STR_FMT "\n", STR_ARG(in->runbook_note));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < stages[i].agent_team_count; j++) {
            const struct agent_team *p = &stages[i].parties[j];

            buf_printf(out,
                       "- " STR_FMT " / " STR_FMT ": strategy %s, reasoning %s, %u model call%s, "
                       "%zu tool call%s\n",
                       STR_ARG(in->chain->stages[i].name),
                       STR_ARG(p->label),
                       incident_strategies[p->strategy],
                       p->reasoning ? "on" : "off",
                       p->result.model_calls,
                       p->result.model_calls == 1 ? "" : "s",
                       p->point_count,
                       p->point_count == 1 ? "" : "s");
            for (size_t k = 0; k < p->note_count; k++)
                buf_printf(out, "  - " STR_FMT "\n", STR_ARG(p->notes[k]));
        }
}

static void incident_report_write_figures(const struct incident_report *r, struct buf *out)
{
    buf_printf(out,
               "\n## Figures\n\n| | |\n|---|---|\n| Model calls | %u |\n| Tool calls | %u |\n"
               "| Input tokens | %lld |\n| Output tokens | %lld |\n| Reasoning tokens | %lld |\n",
               r->model_calls,
               r->tool_calls,
               (long long)r->input_tokens,
               (long long)r->output_tokens,
               (long long)r->reasoning_tokens);
}

void report_write(struct incident *in, const struct stage_result *stages, size_t n,
                  struct incident_report *r)
{
    struct buf out;

    assert(n <= in->chain->stage_count);
    buf_init(&out, INCIDENT_TEXT_MAX);
    incident_report_head(in, r, &out);
    if (r->summary.n)
        buf_printf(&out, "\n## Executive summary\n\n" STR_FMT "\n", STR_ARG(r->summary));
    buf_add(&out, STR("\n## Analysis\n\n"));
    buf_add(&out, r->final_analysis.n ? r->final_analysis : STR("There is none."));
    buf_add_c(&out, '\n');
    incident_report_write_findings(in, stages, n, &out);
    incident_report_write_evidence(stages, n, &out);
    incident_report_write_course(in, stages, n, &out);
    incident_report_write_figures(r, &out);
    r->markdown = arena_dup(in->arena, mask_text_kept(in->mask, buf_str(&out), in->arena));
    buf_release(&out);
}
