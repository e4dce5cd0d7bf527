// main.tsx - the dashboard begins here. SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { loginByLink } from "./api";
import { App } from "./app";
import { startKeyboard } from "./keyboard";
import { startRouting } from "./route";
import { startTheme } from "./theme";

startTheme();
startRouting();
startKeyboard();
const root = document.getElementById("app");
if (root)
  void loginByLink().then(() => {
    root.replaceChildren();
    render(<App />, root);
  });
