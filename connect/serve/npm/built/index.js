export { ThreadAgent } from "./agent.js";
export { watch } from "./watch.js";
