// theme.ts - light, dark, or as the system has it. SPDX-License-Identifier: Apache-2.0
import { stored } from "./cell";

export const theme = stored("rationale.theme", "auto");
const NEXT: Record<string, string> = { auto: "light", light: "dark", dark: "auto" };

function apply(): void {
  const root = document.documentElement;
  if (theme.value === "light" || theme.value === "dark") root.dataset.theme = theme.value;
  else delete root.dataset.theme;
}

export function startTheme(): void {
  apply();
  theme.follow(apply);
}

export function nextTheme(): void {
  theme.value = NEXT[theme.value] ?? "auto";
}
