import { ActionIcon, Code, CopyButton, Group, Paper, Tabs, Text, Title, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { Sample } from './samples.ts';

/** The box that shows a response, announced by screen readers. */
export function ResponseBox({ children }: { children: ReactNode }) {
  return (
    <Paper withBorder p="md" aria-live="polite" mih={150}>
      {children}
    </Paper>
  );
}

/** The call of a panel as code. */
export function CallSamples({ samples }: { samples: readonly Sample[] }) {
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h5" mb="xs">
        Code
      </Title>
      <CodeSamples samples={samples} />
      <Text size="xs" c="dimmed" mt="xs">
        Set PODYARD_KEY to your API key.
      </Text>
    </Paper>
  );
}

/** A call in several languages, each with a copy button. */
function CodeSamples({ samples }: { samples: readonly { language: string; code: string }[] }) {
  return (
    <Tabs defaultValue={samples[0]!.language} keepMounted={false}>
      <Tabs.List aria-label="Language">
        {samples.map(({ language }) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {samples.map(({ language, code }) => (
        <Tabs.Panel key={language} value={language} pt="xs">
          <Group wrap="nowrap" align="flex-start" gap="xs">
            <Code block tabIndex={0} flex={1} miw={0}>
              {code}
            </Code>
            <CopyIcon text={code} />
          </Group>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

function CopyIcon({ text }: { text: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <ActionIcon variant="default" onClick={copy} aria-label="Copy">
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}
