// In a narrow window the list and the plan lie over the conversation, one at a time. In a wide one both are there.

import { useCallback, useEffect, useRef, useState } from "react";

/** As in page.css. */
const NARROW = "(max-width: 860px)";

/** Which panel is open, and how one is opened and closed: the focus goes into it, and back. Escape closes it. */
export function usePanel<Name extends string>(): [Name | undefined, (name: Name) => void, () => void] {
  const [panel, setPanel] = useState<Name>();
  const opener = useRef<Element | null>(null);
  const open = useCallback((name: Name) => {
    if (!matchMedia(NARROW).matches) return;
    opener.current = document.activeElement;
    setPanel(name);
  }, []);
  const close = useCallback(() => {
    setPanel(undefined);
    if (opener.current instanceof HTMLElement) opener.current.focus();
  }, []);
  useEffect(() => {
    if (!panel) return;
    document.getElementById(panel)?.focus();
    const closeOnEscape = (event: KeyboardEvent) => event.key === "Escape" && close();
    addEventListener("keydown", closeOnEscape);
    return () => removeEventListener("keydown", closeOnEscape);
  }, [panel, close]);
  return [panel, open, close];
}
