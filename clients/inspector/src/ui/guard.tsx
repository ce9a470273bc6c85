// What cannot be shown does not take the page with it: an error of what is inside is shown in its place.

import { Component, type ComponentChildren } from "preact";

interface GuardProps {
  /** A new value: it is tried again. */
  readonly of: unknown;
  readonly children: ComponentChildren;
}

interface GuardState {
  readonly error: Error | null;
  readonly of: unknown;
}

export class Guard extends Component<GuardProps, GuardState> {
  override state: GuardState = { error: null, of: this.props.of };

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  static override getDerivedStateFromProps({ of }: GuardProps, state: GuardState) {
    return of === state.of ? null : { error: null, of };
  }

  override render() {
    const { error } = this.state;
    return error === null ? this.props.children : <p class="wrong">{`This cannot be shown: ${error.message}`}</p>;
  }
}
