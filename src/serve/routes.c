/* routes.c - the table of all routes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/methods.h"
#include "serve/page.h"
#include "serve/watch_runs.h"

#define METHODS_MAX 256

static const struct route routes[] = {
    {"POST", "/v1/chat/completions", CHAT_OPENAI, false, chat_handle},
    {"POST", "/v1/responses", CHAT_RESPONSES, false, chat_handle},
    {"POST", "/v1/messages", CHAT_ANTHROPIC, false, chat_handle},
    {"POST", "/v1/messages/count_tokens", CHAT_ANTHROPIC, false, count_handle},
    {"POST", "/v1/embeddings", CHAT_OPENAI, false, pass_on_handle},
    {"POST", "/v1/moderations", CHAT_OPENAI, false, pass_on_handle},
    {"POST", "/v1/rerank", CHAT_OPENAI, false, pass_on_handle},
    {"POST", "/v1/images/generations", CHAT_OPENAI, false, pass_on_handle},
    {"POST", "/v1/audio/speech", CHAT_OPENAI, false, pass_on_handle},
    {"GET", "/v1/models", CHAT_OPENAI, false, models_handle},
    {"GET", "/v1/models/*", CHAT_OPENAI, false, model_handle},
    {"POST", "/v1/models/*", CHAT_GEMINI, false, gemini_handle}, /* for Google's newer SDKs */
    {"GET", "/v1beta/models", CHAT_GEMINI, false, gemini_models_handle},
    {"POST", "/v1beta/models/*", CHAT_GEMINI, false, gemini_handle},
    {"GET", "/v1beta/models/*", CHAT_GEMINI, false, gemini_model_handle},
    {"POST", "/api/chat", CHAT_OLLAMA, false, chat_handle},
    {"POST", "/api/generate", CHAT_OLLAMA, false, chat_handle},
    {"POST", "/api/embed", CHAT_OLLAMA, false, pass_on_handle},
    {"POST", "/api/embeddings", CHAT_OLLAMA, false, pass_on_handle},
    {"GET", "/api/tags", CHAT_OLLAMA, false, ollama_tags_handle},
    {"POST", "/api/show", CHAT_OLLAMA, false, ollama_show_handle},
    {"GET", "/api/ps", CHAT_OLLAMA, false, ollama_ps_handle},
    {"GET", "/api/version", CHAT_OLLAMA, false, ollama_version_handle},
    {"POST", "/generate", CHAT_GENERATE, false, chat_handle},
    {"GET", "/", CHAT_OPENAI, true, root_handle},
    {"GET", "/live", CHAT_OPENAI, true, page_handle},
    {"GET", "/compare", CHAT_OPENAI, true, page_handle},
    {"GET", "/sessions", CHAT_OPENAI, true, page_handle},
    {"GET", "/sessions/*", CHAT_OPENAI, true, page_handle},
    {"GET", "/agents", CHAT_OPENAI, true, page_handle},
    {"GET", "/agents/*", CHAT_OPENAI, true, page_handle},
    {"GET", "/workflows/*", CHAT_OPENAI, true, page_handle},
    {"GET", "/runs/*", CHAT_OPENAI, true, page_handle},
    {"GET", "/incidents", CHAT_OPENAI, true, page_handle},
    {"GET", "/incidents/*", CHAT_OPENAI, true, page_handle},
    {"GET", "/policy", CHAT_OPENAI, true, page_handle},
    {"GET", "/orders", CHAT_OPENAI, true, page_handle},
    {"GET", "/orders/*", CHAT_OPENAI, true, page_handle},
    {"GET", "/optimize", CHAT_OPENAI, true, page_handle},
    {"GET", "/decisions", CHAT_OPENAI, true, page_handle},
    {"GET", "/reasoning", CHAT_OPENAI, true, page_handle},
    {"GET", "/providers", CHAT_OPENAI, true, page_handle},
    {"GET", "/keys", CHAT_OPENAI, true, page_handle},
    {"GET", "/system", CHAT_OPENAI, true, page_handle},
    {"GET", "/page/*", CHAT_OPENAI, true, page_file_handle},
    {"GET", "/docs", CHAT_OPENAI, true, manual_handle},
    {"GET", "/docs/", CHAT_OPENAI, true, manual_handle},
    {"GET", "/docs/*", CHAT_OPENAI, true, manual_handle},
    {"GET", "/ws/dashboard/*", CHAT_OPENAI, true, live_socket_handle},
    {"GET", "/ws/*", CHAT_OPENAI, true, live_alert_handle},
    {"GET", "/api/v1/live", CHAT_OPENAI, true, live_stream_handle},
    {"GET", "/health", CHAT_OPENAI, true, health_handle},
    {"GET", "/ready", CHAT_OPENAI, true, ready_handle},
    {"GET", "/metrics", CHAT_OPENAI, false, metrics_handle},
    {"GET", "/api/v1/history/sessions", CHAT_OPENAI, false, sessions_handle},
    {"GET", "/api/v1/history/sessions/*", CHAT_OPENAI, false, session_handle},
    {"DELETE", "/api/v1/history/sessions/*", CHAT_OPENAI, false, session_delete_handle},
    {"POST", "/api/v1/erase", CHAT_OPENAI, false, erase_handle},
    {"GET", "/api/v1/audit", CHAT_OPENAI, false, audit_handle},
    {"POST", "/api/v1/audit/verify", CHAT_OPENAI, false, audit_verify_handle},
    {"GET", "/api/v1/history/interactions", CHAT_OPENAI, false, interactions_handle},
    {"GET", "/api/v1/history/interactions/*", CHAT_OPENAI, false, interaction_handle},
    {"GET", "/api/v1/history/decisions", CHAT_OPENAI, false, decisions_handle},
    {"GET", "/api/v1/history/search", CHAT_OPENAI, false, search_handle},
    {"GET", "/api/v1/history/active-sessions", CHAT_OPENAI, false, active_handle},
    {"GET", "/api/v1/history/health", CHAT_OPENAI, false, history_health_handle},
    {"GET", "/api/v1/history/kept", CHAT_OPENAI, false, history_kept_handle},
    {"GET", "/api/v1/history/filter-options", CHAT_OPENAI, false, filter_options_handle},
    {"GET", "/api/v1/history/metrics", CHAT_OPENAI, false, history_metrics_handle},
    {"GET", "/api/v1/history/export", CHAT_OPENAI, false, export_handle},
    {"GET", "/api/v1/checkpoints", CHAT_OPENAI, false, checkpoints_handle},
    {"GET", "/api/v1/threads/*", CHAT_OPENAI, false, thread_handle},
    {"PUT", "/api/v1/threads/*", CHAT_OPENAI, false, thread_handle},
    {"POST", "/api/v1/threads/*", CHAT_OPENAI, false, thread_handle},
    {"DELETE", "/api/v1/threads/*", CHAT_OPENAI, false, thread_handle},
    {"GET", "/api/v1/runs", CHAT_OPENAI, false, runs_handle},
    {"GET", "/api/v1/runs/*", CHAT_OPENAI, false, run_handle},
    {"POST", "/api/v1/runs/*", CHAT_OPENAI, false, run_handle},
    {"GET", "/api/v1/usage", CHAT_OPENAI, false, usage_handle},
    {"GET", "/api/v1/overview", CHAT_OPENAI, false, overview_handle},
    {"GET", "/api/v1/reasoning", CHAT_OPENAI, false, reasoning_handle},
    {"GET", "/api/v1/providers", CHAT_OPENAI, false, providers_handle},
    {"GET", "/api/v1/levels", CHAT_OPENAI, false, levels_handle},
    {"GET", "/api/v1/keys", CHAT_OPENAI, false, keys_handle},
    {"POST", "/api/v1/watch", CHAT_OPENAI, false, watch_open_handle},
    {"GET", "/api/v1/watch/*", CHAT_OPENAI, false, watch_count_handle},
    {"GET", "/api/v1/system", CHAT_OPENAI, false, system_handle},
    {"GET", "/openapi.json", CHAT_OPENAI, true, openapi_handle},
    {"POST", "/api/v1/login", CHAT_OPENAI, true, login_handle},
    {"POST", "/api/v1/logout", CHAT_OPENAI, true, logout_handle},
};

