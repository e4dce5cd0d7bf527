/* Any policy, any question and any facts: the answer is well formed and the same in a second run.
 * The input has a line "name: value" for each fact, an empty line, the criterion, and then the
 * policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fact_tools.h"
#include "apps/policy/heuristic.h"
#include "base/utf8.h"

#define FACTS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static str line(str *rest)
{
    size_t at = str_find(*rest, STR("\n"));
    str out = str_slice(*rest, 0, at);

    *rest = str_slice(*rest, at == STR_NONE ? rest->n : at + 1, rest->n);
    return out;
}

static void facts_json(str *rest, struct buf *b)
{
    bool begun = false;

    buf_add(b, STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":["));
    for (size_t i = 0; i < FACTS_MAX && rest->n > 0; i++) {
        str fact = line(rest);
        size_t colon = str_find(fact, STR(":"));

        if (str_trim(fact).n == 0)
            break;
        if (colon == STR_NONE || str_trim(str_slice(fact, 0, colon)).n == 0)
            continue;
        buf_printf(b, "%s{\"field_name\":", begun ? "," : "");
        json_quote(b, str_slice(fact, 0, colon));
        buf_printf(b, ",\"confidence\":%g,\"value\":", i % 4 == 3 ? 0.5 : 0.9);
        json_quote(b, str_slice(fact, colon + 1, fact.n));
        buf_add(b, STR("}"));
        begun = true;
    }
    buf_add(b, STR("]}"));
}

static void result_text(const struct policy_result *r, struct buf *b)
{
    struct json_out o;
    struct err e;

    json_out_init(&o, b);
    policy_result_json(r, &o);
    if (!json_out_ok(&o, &e))
        abort();
}

static void check(const struct policy_doc *d, const struct policy_case *c, str criterion,
                  struct arena *a)
{
    struct policy_result r, again;
    struct policy_hits h;
    struct policy_spans s;
    struct json_out o;
    struct buf x, y;
    struct err e;

    buf_init(&x, (size_t)64 << 20);
    buf_init(&y, (size_t)64 << 20);
    if (!policy_heuristic(d, c, criterion, a, &r, &e) ||
        !policy_heuristic(d, c, criterion, a, &again, &e) ||
        !policy_search(d, &(struct policy_question){criterion, 3, NULL}, a, &h, &e))
        abort();
    assert(r.confidence >= 0 && r.confidence <= 1 && r.trace_count > 0);
    assert(r.status == POLICY_UNCERTAIN || (r.confidence >= POLICY_ABSTAIN && r.has_evidence) ||
           r.reason_code.n == 0);
    assert(r.status != POLICY_UNCERTAIN || r.reason_code.n > 0);
    result_text(&r, &x);
    result_text(&again, &y);
    assert(str_eq(buf_str(&x), buf_str(&y)));
    for (size_t i = 0; i < h.n; i++)
        if (!policy_spans(d, h.hits[i].node, criterion, a, &s, &e))
            abort();
    buf_reset(&x);
    json_out_init(&o, &x);
    policy_xref(d, criterion, a, &o);
    buf_reset(&x);
    json_out_init(&o, &x);
    policy_codes(d, criterion, criterion, a, &o);
    buf_release(&x);
    buf_release(&y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str rest = {(const char *)data, size}, criterion;
    struct policy_doc *d;
    struct policy_case c;
    struct arena a;
    struct buf b;
    struct err e;

    if (!utf8_valid(rest))
        return 0;
    arena_init(&a, POLICY_ARENA_MAX);
    buf_init(&b, (size_t)16 << 20);
    facts_json(&rest, &b);
    criterion = line(&rest);
    if (policy_case_read(buf_str(&b), &a, &c, &e) &&
        policy_doc_parse(STR("p"), STR("p.md"), rest, &d, &e)) {
        check(d, &c, criterion, &a);
        policy_doc_free(d);
    }
    buf_release(&b);
    arena_release(&a);
    return 0;
}
