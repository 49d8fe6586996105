import { Badge, Group } from '@mantine/core';
import { IconTemplate } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { DeleteButton } from '../../ui/confirm-delete.tsx';
import { CONTAINER_DETAILS, ContainerDetails, ContainerFields } from '../../ui/forms/container-fields.tsx';
import { FieldInput, SegmentedField } from '../../ui/forms/field-input.tsx';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { AdvancedFields } from '../../ui/forms/form-parts.tsx';
import { type Column, RecordPage } from '../../ui/tables/record-page.tsx';
import { RecordName, Truncated } from '../../ui/text/record-name.tsx';
import {
  NEW_TEMPLATE,
  newTemplateBody,
  TEMPLATE_FIELDS,
  type Template,
  type TemplateValues,
  templateSummary,
  templateUpdateBody,
  templateValues,
} from './template-values.ts';

const ADVANCED = [...CONTAINER_DETAILS, 'registry'] as const;
const COLUMNS: Column<Template>[] = [
  { title: 'Name', render: ({ name }) => <RecordName>{name}</RecordName> },
  {
    title: 'Image',
    isSecondary: true,
    render: ({ image }) => <Truncated text={image} maw="clamp(17rem, 32vw, 48rem)" />,
  },
  { title: 'Type', render: (template) => <Kind template={template} /> },
  { title: 'Actions', width: '130px', render: (template) => <Actions template={template} /> },
];
const idOf = ({ id }: Template) => id;
const textOf = ({ name, image }: Template) => `${name} ${image}`;

export function TemplatesPage() {
  const query = useQuery({ queryKey: ['templates'], queryFn: () => unwrap(api.GET('/v2/templates')) });
  return (
    <RecordPage
      title="Templates"
      action={<TemplateFormButton />}
      query={{ ...query, data: query.data?.templates }}
      empty={{
        icon: IconTemplate,
        title: 'No templates yet',
        text: "Save an image with its settings and reuse it for endpoints and pods. Editing a template doesn't change what was created from it.",
      }}
      label="templates"
      columns={COLUMNS}
      idOf={idOf}
      textOf={textOf}
    />
  );
}

function Kind({ template }: { template: Template }) {
  return (
    <Group gap={4}>
      <Badge variant="light" tt="none">
        {template.serverless ? 'Endpoint' : 'Pod'}
      </Badge>
      {template.public && (
        <Badge variant="light" color="teal" tt="none">
          Public
        </Badge>
      )}
    </Group>
  );
}

function Actions({ template }: { template: Template }) {
  const { id, name } = template;
  return (
    <Group gap={4} wrap="nowrap">
      <TemplateFormButton template={template} />
      <DeleteButton
        what="template"
        name={name}
        queryKey="templates"
        consequence="You can't delete a template while an endpoint or pod created from it exists."
        onConfirm={() => unwrap(api.DELETE('/v2/templates/{id}', { params: { path: { id } } }))}
      />
    </Group>
  );
}

/** Creates a template, or edits the one it is given. */
function TemplateFormButton({ template }: { template?: Template }) {
  const purpose = template
    ? { label: 'Edit', title: `Edit ${template.name}`, submitLabel: 'Save', isInRow: true }
    : { label: 'New template', title: 'New template' };
  return (
    <FormButton
      {...purpose}
      queryKey="templates"
      {...(template && { recordId: template.id })}
      summary={(values) => templateSummary(values, template)}
      initial={template ? templateValues(template) : NEW_TEMPLATE}
      onSubmit={(values: TemplateValues) => {
        if (!template) return unwrap(api.POST('/v2/templates', { body: newTemplateBody(values) }));
        const path = { id: template.id };
        return unwrap(api.PATCH('/v2/templates/{id}', { params: { path }, body: templateUpdateBody(values) }));
      }}
    >
      {(form) => (
        <>
          <FieldInput form={form} fields={TEMPLATE_FIELDS} name="name" autoFocus />
          {!template && <SegmentedField form={form} fields={TEMPLATE_FIELDS} name="kind" />}
          <ContainerFields form={form} fields={TEMPLATE_FIELDS} />
          <AdvancedFields fields={TEMPLATE_FIELDS} names={ADVANCED} values={form.values}>
            <ContainerDetails form={form} fields={TEMPLATE_FIELDS} />
          </AdvancedFields>
          {form.values.kind === 'pod' && (
            <>
              <FieldInput form={form} fields={TEMPLATE_FIELDS} name="startSsh" />
              <FieldInput form={form} fields={TEMPLATE_FIELDS} name="startJupyter" />
            </>
          )}
          <FieldInput form={form} fields={TEMPLATE_FIELDS} name="public" />
        </>
      )}
    </FormButton>
  );
}
