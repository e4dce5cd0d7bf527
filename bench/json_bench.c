/* How fast JSON is read, next to cJSON and simdjson, in one run.
 *
 * The bench generates three documents: a streamed chunk, a completion, and a request of 60
 * messages. Every contestant visits every key and value and sums them up; the sums must agree.
 *
 *   rationale       json_parse, then every node of the tape; json_text of every string (a view, or
 *                   a copy in an arena if it has escapes), json_raw of every number
 *   simdjson        on-demand, one parser kept, a padded buffer for free; unescaped_key of every
 *                   key, get_string of every string, raw_json_token of every number. It validates
 *                   UTF-8 of all the document, but of numbers only the first byte.
 *   rationale, raw  the same without unescaping: json_raw of every string
 *   simdjson, raw   key() and get_raw_json_string, which neither find the end of a string nor
 *                   unescape it
 *   cJSON           cJSON_ParseWithLength, every item, cJSON_Delete. It does not validate UTF-8.
 *
 * Each keeps its memory from one document to the next, but for cJSON, which cannot.
 *
 * Thread CPU time, the best of many rounds, the contestants taking turns in each round. The bar is
 * that rationale takes at most 1.5 times as long as simdjson.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "json_bench.h"

#include "base/json.h"

#include <cjson/cJSON.h>

#define ROUNDS 60
#define ROUND_NS 1000000.0
#define ARENA_MAX ((size_t)1 << 20)

struct bench {
    struct json doc;
    struct arena arena;
    struct json_bench_simd *simd;
    str src; /* followed by padding */
};

typedef bool contestant(struct bench *b, struct json_bench_sum *sum);

/* ---- the contestants ---- */

static bool read_ours(struct bench *b, bool unescape, struct json_bench_sum *sum)
{
    struct err e;

    if (!json_parse(&b->doc, b->src, &e))
        return false;
    for (const struct json_node *v = b->doc.nodes; v < b->doc.nodes + b->doc.n; v++) {
        str s = json_raw(&b->doc, v);

        if (v->kind == JSON_STRING) {
            if (unescape && !json_text(&b->doc, v, &b->arena, &s))
                return false;
            sum->strings++;
            sum->string_bytes += s.n;
        } else if (v->kind == JSON_NUMBER) {
            sum->numbers++;
            sum->number_bytes += s.n;
        } else if (v->kind <= JSON_TRUE) {
            sum->others++;
        }
    }
    arena_reset(&b->arena);
    return true;
}

static bool ours(struct bench *b, struct json_bench_sum *sum)
{
    return read_ours(b, true, sum);
}

static bool ours_raw(struct bench *b, struct json_bench_sum *sum)
{
    return read_ours(b, false, sum);
}

static bool simd(struct bench *b, struct json_bench_sum *sum)
{
    return json_bench_simd_read(b->simd, b->src.p, b->src.n, true, sum);
}

static bool simd_raw(struct bench *b, struct json_bench_sum *sum)
{
    return json_bench_simd_read(b->simd, b->src.p, b->src.n, false, sum);
}

static void walk_cjson(const cJSON *v, struct json_bench_sum *sum)
{
    for (; v; v = v->next) {
        if (v->string) {
            sum->strings++;
            sum->string_bytes += strlen(v->string);
        }
        if (cJSON_IsString(v)) {
            sum->strings++;
            sum->string_bytes += strlen(v->valuestring);
        }
        sum->numbers += cJSON_IsNumber(v) != 0;
        sum->others += (cJSON_IsBool(v) | cJSON_IsNull(v)) != 0;
        walk_cjson(v->child, sum);
    }
}

static bool cjson(struct bench *b, struct json_bench_sum *sum)
{
    cJSON *root = cJSON_ParseWithLength(b->src.p, b->src.n);

    if (!root)
        return false;
    walk_cjson(root, sum);
    cJSON_Delete(root);
    return true;
}

