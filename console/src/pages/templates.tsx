import { Badge, Group, NumberInput, SegmentedControl, TagsInput, Text, TextInput } from '@mantine/core';
import { IconTemplate } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, type Schemas, unwrap } from '../api/client.ts';
import { NEW_CONTAINER } from '../ui/container-values.ts';
import { EnvEditor, envOf, rowsOf } from '../ui/env-editor.tsx';
import { EmptyState, Loaded, Page } from '../ui/page.tsx';
import { type Column, RecordList } from '../ui/record-list.tsx';
import { DeleteButton, FormButton } from '../ui/record-page.tsx';

type Template = Schemas['Template'];

const NEW = { name: '', ...NEW_CONTAINER, serverless: 'serverless' };
const idOf = ({ id }: Template) => id;
const textOf = ({ name, image }: Template) => `${name} ${image}`;

function TemplateFormButton({ template }: { template?: Template }) {
  const initial = template
    ? { ...NEW, ...template, env: rowsOf(template.env), serverless: template.serverless ? 'serverless' : 'pod' }
    : NEW;
  const { name, image, args, disk, ports, env, serverless } = initial;
  return (
    <FormButton
      label={template ? 'Edit' : 'New template'}
      title={template ? `Edit ${template.name}` : 'New template'}
      queryKey="templates"
      submitLabel={template ? 'Save' : 'Create'}
      {...(template ? { variant: 'default' as const, size: 'compact-sm' } : {})}
      initial={{ name, image, args, disk, ports, env, serverless }}
      onSubmit={({ env: rows, serverless: kind, ...values }) => {
        const body = { ...values, env: envOf(rows) };
        return template
          ? unwrap(api.PATCH('/v2/templates/{id}', { params: { path: { id: template.id } }, body }))
          : unwrap(api.POST('/v2/templates', { body: { ...body, serverless: kind === 'serverless' } }));
      }}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          {!template && (
            <SegmentedControl
              aria-label="Made for"
              data={[
                { value: 'serverless', label: 'Endpoints' },
                { value: 'pod', label: 'Pods' },
              ]}
              {...form.getInputProps('serverless')}
            />
          )}
          <TextInput label="Image" required {...form.getInputProps('image')} />
          <TextInput label="Arguments" {...form.getInputProps('args')} />
          <NumberInput label="Disk" suffix=" GB" min={1} {...form.getInputProps('disk')} />
          <TagsInput label="Ports" description="Like 8000/http or 22/tcp" {...form.getInputProps('ports')} />
          <EnvEditor
            value={form.values.env}
            onChange={(rows) => form.setFieldValue('env', rows as never)}
            error={(form.errors.env as string | undefined) ?? null}
          />
        </>
      )}
    </FormButton>
  );
}

export function TemplatesPage() {
  const query = useQuery({ queryKey: ['templates'], queryFn: () => unwrap(api.GET('/v2/templates')) });
  const columns = useMemo<Column<Template>[]>(
    () => [
      { title: 'Name', render: ({ name }) => <Text fw={550}>{name}</Text> },
      { title: 'Image', isSecondary: true, render: ({ image }) => <Text size="sm">{image}</Text> },
      {
        title: 'For',
        render: (template) => (
          <Group gap={4}>
            <Badge variant="light" tt="none">
              {template.serverless ? 'endpoints' : 'pods'}
            </Badge>
            {template.public && (
              <Badge variant="light" color="teal" tt="none">
                public
              </Badge>
            )}
          </Group>
        ),
      },
      {
        title: 'Actions',
        width: '130px',
        render: (template) => (
          <Group gap={4} wrap="nowrap">
            <TemplateFormButton template={template} />
            <DeleteButton
              what="template"
              name={template.name}
              queryKey="templates"
              consequence="What was made from it goes on. A template in use cannot be deleted."
              onConfirm={() => unwrap(api.DELETE('/v2/templates/{id}', { params: { path: { id: template.id } } }))}
            />
          </Group>
        ),
      },
    ],
    [],
  );
  return (
    <Page title="Templates" actions={<TemplateFormButton />}>
      <Loaded query={query}>
        {({ templates }) =>
          templates.length === 0 ? (
            <EmptyState icon={IconTemplate} title="No templates yet" action={<TemplateFormButton />}>
              A template keeps an image with its settings, so that endpoints and pods are made alike. It is copied when
              used: editing it later changes nothing that runs.
            </EmptyState>
          ) : (
            <RecordList label="templates" items={templates} columns={columns} idOf={idOf} textOf={textOf} />
          )
        }
      </Loaded>
    </Page>
  );
}
