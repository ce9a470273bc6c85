// The browser that the tests drive: Chromium, or the machine's Firefox with BROWSER=firefox. No test is here.
//
// Firefox is driven by WebDriver BiDi, as its users have it: what Playwright itself installs is a build of its own. Playwright
// 1.65 begins with a command that Firefox 153 does not know, so package.json has the version before.

import { chromium, firefox } from "playwright-core";

export const IN_FIREFOX = process.env.BROWSER === "firefox";

// As root Chromium has no sandbox; the rest keeps it from asking for anything by itself.
const FLAGS = ["no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"].concat(
  ["disable-component-update", "disable-sync"],
);
/** Nothing moves; tests may read the clipboard; the rules for addresses hold for this machine's own names too. */
const PREFERENCES = {
  "ui.prefersReducedMotion": 1,
  "dom.events.testing.asyncClipboard": true,
  "network.proxy.type": 2,
  "network.proxy.allow_hijacking_localhost": true,
};
const DARK = { "layout.css.prefers-color-scheme.content-override": 0 };
const LIGHT = { "layout.css.prefers-color-scheme.content-override": 1 };

/**
 * A browser for which every host but 127.0.0.1 leads nowhere. `port`: where `localhost:8000` leads. `colorScheme`: what Firefox
 * tells all its pages; in Chromium a context says it. `options`: of Playwright.
 */
export function launched({ port, colorScheme = "light", ...options } = {}) {
  if (!IN_FIREFOX) {
    const leads = `${port ? `MAP localhost:8000 127.0.0.1:${port}, ` : ""}MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`;
    const args = [...FLAGS.map((flag) => `--${flag}`), `--host-resolver-rules=${leads}`];
    return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args, ...options });
  }
  const ours = port ? `if (url.startsWith("http://localhost:8000/")) return "PROXY 127.0.0.1:${port}";` : "";
  const leads = `function FindProxyForURL(url, host) { ${ours} return host === "127.0.0.1" ? "DIRECT" : "PROXY 127.0.0.1:9"; }`;
  const rules = { "network.proxy.autoconfig_url": `data:text/javascript,${encodeURIComponent(leads)}` };
  const firefoxUserPrefs = { ...PREFERENCES, ...rules, ...(colorScheme === "dark" ? DARK : LIGHT) };
  const executablePath = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
  return firefox.launch({ channel: "moz-firefox", executablePath, firefoxUserPrefs, ...options });
}
