// SPDX-License-Identifier: Apache-2.0
export default { test: { globals: true, include: ["*.test.mjs"], testTimeout: 60000,
                         hookTimeout: 60000 } };
