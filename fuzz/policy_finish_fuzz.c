/* Arbitrary proposals of a model and remarks about a tree: the run continues, and each accepted
 * part cites a passage that the model was shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/react_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char policy[] = "# Coverage\n<!-- page 1 -->\n## Age\nAt least 18.\n<!-- page 2 -->\n"
                             "## Weeks\nAt least six weeks.\n";
static const char bundle[] = "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":"
                             "\"age\",\"value\":45,\"confidence\":1,\"doc_id\":\"d\",\"page\":1,"
                             "\"bbox\":[0,0,0,0]}]}";

static void propose(const struct policy_doc *doc, const struct policy_case *c, str text)
{
    struct policy_react_options o = {
        .doc = doc, .c = c, .criterion = STR("age"), .clock = &clock_real};
    struct react r = {.o = &o};
    struct react_proposal p;
    struct policy_result result = {.criterion_id = STR("age")};
    struct arena a;
    struct err e;

    arena_init(&a, (size_t)1 << 30);
    arena_init(&r.arena, 1 << 20);
    r.seen = arena_zero(&r.arena, doc->tree.node_count + 1, sizeof *r.seen);
    r.seen[1] = (struct react_seen){true, 0.9, "bm25+reranker"};
    if (react_check(&r, text, &a, &p, &e)) {
        react_conclude(&r, &p, &a, &result);
        assert(result.confidence >= 0 && result.confidence <= 1);
        assert(result.status == POLICY_UNCERTAIN || (p.node && p.node - doc->tree.nodes <= 1));
        for (size_t i = 0; result.status != POLICY_UNCERTAIN && i < p.page_count; i++)
            assert(p.pages[i] == 1);
    } else {
        assert(strlen(e.text) > 0);
    }
    arena_release(&a);
    arena_release(&r.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct policy_doc *doc;
    static struct policy_case c;
    static struct arena kept;
    str text = {size ? (const char *)data : "", size};
    struct policy_ids ids = {.n = 0};
    struct arena a;
    struct err e;

    if (!doc) {
        arena_init(&kept, 1 << 20);
        if (!policy_doc_parse(STR("p"), STR("p.md"), str_c(policy), &doc, &e) ||
            !policy_case_read(str_c(bundle), &kept, &c, &e))
            abort();
    }
    propose(doc, &c, text);
    arena_init(&a, (size_t)1 << 30);
    if (react_read_ids(text, &a, &ids))
        assert(ids.n <= POLICY_TOP_MAX);
    arena_release(&a);
    return 0;
}
