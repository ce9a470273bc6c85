// The inspector: the page begins here.

import "./model/no_eval.ts";
import "./style.css";

import { effect } from "@preact/signals";
import { render } from "preact";

import { openAddressed } from "./address.ts";
import { session } from "./session.ts";
import { keepReading } from "./threads.ts";
import { App } from "./ui/app.tsx";
import { chosenEvent } from "./ui/panes.ts";

addEventListener("popstate", openAddressed);
effect(() => {
  document.title = session.value ? `${session.value.name} · Inspector` : "Inspector";
  chosenEvent.value = null;
});
openAddressed();
keepReading();
render(<App />, document.body);
