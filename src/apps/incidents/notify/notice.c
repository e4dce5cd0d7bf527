/* notice.c - the text of a message, from the incident's row, masked and truncated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/notify.h"

#include "base/utf8.h"

#define TITLE_PART_MAX 100
#define QUESTION_MAX 2000
#define ERROR_MAX 2000

static const char *const titles[CONFIG_NOTIFY_EVENTS] = {
    [CONFIG_NOTIFY_STARTED] = "Investigating",
    [CONFIG_NOTIFY_COMPLETED] = "Investigated",
    [CONFIG_NOTIFY_FAILED] = "Investigation failed",
    [CONFIG_NOTIFY_CANCELLED] = "Investigation cancelled",
    [CONFIG_NOTIFY_APPROVAL] = "Waits for approval",
    [CONFIG_NOTIFY_RESOLVED] = "Resolved",
};

str notice_masked(const struct setup *setup, struct arena *a, str text)
{
    return mask_text_kept(setup->mask, text, a);
}

/* Valid UTF-8 of at most so many bytes, with a note about the cut part. */
static str notice_cut(struct arena *a, str text, size_t size_max)
{
    str front = utf8_cut_size(text, size_max);

    return front.n == text.n ? text : arena_join(a, front, STR("\n\n"), STR("(cut)"));
}

/* On one line, for titles and subjects. */
static str notice_line(struct arena *a, str text)
{
    str front = arena_dup(a, utf8_cut_size(text, TITLE_PART_MAX));
    char *p = arena_alloc(a, front.n + 1);

    for (size_t i = 0; i < front.n; i++)
        p[i] = (char)((unsigned char)front.p[i] < ' ' || front.p[i] == 0x7f ? ' ' : front.p[i]);
    return str_trim((str){p, front.n});
}

/* The summary, if there is one, and the analysis. */
static str notice_analysis(const struct alert_table_row *row, struct arena *a)
{
    struct json doc;
    struct err e;
    str summary = STR(""), analysis = STR("");

    json_init(&doc);
    if (row->report.n && json_parse(&doc, row->report, &e)) {
        summary = arena_dup(a, str_trim(json_get_text(&doc, json_root(&doc), "summary", a)));
        analysis =
            arena_dup(a, str_trim(json_get_text(&doc, json_root(&doc), "final_analysis", a)));
    }
    json_release(&doc);
    return summary.n && analysis.n ? arena_join(a, summary, STR("\n\n"), analysis)
           : summary.n             ? summary
                                   : analysis;
}

/* A line for each call that needs a decision. A text is masked before it is truncated, because half
 * a secret is not recognized. */
static str notice_question(const struct setup *setup, str pending, struct arena *a)
{
    struct buf out;
    struct json doc;
    struct err e;
    str text;

    buf_init(&out, 2 * (size_t)QUESTION_MAX);
    json_init(&doc);
    if (pending.n && json_parse(&doc, pending, &e))
        JSON_FOREACH(v, &doc, json_root(&doc)) {
            str tool = json_get_text(&doc, v, "tool", a), arguments = STR("");
            const struct json_node *given = json_get(&doc, v, "arguments");

            if (given && !json_text(&doc, given, a, &arguments))
                arguments = json_raw(&doc, given);
            if (out.n >= QUESTION_MAX)
                break;
            buf_add(&out, utf8_cut_size(tool, TITLE_PART_MAX));
            buf_add_c(&out, ' ');
            arguments = notice_masked(setup, a, arguments);
            buf_add(&out, utf8_cut_size(arguments, QUESTION_MAX / 4));
            buf_add_c(&out, '\n');
        }
    text = arena_dup(a, str_trim(buf_str(&out)));
    json_release(&doc);
    buf_release(&out);
    return text;
}

static str notice_title(const struct notice *n, struct arena *a)
{
    assert((size_t)n->event < CONFIG_NOTIFY_EVENTS);
    return arena_printf(a,
                        "%s: " STR_FMT " (" STR_FMT "%s" STR_FMT ")",
                        titles[n->event],
                        STR_ARG(n->alert_type.n ? n->alert_type : STR("alert")),
                        STR_ARG(n->severity),
                        n->severity.n && n->environment.n ? ", " : "",
                        STR_ARG(n->environment));
}

void notice_make(struct notice *out, enum config_notify_event event,
                 const struct alert_table_row *row, str pending, const struct setup *setup,
                 struct arena *a)
{
    const struct config_incidents *c = &setup->config->incidents;
    str text = STR("");

    if (event == CONFIG_NOTIFY_COMPLETED || event == CONFIG_NOTIFY_RESOLVED)
        text = notice_cut(a, notice_masked(setup, a, notice_analysis(row, a)), NOTIFY_ANALYSIS_MAX);
    else if (event == CONFIG_NOTIFY_FAILED)
        text = notice_cut(a, notice_masked(setup, a, row->error), ERROR_MAX);
    *out = (struct notice){
        .event = event,
        .id = row->id,
        .alert_type = notice_line(a, notice_masked(setup, a, row->alert_type)),
        .severity = notice_line(a, notice_masked(setup, a, row->severity)),
        .environment = notice_line(a, notice_masked(setup, a, row->environment)),
        .agent = notice_line(a, row->agent),
        .status = row->state,
        .link =
            c->public_url.n ? arena_join(a, c->public_url, STR("/incidents/"), row->id) : STR(""),
        .text = text,
        .question = event == CONFIG_NOTIFY_APPROVAL ? notice_question(setup, pending, a) : STR(""),
        .silence = STR(""),
        .silence_link = STR(""),
        .at_us = row->updated_us,
    };
    out->title = notice_title(out, a);
    if (event == CONFIG_NOTIFY_COMPLETED)
        silence_propose(row, c, out->link, a, &out->silence, &out->silence_link);
}
