import type { Schemas } from '../../api/client.ts';
import { changesOf } from '../../ui/forms/changes.ts';
import {
  CONTAINER_FIELDS,
  type ContainerValues,
  containerBody,
  containerValues,
} from '../../ui/forms/container-values.ts';
import { type BodyExcept, type Fields, initialValues } from '../../ui/forms/fields.ts';

import type { SummaryText } from '../../ui/forms/summary.tsx';

export type Template = Schemas['Template'];

type Body = Schemas['CreateTemplateRequest'];
/** Arguments stand for `entrypoint` and `cmd`. The others are set by other clients only. */
type LeftOut = 'entrypoint' | 'cmd' | 'mounts' | 'category' | 'allowedCudaVersions';

export interface TemplateValues extends BodyExcept<Body, LeftOut | 'env' | 'serverless'>, ContainerValues {
  /** The kind of record that is created from it. Fixed at creation. */
  kind: 'serverless' | 'pod';
}

export const TEMPLATE_FIELDS: Fields<TemplateValues> = {
  name: { label: 'Name', initial: '', isRequired: true },
  kind: { label: 'Type', initial: 'serverless', choices: { serverless: 'Endpoint', pod: 'Pod' } },
  ...CONTAINER_FIELDS,
  ports: { ...CONTAINER_FIELDS.ports, help: 'For example 8000/http or 22/tcp' },
  startSsh: { label: 'Start SSH', initial: true },
  startJupyter: { label: 'Start Jupyter', initial: false },
  public: {
    label: 'Public',
    help: 'Every user can see and use it, with its environment but without your registry credentials.',
    initial: false,
  },
};

export const NEW_TEMPLATE = initialValues<TemplateValues>(TEMPLATE_FIELDS);

export function templateValues(template: Template): TemplateValues {
  const { name, public: isPublic, startSsh, startJupyter, serverless } = template;
  const kind = serverless ? 'serverless' : 'pod';
  return { name, ...containerValues(template), kind, public: isPublic, startSsh, startJupyter };
}

/** Says what a template is for, and what the values change of `template`, if it exists. */
export function templateSummary(values: TemplateValues, template?: Template): SummaryText {
  const kind = values.kind === 'serverless' ? 'endpoints' : 'pods';
  const facts = [
    { label: 'Starts', value: `nothing: ${kind} are created from it` },
    { label: 'Seen by', value: values.public ? 'every user, with its variables' : 'you' },
  ];
  if (!template) return { facts };
  const changes = changesOf(TEMPLATE_FIELDS, templateValues(template), values);
  return { facts, changes, effect: `Only new ${kind} get them. Those that were created from it keep their settings.` };
}

export function newTemplateBody(values: TemplateValues): Body {
  return { ...templateUpdateBody(values), serverless: values.kind === 'serverless' };
}

/** Returns the body of an update. The type of a template cannot change. Only templates of pods say what to start. */
export function templateUpdateBody({ kind, startSsh, startJupyter, ...same }: TemplateValues) {
  const start = kind === 'pod' ? { startSsh, startJupyter } : {};
  return { ...same, ...containerBody(same), ...start };
}
