import { ActionIcon, Code, CopyButton, Group, Text, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';

/** A short text with a button that copies it. `isHidden`: it is copied without being shown. */
export function CopyableText({ label, text, isHidden = false }: { label: string; text: string; isHidden?: boolean }) {
  return (
    <Group gap="4px 12px">
      <Text size="sm">{label}</Text>
      <Group gap="sm" wrap="nowrap">
        <Code style={{ overflowWrap: 'anywhere' }}>{isHidden ? '••••••••' : text}</Code>
        <CopyIcon text={text} what={label} />
      </Group>
    </Group>
  );
}

/** A button that copies a text; `what` names it for screen readers. */
export function CopyIcon({ text, what }: { text: string; what: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <ActionIcon variant="subtle" color="gray" aria-label={`Copy the ${what}`} onClick={copy}>
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}
