import { Text } from '@mantine/core';

/** Text in one line that ends with an ellipsis where it does not fit; all of it on hover. */
export function Truncated({ text, maw = 280, isDimmed = false }: { text: string; maw?: number; isDimmed?: boolean }) {
  return (
    <Text size="sm" truncate maw={maw} title={text} {...(isDimmed ? { c: 'dimmed' } : {})}>
      {text}
    </Text>
  );
}
