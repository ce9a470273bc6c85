export { ThreadAgent } from "./agent.js";
export { watch, type Watch, type WatchableAgent, type WatchOptions, type WatchState } from "./watch.js";
