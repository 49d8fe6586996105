import { ActionIcon, Button, Group, Input, Stack, TextInput } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';

export interface EnvRow {
  key: string;
  value: string;
}

export function rowsOf(env: Readonly<Record<string, string>>): EnvRow[] {
  return Object.entries(env).map(([key, value]) => ({ key, value }));
}

export function envOf(rows: readonly EnvRow[]): Record<string, string> {
  return Object.fromEntries(rows.filter(({ key }) => key !== '').map(({ key, value }) => [key, value]));
}

/** Environment variables, a row each. */
export function EnvEditor(props: { value: EnvRow[]; onChange: (rows: EnvRow[]) => void; error?: string | null }) {
  const { value: rows, onChange } = props;
  const change = (index: number, part: Partial<EnvRow>) =>
    onChange(rows.map((row, i) => (i === index ? { ...row, ...part } : row)));
  return (
    <Input.Wrapper
      labelElement="div"
      label="Environment variables"
      description="A value may hold {{ RUNPOD_SECRET_name }}: it is replaced when a container starts, and shown nowhere."
      error={props.error}
    >
      <Stack gap={6} mt={6}>
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row has no identity but its place
          <Group key={index} gap={6} wrap="nowrap">
            <TextInput
              aria-label={`Name of variable ${index + 1}`}
              placeholder="NAME"
              value={row.key}
              onChange={(event) => change(index, { key: event.currentTarget.value })}
              flex={1}
            />
            <TextInput
              aria-label={`Value of variable ${index + 1}`}
              placeholder="value"
              value={row.value}
              onChange={(event) => change(index, { value: event.currentTarget.value })}
              flex={2}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove variable ${row.key || index + 1}`}
              onClick={() => onChange(rows.filter((_, i) => i !== index))}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Group>
        ))}
        <Group>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => onChange([...rows, { key: '', value: '' }])}
          >
            Add a variable
          </Button>
        </Group>
      </Stack>
    </Input.Wrapper>
  );
}
