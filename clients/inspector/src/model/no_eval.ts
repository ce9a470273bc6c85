// The client's schemas would try whether they may make functions of texts, which the page's policy forbids and reports.
// Imported first: the schemas try it when they are made.

import { config } from "zod/v4/core";

config({ jitless: true });
