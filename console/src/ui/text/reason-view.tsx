import { Alert, Code, Text } from '@mantine/core';
import { shortReason, splitReason } from './reason.ts';
import { visibleText } from './visible-text.ts';

/** Why something is as it is: the sentence, and the output of a program as it was printed. */
export function ReasonAlert({ reason, color, title }: { reason: string | null; color: string; title?: string }) {
  const { sentence, output } = splitReason(reason ?? '');
  return (
    <Alert color={color} {...(title === undefined ? {} : { title })}>
      {sentence !== '' && <Text size="sm">{visibleText(sentence)}</Text>}
      {output !== '' && (
        <Code block mt="xs" className="reason">
          {visibleText(output)}
        </Code>
      )}
    </Alert>
  );
}

/** A reason in a table, in at most two lines; all of it on hover. */
export function ReasonCell({ reason }: { reason: string | null | undefined }) {
  if (!reason) return null;
  return (
    <Text size="sm" lineClamp={2} className="reason-cell" title={visibleText(reason)}>
      {visibleText(shortReason(reason))}
    </Text>
  );
}
