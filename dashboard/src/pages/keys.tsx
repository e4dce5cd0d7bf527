// keys.tsx - who may ask, for what, and how much of it is used. SPDX-License-Identifier: Apache-2.0
import { useApi } from "../api";
import { count, money, percent } from "../format";
import { Badge, Bar, Empty, Loaded, Title } from "../parts/basics";
import { useNarrow } from "../parts/narrow";

interface Key {
  name: string;
  hint?: string | null;
  models?: string[] | null;
  levels?: string[] | null;
  rpm?: number | null;
  tpm?: number | null;
  spend_usd?: number | null;
  spent?: number | null;
  reasoning?: string | null;
  role?: string | null;
}

function limit(n: number | null | undefined): string {
  return n == null || n < 0 || n === 0 ? "no limit" : count(n);
}

function Spent({ k }: { k: Key }) {
  const may = k.spend_usd, spent = k.spent ?? 0;
  if (may == null || may < 0) return <>{money(spent)}</>;
  const part = may > 0 ? spent / may : 1;
  return <span class="sharing"><Bar part={part} tone={part > 0.9 ? "warm" : ""} label={`${percent(part)} of the budget is spent`} />{money(spent)} of {money(may)}</span>;
}

export function KeysPage() {
  const keys = useApi<{ keys?: Key[] } | Key[]>("/api/v1/keys");
  const list = Array.isArray(keys.data) ? keys.data : (keys.data?.keys ?? []);
  const { rows, filters } = useNarrow(list, { label: "Search keys", text: (k) => [k.name, k.role, ...(k.models ?? [])].join(" "), state: (k) => k.role ?? "" });
  return (
    <>
      <Title title="Keys" about="Who may ask, for what, and how much of it is used. Keys themselves are nowhere on record, only their digests." />
      <Loaded of={keys}>
        {() => {
          return list.length ? (
            <>{filters}<div class="wide"><table class="rows even">
              <thead><tr><th>Key</th><th>Models</th><th>Levels</th><th>Reasoning</th><th class="n">Requests a minute</th><th class="n">Tokens a minute</th><th>Spent</th></tr></thead>
              <tbody>
                {rows.map((k) => (
                  <tr>
                    <td class="main"><strong>{k.name}</strong><span class="under">{k.hint ? <code>{k.hint}</code> : null}{k.role ? <Badge tone={k.role === "operator" ? "cap" : ""}>{k.role}</Badge> : null}</span></td>
                    <td data-label="models">{k.models?.length ? k.models.join(", ") : "all"}</td>
                    <td data-label="levels">{k.levels?.length ? k.levels.join(", ") : "all"}</td>
                    <td data-label="reasoning">{k.reasoning && k.reasoning !== "unset" ? k.reasoning : "as asked"}</td>
                    <td class="n" data-label="requests a minute">{limit(k.rpm)}</td>
                    <td class="n" data-label="tokens a minute">{limit(k.tpm)}</td>
                    <td data-label="spent"><Spent k={k} /></td>
                  </tr>
                ))}
              </tbody>
            </table></div></>
          ) : (
            <Empty title="No keys: every program on this machine may ask, and no other machine">
              <p>To let others in, make a key and put its digest in the configuration:</p>
              <pre class="code">rationale keys new my-app</pre>
            </Empty>
          );
        }}
      </Loaded>
    </>
  );
}
