import { UnstyledButton } from '@mantine/core';
import { type ReactNode, useId, useRef } from 'react';

/**
 * A button that opens a list of links and buttons; choosing one closes it. The browser does the rest: Escape, a click
 * elsewhere, and the focus. `place` is a class that says where the list is on the screen.
 */
export function PopoverMenu(props: {
  label: string;
  place: string;
  className: string;
  button: ReactNode;
  children: ReactNode;
}) {
  const { label, place, className, button, children } = props;
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  return (
    <>
      <UnstyledButton className={className} aria-label={label} popoverTarget={id}>
        {button}
      </UnstyledButton>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: what is chosen in it has its own role and keys */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key on a button is a click */}
      <div
        ref={list}
        id={id}
        popover="auto"
        className={`popover-menu ${place}`}
        onClick={() => list.current?.hidePopover()}
      >
        {children}
      </div>
    </>
  );
}
