import type { Schemas } from '../../api/client.ts';
import { type ContainerValues, containerBody, containerValues, NEW_CONTAINER } from '../../ui/container-values.ts';

export type Template = Schemas['Template'];

export type TemplateValues = ContainerValues & {
  name: string;
  kind: 'serverless' | 'pod';
};

export const NEW_TEMPLATE: TemplateValues = { name: '', ...NEW_CONTAINER, kind: 'serverless' };

export function templateValues(template: Template): TemplateValues {
  return { name: template.name, ...containerValues(template), kind: template.serverless ? 'serverless' : 'pod' };
}

export function newTemplateBody(values: TemplateValues): Schemas['CreateTemplateRequest'] {
  return { ...templateUpdateBody(values), serverless: values.kind === 'serverless' };
}

/** Returns the body of an update. The type of a template cannot change. */
export function templateUpdateBody(values: TemplateValues) {
  return { name: values.name, ...containerBody(values) };
}
