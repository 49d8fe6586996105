import { Text } from '@mantine/core';
import { Name } from './record-name.tsx';
import { visibleText } from './visible-text.ts';

/** Text in one line that ends with an ellipsis where it does not fit; all of it on hover. */
export function Truncated({ text, maw = 280, isDimmed = false }: { text: string; maw?: number; isDimmed?: boolean }) {
  return (
    <Text size="sm" truncate maw={maw} title={visibleText(text)} {...(isDimmed ? { c: 'dimmed' } : {})}>
      <Name>{text}</Name>
    </Text>
  );
}
