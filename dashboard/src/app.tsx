// app.tsx - the frame: navigation, login, help, and the page of the address. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { Announcer } from "./announce";
import { expired, login, logout, needLogin, useApi, visits } from "./api";
import { useCell } from "./cell";
import { followHealth } from "./health";
import { helpOpen, KEYS } from "./keyboard";
import { live } from "./live";
import { decoded, ONES, PAGES, useOpened } from "./pages";
import { Boundary, Empty, Text, Title } from "./parts/basics";
import { DownBanner, HealthBanner } from "./parts/health";
import { LinkDialog } from "./parts/link";
import { usePlace } from "./route";
import { nextTheme, theme } from "./theme";
import { ownZoneWords } from "./zone";

// Address, name, and the lines of its picture.
const NAV: [string, string, string][] = [
  ["/", "Overview", "M2 14V2M2 14h12M5 11V8M8 11V5M11 11V7"],
  ["/live", "Live", "M2 8h3l2-5 3 10 2-5h2"],
  ["/sessions", "Sessions", "M2 4h12M2 8h12M2 12h8"],
  ["/agents", "Agents", "M8 1.5v2.5M3.5 4h9v7h-9zM6 7v1.5M10 7v1.5M5 14h6"],
  ["/incidents", "Incidents", "M8 2 1.5 14h13zM8 6.5v3.5M8 12h.01"],
  ["/policy", "Policy", "M4 2h6l3 3v9H4zM6.5 9l1.5 1.5L11 7.5"],
  ["/orders", "Orders", "M2 3h2l1.5 8h7L14 5H4.5M6 14h.01M12 14h.01"],
  ["/optimize", "Optimizer", "M2 13c3 0 4-9 6-9s2 4 6 1M11 3l3 2-2 3"],
  ["/decisions", "Decisions", "M8 2v4M8 6 3 10v4M8 6l5 4v4"],
  ["/reasoning", "Reasoning", "M3 14V9M7 14V4M11 14V7M15 14H1"],
  ["/providers", "Providers and levels", "M2 3h12v4H2zM2 9h12v4H2zM4 5h2M4 11h2"],
  ["/keys", "Keys", "M10 6a3 3 0 1 1-3 3l-5 0M4 9v3M9 9h.01"],
  ["/system", "System", "M3 5h10M3 11h10M6 3v4M10 9v4"],
];

function current(href: string, path: string): "page" | undefined {
  const at = path.replace(/^\/(workflows|runs)\//, "/agents/").replace(/^\/compare$/, "/sessions");
  return href === at || (href !== "/" && at.startsWith(`${href}/`)) ? "page" : undefined;
}

function Nav({ path }: { path: string }) {
  const here = useRef<HTMLAnchorElement>(null);
  useEffect(() => here.current?.scrollIntoView?.({ block: "nearest", inline: "center" }), [path]);
  return (
    <nav aria-label="Pages">
      {NAV.map(([href, name, lines]) => {
        const now = current(href, path);
        return (
          <a href={href} aria-current={now} ref={now ? here : undefined}>
            <svg viewBox="0 0 16 16" aria-hidden="true"><path d={lines} /></svg>{name}
          </a>
        );
      })}
    </nav>
  );
}

function Link() {
  const link = useCell(live.link);
  const words = useCell(needLogin) ? "not logged in" : { open: "live", connecting: "connecting", lost: "reconnecting" }[link];
  return <span class={`status ${link === "open" ? "good" : "warm"}`} role="status" title="The connection for live updates"><i aria-hidden="true" />{words}</span>;
}

const THEMES: Record<string, string> = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };

function Side({ path }: { path: string }) {
  const now = useCell(theme);
  const locked = useCell(needLogin);
  // No script can read the cookie: a gateway with keys that answers has let this browser in.
  const keys = useApi<{ keys?: unknown[] }>(locked ? null : "/api/v1/keys").data?.keys;
  return (
    <aside class="side">
      <a class="brand" href="/"><img src="/page/icon.svg" alt="" width="26" height="26" /><span>Rationale</span></a>
      <Nav path={path} />
      <div class="tools">
        <Link />
        <a class="button small" href="/docs">Manual</a>
        <button type="button" class="small" onClick={nextTheme} title="Colours: as the system has them, light or dark">{THEMES[now] ?? THEMES.auto}</button>
        <button type="button" class="small help" onClick={() => (helpOpen.value = true)} aria-label="Keyboard help">?</button>
        {!locked && keys?.length ? <button type="button" class="small" onClick={() => void logout()}>Log out</button> : null}
      </div>
    </aside>
  );
}

