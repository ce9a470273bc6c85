// A list of which only the rows in sight are elements. It stays at its end for as long as it is scrolled there.

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChild, HTMLAttributes, TargetedEvent } from "preact";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

interface VirtualListProps {
  readonly count: number;
  readonly keyOf: (index: number) => string | number;
  readonly row: (index: number) => ComponentChild;
  /** Pixels of a row that has not been measured. */
  readonly estimate: number;
  /** Brings this row into sight when it changes. */
  readonly target?: number | null;
  /** A new value: the list begins anew, at its end. */
  readonly of: unknown;
  readonly attributes?: HTMLAttributes<HTMLDivElement>;
  readonly rowAttributes?: (index: number) => HTMLAttributes<HTMLDivElement>;
  /** Whether a list that is at its end stays there. */
  readonly follows?: boolean;
}

const NEAR = 40;

export function VirtualList({ count, keyOf, row, estimate, target = null, of, attributes, rowAttributes, follows = true }: VirtualListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [, draw] = useReducer((number: number) => number + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: keyOf,
    overscan: 6,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => draw(undefined as never),
  };
  const held = useRef<Virtualizer<HTMLDivElement, HTMLDivElement> | null>(null);
  const virtual = (held.current ??= new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  virtual.setOptions(options);

  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  useLayoutEffect(() => {
    isAtEnd.current = true;
  }, [of]);
  useLayoutEffect(() => {
    if (target !== null && target < count) {
      isAtEnd.current = false;
      virtual.scrollToIndex(target, { align: "auto" });
    } else if (follows) isAtEnd.current = true;
  }, [target]);
  const height = virtual.getTotalSize();
  useLayoutEffect(() => {
    const element = scroller.current;
    if (follows && isAtEnd.current && element) element.scrollTop = element.scrollHeight;
  }, [height, of, target]);

  const onScroll = ({ currentTarget: element }: TargetedEvent<HTMLDivElement>) => {
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
  };
  /** What the user opens stays where it is: a list that stays at its end would move it away. */
  const onClick = (event: MouseEvent) => {
    if ((event.target as Element).closest("summary, [aria-expanded], .link")) isAtEnd.current = false;
  };
  return (
    <div ref={scroller} tabIndex={0} onScroll={onScroll} onClickCapture={onClick} {...attributes} class={`virtual ${attributes?.class ?? ""}`}>
      <div class="virtual-space" style={{ height: `${height}px` }} role="presentation">
        {virtual.getVirtualItems().map((item) => (
          <div key={item.key} ref={virtual.measureElement} data-index={item.index} class="virtual-row" style={{ transform: `translateY(${item.start}px)` }} {...rowAttributes?.(item.index)}>
            {row(item.index)}
          </div>
        ))}
      </div>
    </div>
  );
}
