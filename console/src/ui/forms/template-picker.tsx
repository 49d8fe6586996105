import { Group, Select, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { formatCount } from '../text/format.ts';
import { Name } from '../text/record-name.tsx';
import { visibleText } from '../text/visible-text.ts';

type Template = Schemas['Template'];

/** Fills a form with the container settings of one of the user's templates. The template itself is copied, not followed. */
export function TemplatePicker(props: { kind: 'serverless' | 'pod'; onChoose: (template: Template) => void }) {
  const { kind, onChoose } = props;
  const { data } = useQuery({ queryKey: ['templates'], queryFn: () => unwrap(api.GET('/v2/templates')) });
  const [chosen, setChosen] = useState<string | null>(null);
  const templates = useMemo(() => templatesOf(data?.templates, kind), [data, kind]);
  if (templates.length === 0) return null;
  const find = (id: string | null) => templates.find((template) => template.id === id);
  return (
    <Select
      label="Template"
      description="Fills in its image, arguments, disk, ports and variables. You can change them."
      placeholder="None"
      searchable
      clearable
      data={templates.map(({ id, name }) => ({ value: id, label: visibleText(name) }))}
      filter={({ options, search }) =>
        options.filter((option) => 'value' in option && textOf(find(option.value)!).includes(search.toLowerCase()))
      }
      renderOption={({ option }) => <Choice template={find(option.value)!} />}
      value={chosen}
      onChange={(id) => {
        setChosen(id);
        const template = find(id);
        if (template) onChoose(template);
      }}
    />
  );
}

function templatesOf(templates: readonly Template[] = [], kind: 'serverless' | 'pod'): Template[] {
  return templates.filter(({ serverless }) => serverless === (kind === 'serverless'));
}

function textOf({ name, image }: Template): string {
  return `${name} ${image}`.toLowerCase();
}

function Choice({ template: { name, image, env } }: { template: Template }) {
  const names = Object.keys(env);
  return (
    <div>
      <Group gap="xs" justify="space-between">
        <Text size="sm" className="anywhere">
          <Name>{name}</Name>
        </Text>
        {names.length > 0 && (
          <Text size="xs" c="dimmed" title={names.join(', ')}>
            {formatCount(names.length, 'variable')}
          </Text>
        )}
      </Group>
      <Text size="xs" c="dimmed" className="anywhere">
        {image}
      </Text>
    </div>
  );
}
