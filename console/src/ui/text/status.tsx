import type { CSSProperties } from 'react';
import { labelOf, rowOf, type StatusLook } from './labels.ts';
import { visibleText } from './visible-text.ts';

interface StatusProps<Value extends string> {
  table: Readonly<Record<Value, StatusLook>>;
  value: NoInfer<Value>;
  text?: string;
}

/** A status as text, its own label or `text`; the color of its dot only supports it. */
export function Status<Value extends string>({ table, value, text }: StatusProps<Value>) {
  const color = `var(--mantine-color-${rowOf<StatusLook>(table, value)?.color ?? 'gray'}-6)`;
  return (
    <span
      className="status"
      style={{ '--status-color': color, ...(text && { whiteSpace: 'normal' }) } as CSSProperties}
    >
      {text === undefined ? labelOf(table, value) : visibleText(text)}
    </span>
  );
}