function Help() {
  const open = useCell(helpOpen);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="help-title" onClose={() => (helpOpen.value = false)}>
      <h2 id="help-title">Keyboard</h2>
      <dl class="keys">{KEYS.map(([k, what]) => <div><dt>{k.split(/\s+/).map((one) => <kbd>{one}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
      <div class="actions"><button type="button" onClick={() => (helpOpen.value = false)}>Close</button></div>
    </dialog>
  );
}

function Login() {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const ended = useCell(expired);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.focus(), []);
  const submit = async (e: { preventDefault(): void }) => {
    e.preventDefault();
    const given = box.current?.value.trim() ?? "";
    if (!given) return;
    setBusy(true);
    setProblem("");
    try {
      await login(given);
      live.restart();
    } catch (err) {
      setProblem((err as Error).message || "The gateway does not answer.");
      box.current?.select();
    }
    setBusy(false);
  };
  return (
    <form id="key-form" class="card login" onSubmit={submit}>
      <h1>A key is needed</h1>
      {ended ? <p>Your login has ended: after twelve hours, or because the gateway was started again. What you typed is kept.</p> : null}
      <p class="quiet">This gateway asks who you are. The key is sent once; then a cookie, which no script can read, keeps you logged in for twelve hours.</p>
      <label for="key">Key</label>
      <div class="row">
        <input id="key" ref={box} type="password" autocomplete="off" spellcheck={false} required />
        <button type="submit" class="primary" disabled={busy}>Log in</button>
      </div>
      {problem ? <p id="key-error" class="problem" role="alert"><Text>{problem}</Text></p> : null}
    </form>
  );
}

function Missing({ path }: { path: string }) {
  return (
    <>
      <Title title="There is no such page" />
      <Empty title="Nothing is at this address">
        <p><code><Text>{path}</Text></code> is not a page of the dashboard. A link to it may be old, or a letter may be missing.</p>
        <p><a href="/">Overview</a> · <a href="/sessions">Sessions</a> · <a href="/live">Live</a> · <a href="/docs">Manual</a></p>
      </Empty>
    </>
  );
}

function Page({ path }: { path: string }) {
  const [, kind, id] = /^\/(\w+)\/([^/]+)$/.exec(path) ?? [];
  const open = id && kind ? ONES[kind] : PAGES[path];
  const Shown = useOpened(open);
  if (!open) return <Missing path={path} />;
  if (Shown === null) return <p class="loading" role="status">Loading…</p>;
  if (Shown === "failed") return <Empty title="This page could not be loaded"><p>The gateway does not answer, or it was updated since you opened the dashboard.</p><p><button type="button" onClick={() => location.reload()}>Reload</button></p></Empty>;
  return <Shown key={id} id={id ? decoded(id) : ""} />;
}

// The address stays: its part after # names an entry of the page.
function skip(e: MouseEvent) {
  e.preventDefault();
  document.getElementById("main")?.focus();
}

export function App() {
  const { path } = usePlace();
  const locked = useCell(needLogin);
  const visit = useCell(visits);
  useEffect(followHealth, []); // on every page, so that each has the connection too
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the page</a>
      <Side path={path} />
      <main id="main" tabIndex={-1}>
        <DownBanner />
        {locked ? null : <HealthBanner path={path} />}
        <Boundary key={`${path} ${visit}`} words="This page could not be shown. Reload it, or choose another.">
          {locked ? <Login /> : <Page path={path} />}
        </Boundary>
        {path === "/" ? null : <p class="zone">Times are in {ownZoneWords()}.</p>}
      </main>
      <Help />
      <LinkDialog />
      <Announcer path={path} />
    </>
  );
}
