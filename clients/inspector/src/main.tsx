// The inspector: the page begins here.

import "./model/no_eval.ts";
import "./style.css";

import { effect } from "@preact/signals";
import { render } from "preact";

import { keepInputs } from "./agent_input.ts";
import { keepAddress, openAddressed } from "./address.ts";
import { readCheckpoints } from "./checkpoints.ts";
import { readGraphs } from "./graphs.ts";
import { readPast } from "./past_reader.ts";
import { takeToken } from "./server/api.ts";
import { session } from "./session.ts";
import { keepReading, refresh } from "./threads.ts";
import { App } from "./ui/app.tsx";
import { takeDrops } from "./ui/recordings.tsx";

takeToken();
addEventListener("hashchange", () => takeToken() && void refresh());
addEventListener("popstate", openAddressed);
effect(() => {
  document.title = session.value ? `${session.value.name} · Inspector` : "Inspector";
});
openAddressed();
keepAddress();
keepReading();
readPast();
readCheckpoints();
keepInputs();
readGraphs();
takeDrops();
render(<App />, document.body);
