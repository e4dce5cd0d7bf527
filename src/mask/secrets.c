/* secrets.c - manifests of Kubernetes Secrets in plain text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

void mask_secrets_scan(const struct mask_view *t, struct mask_spans *out)
{
    (void)t;
    (void)out;
}
