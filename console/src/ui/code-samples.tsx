import { ActionIcon, Code, CopyButton, Tabs, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';

/** The same call in several languages, each to be copied. */
export function CodeSamples({ samples }: { samples: readonly { language: string; code: string }[] }) {
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
        <Tabs.Panel key={language} value={language} pt="xs" pos="relative">
          <CopyText text={code} />
          <Code block tabIndex={0}>
            {code}
          </Code>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

function CopyText({ text }: { text: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <ActionIcon
            variant="default"
            onClick={copy}
            aria-label="Copy"
            pos="absolute"
            top={18}
            right={8}
            style={{ zIndex: 1 }}
          >
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}