static bool serve_routes_matches(const struct route *r, str path, str *rest)
{
    str want = str_c(r->path);

    assert(want.n > 0);
    *rest = STR("");
    if (!str_ends(want, STR("*")))
        return str_eq(path, want);
    want.n--;
    *rest = str_slice(path, want.n, path.n);
    return str_starts(path, want) && rest->n > 0;
}

static bool serve_routes_has_method(const struct route *r, str method)
{
    return str_eq(method, str_c(r->method)) ||
           (str_eq(method, STR("HEAD")) && strcmp(r->method, "GET") == 0);
}

const struct route *route_find(str method, str path, str *rest, bool *path_known)
{
    *path_known = false;
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        if (!serve_routes_matches(&routes[i], path, rest))
            continue;
        *path_known = true;
        if (serve_routes_has_method(&routes[i], method))
            return &routes[i];
    }
    return NULL;
}

enum chat_dialect route_dialect(str path)
{
    static const struct {
        str front;
        enum chat_dialect dialect;
    } fronts[] = {
        {STR_INIT("/api/v1/"), CHAT_OPENAI}, /* our own routes */
        {STR_INIT("/api/"), CHAT_OLLAMA},
        {STR_INIT("/v1/messages"), CHAT_ANTHROPIC},
        {STR_INIT("/v1beta/"), CHAT_GEMINI},
        {STR_INIT("/generate"), CHAT_GENERATE},
    };

    for (size_t i = 0; i < COUNT_OF(fronts); i++)
        if (str_starts(path, fronts[i].front))
            return fronts[i].dialect;
    return CHAT_OPENAI;
}

static const struct {
    str front;
    void (*add)(str path, str rest, struct arena *a, struct buf *out);
} route_fronts[] = {{STR_INIT("/api/v1/history/sessions/"), session_methods},
                    {STR_INIT("/api/v1/runs/"), run_methods},
                    {STR_INIT("/api/v1/threads/"), thread_methods}};

void route_add_method(struct buf *out, const char *method)
{
    buf_printf(out, "%s%s", out->n ? ", " : "", method);
}

static bool route_add_known_methods(str path, struct arena *a, struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(route_fronts); i++) {
        str front = route_fronts[i].front;

        if (!str_starts(path, front) || path.n == front.n)
            continue;
        route_fronts[i].add(path, str_slice(path, front.n, path.n), a, out);
        return true;
    }
    return false;
}

str route_methods(str path, struct arena *a)
{
    struct app_match m;
    struct buf methods;
    str rest;

    buf_init(&methods, METHODS_MAX);
    if (!route_add_known_methods(path, a, &methods))
        for (size_t i = 0; i < COUNT_OF(routes); i++)
            if (serve_routes_matches(&routes[i], path, &rest))
                route_add_method(&methods, routes[i].method);
    if (methods.n == 0)
        (void)apps_route(STR(""), path, &m, &methods);
    return arena_move_buf(a, &methods);
}
