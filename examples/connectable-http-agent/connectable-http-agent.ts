import { HttpAgent, runHttpRequest, transformHttpEventStream, type RunAgentInput } from "@ag-ui/client";

/** An `HttpAgent` that can connect: `HttpAgent`'s own `connectAgent()` sends no request, and reports none. */
export class ConnectableHttpAgent extends HttpAgent {
  override connectAgent(...given: Parameters<HttpAgent["connectAgent"]>) {
    this.abortController = new AbortController(); // as runAgent() does; an aborted one would end this at once
    return super.connectAgent(...given);
  }

  protected override connect(input: RunAgentInput): ReturnType<HttpAgent["run"]> {
    const url = `${this.url.replace(/\/$/, "")}/connect`;
    return transformHttpEventStream(runHttpRequest(() => this.fetch(url, this.requestInit(input))), this.debugLogger);
  }
}
