// A component that is drawn again only when what it is given has changed.

import { Component, type ComponentType } from "preact";

/** `isSame`: whether other properties give the same elements. */
export function memo<P extends object>(Drawn: ComponentType<P>, isSame: (before: P, now: P) => boolean): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(now: P): boolean {
      return !isSame(this.props, now);
    }
    override render() {
      return <Drawn {...(this.props as P)} />;
    }
  };
}
