// health.tsx - the health of the record: a banner for every page, and the card of the System page. SPDX-License-Identifier: Apache-2.0
import { useCell } from "../cell";
import { bytes, duration, percent, plural, time } from "../format";
import { health } from "../health";
import { downSince } from "../reach";
import { Bar, Text } from "./basics";

const TONES: Record<string, string> = { healthy: "good", degraded: "warm", unhealthy: "bad" };

// Screen readers announce a change of the status only: the sentence changes every few seconds.
export function HealthBanner({ path }: { path: string }) {
  const { status, message } = useCell(health);
  const ill = status !== "healthy";
  return (
    <>
      <p class="unseen" role="status">{ill ? `The record is ${status}.` : ""}</p>
      {ill ? (
        <aside class={`banner ${TONES[status] ?? "warm"}`} aria-label="Health" data-testid="health-banner">
          <p><strong>The record is {status}</strong>{message ? <>: <Text>{message}</Text></> : null}.</p>
          {path === "/system" ? null : <a href="/system">See System</a>}
        </aside>
      ) : null}
    </>
  );
}

// The sentence stays the same while the gateway is down, so that it is announced once.
export function DownBanner() {
  const since = useCell(downSince);
  return (
    <div aria-live="polite">
      {since ? (
        <aside class="banner bad" aria-label="Connection" data-testid="down-banner">
          <p><strong>The gateway has not answered since {time(since * 1000)}.</strong> This page shows what it had by then. It goes on by itself when the gateway answers again, and keeps what you type.</p>
        </aside>
      ) : null}
    </div>
  );
}

export interface Backlog {
  journal_bytes?: number;
  journal_max_bytes?: number;
  pending_records?: number;
  pending_seconds?: number;
}

function waiting(b: Backlog): string {
  if (!b.pending_records) return "nothing";
  return `${plural(b.pending_records, "record")}, the oldest for ${duration((b.pending_seconds ?? 0) * 1000)}`;
}

export function RecordCard({ of: b, status }: { of: Backlog; status: string }) {
  const used = b.journal_bytes ?? 0, most = b.journal_max_bytes ?? 0;
  const amount = `${bytes(used)} of ${bytes(most)}`;
  const tone = TONES[status] ?? "";
  return (
    <section class="card" aria-label="Record" data-testid="record">
      <h2>Record</h2>
      <dl class="facts-list">
        <div><dt>health</dt><dd><span class={`status ${tone}`}><i aria-hidden="true" />{status}</span></dd></div>
        <div><dt>waiting for the tables</dt><dd>{waiting(b)}</dd></div>
        {most ? <div><dt>journal in use</dt><dd class="sharing"><Bar part={used / most} tone={tone === "good" ? "" : tone} label={`The journal holds ${amount}, ${percent(used / most)} of its ceiling`} />{amount}</dd></div> : null}
      </dl>
    </section>
  );
}