/* ---- the documents ---- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Prose as models write it: lines, lists, a little code, a few characters beyond ASCII. */
static void write_prose(struct buf *out, size_t size, uint32_t *seed)
{
    static const char *const words[] = {
        "the",
        "request",
        "returns",
        "a",
        "cluster",
        "when",
        "latency",
        "of",
        "each",
        "pod",
        "is",
        "above",
        "limit",
        "and",
        "we",
        "check",
        "configuration,",
        "then",
        "restart",
        "caf\xC3\xA9",
        "deploy",
        "to",
        "node",
        "\"ready\"",
        "because",
        "it\xE2\x80\x99s",
        "memory",
        "in",
        "`kubectl get`",
        "for",
    };
    size_t until = out->n + size, column = 0;

    while (out->n < until) {
        uint32_t r = next_random(seed);
        str word = str_c(words[r % COUNT_OF(words)]);

        buf_add(out, word);
        column += word.n;
        if (r >> 8 & 1 && column > 70) {
            buf_add(out, r >> 9 & 3 ? STR(".\n") : STR(".\n\n- "));
            column = 0;
        } else {
            buf_add_c(out, ' ');
        }
        if ((r >> 12) % 400 == 0)
            buf_add(out, STR("```c\nif (x < 1)\n\treturn \"\\n\";\n```\n"));
        if ((r >> 12) % 401 == 0)
            buf_add(out, STR("\xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x9A\x80 "));
    }
}

static void out_prose(struct json_out *o, size_t size, uint32_t *seed)
{
    struct buf text;

    buf_init(&text, size + 200);
    write_prose(&text, size, seed);
    json_out_str(o, buf_str(&text));
    buf_release(&text);
}

static void write_chunk(struct buf *out)
{
    buf_add(out,
            STR("{\"id\":\"chatcmpl-B7xQzT4mWn2LkPfR9sVdYcHa\",\"object\":\"chat.completion."
                "chunk\",\"created\":1741569952,\"model\":\"gpt-4o-mini-2024-07-18\",\"service_"
                "tier\":\"default\",\"system_fingerprint\":\"fp_06737a9306\",\"choices\":[{"
                "\"index\":0,\"delta\":{\"content\":\" caf\xC3\xA9\"},\"logprobs\":null,"
                "\"finish_reason\":null}],\"usage\":null}"));
}

static void out_pair(struct json_out *o, const char *key, const char *text)
{
    json_out_key(o, str_c(key));
    json_out_str(o, str_c(text));
}

static void out_number(struct json_out *o, const char *key, int64_t v)
{
    json_out_key(o, str_c(key));
    json_out_i64(o, v);
}

static void write_completion(struct buf *out)
{
    struct json_out o;
    uint32_t seed = 7;

    json_out_init(&o, out);
    json_out_object(&o);
    out_pair(&o, "id", "chatcmpl-B7xQzT4mWn2LkPfR9sVdYcHa");
    out_pair(&o, "object", "chat.completion");
    out_number(&o, "created", 1741569952);
    out_pair(&o, "model", "gpt-4o-mini-2024-07-18");
    json_out_key(&o, STR("choices"));
    json_out_array(&o);
    json_out_object(&o);
    out_number(&o, "index", 0);
    json_out_key(&o, STR("message"));
    json_out_object(&o);
    out_pair(&o, "role", "assistant");
    json_out_key(&o, STR("content"));
    out_prose(&o, 1350, &seed);
    json_out_key(&o, STR("refusal"));
    json_out_null(&o);
    json_out_end(&o);
    json_out_key(&o, STR("logprobs"));
    json_out_null(&o);
    out_pair(&o, "finish_reason", "stop");
    json_out_end(&o);
    json_out_end(&o);
    json_out_key(&o, STR("usage"));
    json_out_object(&o);
    out_number(&o, "prompt_tokens", 1117);
    out_number(&o, "completion_tokens", 346);
    out_number(&o, "total_tokens", 1463);
    json_out_key(&o, STR("prompt_tokens_details"));
    json_out_raw(&o, STR("{\"cached_tokens\":1024,\"audio_tokens\":0}"));
    json_out_key(&o, STR("completion_tokens_details"));
    json_out_raw(&o,
                 STR("{\"reasoning_tokens\":0,\"audio_tokens\":0,\"accepted_prediction_tokens\":0,"
                     "\"rejected_prediction_tokens\":0}"));
    json_out_end(&o);
    out_pair(&o, "service_tier", "default");
    out_pair(&o, "system_fingerprint", "fp_06737a9306");
    json_out_end(&o);
}

static void out_tool_call(struct json_out *o)
{
    json_out_key(o, STR("content"));
    json_out_null(o);
    json_out_key(o, STR("tool_calls"));
    json_out_array(o);
    json_out_object(o);
    out_pair(o, "id", "call_Jx3rV0aQm8");
    out_pair(o, "type", "function");
    json_out_key(o, STR("function"));
    json_out_object(o);
    out_pair(o, "name", "query_metrics");
    out_pair(o,
             "arguments",
             "{\"query\": \"rate(http_requests_total{job=\\\"api\\\"}[5m])\", \"start\": "
             "\"2025-03-10T01:00:00Z\", \"end\": \"2025-03-10T02:00:00Z\", \"step\": 60}");
    json_out_end(o);
    json_out_end(o);
    json_out_end(o);
}

