// absent.tsx - an application that the configuration does not have. SPDX-License-Identifier: Apache-2.0
import { Empty } from "./basics";

export function NotConfigured({ section, example }: { section: string; example: string }) {
  return (
    <Empty title="This application is not configured">
      <p>A section <code>{section}</code> in the configuration switches it on:</p>
      <pre class="code">{example}</pre>
    </Empty>
  );
}
