/* app.c - the row of policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/app.h"

static bool app_open(const struct app_host *h, void **out, struct err *e)
{
    (void)h;
    (void)e;
    *out = NULL;
    return true;
}

static void app_close(void *app)
{
    (void)app;
}

static const struct app_route routes[] = {{NULL, NULL, NULL}};

const struct app app_policy = {
    .name = "policy", .open = app_open, .close = app_close, .routes = routes};