static void write_chat(struct buf *out)
{
    static const char *const roles[] = {"user", "assistant", "tool", "assistant"};
    struct json_out o;
    uint32_t seed = 42;

    json_out_init(&o, out);
    json_out_object(&o);
    out_pair(&o, "model", "gpt-4o-mini-2024-07-18");
    json_out_key(&o, STR("temperature"));
    json_out_double(&o, 0.7);
    out_number(&o, "max_completion_tokens", 4096);
    json_out_key(&o, STR("stream"));
    json_out_bool(&o, true);
    json_out_key(&o, STR("messages"));
    json_out_array(&o);
    for (size_t i = 0; i < 60; i++) {
        json_out_object(&o);
        out_pair(&o, "role", i == 0 ? "system" : roles[i % 4]);
        if (i % 4 == 1) {
            out_tool_call(&o);
        } else {
            if (i % 4 == 2)
                out_pair(&o, "tool_call_id", "call_Jx3rV0aQm8");
            json_out_key(&o, STR("content"));
            out_prose(&o, 1930, &seed);
        }
        json_out_end(&o);
    }
    json_out_end(&o);
    json_out_end(&o);
}

/* ---- the contest ---- */

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_ns(contestant *read, struct bench *b, size_t times)
{
    struct json_bench_sum sum = {0};
    double from = now_ns();

    for (size_t i = 0; i < times; i++)
        if (!read(b, &sum))
            base_die("a contestant refuses the document");
    return (now_ns() - from) / (double)times;
}

static const struct {
    const char *name;
    contestant *read;
} contestants[] = {
    {"rationale", ours},
    {"simdjson", simd},
    {"rationale, raw", ours_raw},
    {"simdjson, raw", simd_raw},
    {"cJSON", cjson},
};

static void check_sums(struct bench *b)
{
    struct json_bench_sum a = {0}, c = {0}, s = {0};

    if (!ours(b, &a) || !simd(b, &s) || !cjson(b, &c))
        base_die("a contestant refuses the document");
    if (memcmp(&a, &s, sizeof a) != 0)
        base_die("rationale and simdjson disagree");
    c.number_bytes = a.number_bytes; /* cJSON does not keep them */
    if (memcmp(&a, &c, sizeof a) != 0)
        base_die("rationale and cJSON disagree");
}

static bool run(const char *name, void (*write)(struct buf *out), struct bench *b)
{
    double best[COUNT_OF(contestants)];
    size_t times[COUNT_OF(contestants)], size, padding = json_bench_simd_padding();
    struct buf src;
    char *room;

    buf_init(&src, 1 << 20);
    write(&src);
    size = src.n;
    room = buf_room(&src, padding);
    assert(room);
    memset(room, 0, padding);
    b->src = (str){src.p, size};
    check_sums(b);
    for (size_t c = 0; c < COUNT_OF(contestants); c++) {
        best[c] = time_ns(contestants[c].read, b, 20);
        times[c] = (size_t)(ROUND_NS / best[c]) + 1;
    }
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t c = 0; c < COUNT_OF(contestants); c++) {
            double ns = time_ns(contestants[c].read, b, times[c]);

            best[c] = ns < best[c] ? ns : best[c];
        }
    printf("%s, %zu bytes\n", name, size);
    for (size_t c = 0; c < COUNT_OF(contestants); c++)
        printf("  %-16s %10.0f ns   %6.2f GB/s   %6.2f of simdjson\n",
               contestants[c].name,
               best[c],
               (double)size / best[c],
               best[c] / best[1]);
    buf_release(&src);
    return best[0] <= 1.5 * best[1];
}

int main(void)
{
    struct bench b = {.simd = json_bench_simd_new()};
    bool fast = true;

    json_init(&b.doc);
    arena_init(&b.arena, ARENA_MAX);
    /* One block for all allocations: arena_reset keeps it, as simdjson keeps its own. */
    (void)!arena_alloc(&b.arena, ARENA_MAX);
    arena_reset(&b.arena);
    printf("simdjson kernel: %s\n", json_bench_simd_kernel());
    fast &= run("chunk", write_chunk, &b);
    fast &= run("completion", write_completion, &b);
    fast &= run("chat", write_chat, &b);
    printf("%s\n", fast ? "within 1.5 times simdjson" : "SLOWER than 1.5 times simdjson");
    arena_release(&b.arena);
    json_release(&b.doc);
    json_bench_simd_free(b.simd);
    return fast ? 0 : 1;
}
