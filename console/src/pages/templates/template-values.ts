import type { Schemas } from '../../api/client.ts';
import {
  type ContainerValues,
  containerBody,
  containerValues,
  NEW_CONTAINER,
} from '../../ui/forms/container-values.ts';

export type Template = Schemas['Template'];

export type TemplateValues = ContainerValues & {
  name: string;
  kind: 'serverless' | 'pod';
  isPublic: boolean;
  startSsh: boolean;
  startJupyter: boolean;
};

export const NEW_TEMPLATE: TemplateValues = {
  name: '',
  ...NEW_CONTAINER,
  kind: 'serverless',
  isPublic: false,
  startSsh: true,
  startJupyter: false,
};

export function templateValues(template: Template): TemplateValues {
  const { name, public: isPublic, startSsh, startJupyter, serverless } = template;
  const kind = serverless ? 'serverless' : 'pod';
  return { name, ...containerValues(template), kind, isPublic, startSsh, startJupyter };
}

export function newTemplateBody(values: TemplateValues): Schemas['CreateTemplateRequest'] {
  return { ...templateUpdateBody(values), serverless: values.kind === 'serverless' };
}

/** Returns the body of an update. The type of a template cannot change. */
export function templateUpdateBody(values: TemplateValues) {
  const { name, kind, isPublic, startSsh, startJupyter } = values;
  const start = kind === 'pod' ? { startSsh, startJupyter } : {};
  return { name, ...containerBody(values), public: isPublic, ...start };
}
