import { type ReactNode, useDeferredValue } from 'react';

/** Renders `children`, which take long, once the rest is painted. Until then `room` keeps their place. */
export function Later({ room = null, children }: { room?: ReactNode; children: ReactNode }) {
  return useDeferredValue(true, false) ? children : room;
}

/** The room of a field among filters. */
export function FilterRoom() {
  return <div className="mantine-InputWrapper-root filter-room" />;
}
