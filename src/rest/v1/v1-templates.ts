import type { Static } from 'typebox';
import { CONTAINER_DEFAULTS } from '../../domain/endpoints/endpoint.ts';
import type { NewTemplate } from '../../domain/templates/change-template.ts';
import type { Template } from '../../domain/templates/template.ts';
import { CONTAINER } from '../shared/container-fields.ts';
import { byDefault, closed, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import {
  DEFAULT_MOUNT_PATH,
  SHOWN_CONTAINER,
  showContainer,
  toContainer,
  V1_CONTAINER,
  V1_DEFAULTS,
} from './v1-container.ts';
import { changedMembers, checkPath, givenPath, repeated } from './v1-records.ts';

const name = Type.String({ minLength: 1, description: 'Unique among your templates.' });
const isPublic = Type.Boolean({ description: 'Other users may use it.' });
const isServerless = Type.Boolean({ description: 'True: for endpoints; false: for pods.' });
const readme = Type.String({ description: 'Text in Markdown.' });
const category = stringEnum(['NVIDIA', 'AMD', 'CPU']);

/** Members of the record that a request may repeat. */
const SHOWN = ['earned', 'runtimeInMin'] as const;

export const TemplateCreateInput = closed(
  {
    ...V1_CONTAINER,
    ...repeated(['id', 'isRunpod', ...SHOWN]),
    name,
    imageName: CONTAINER.image,
    category: Type.Optional(byDefault(category, 'NVIDIA')),
    isPublic: Type.Optional(byDefault(isPublic, false)),
    isServerless: Type.Optional(byDefault(isServerless, false)),
    readme: Type.Optional(byDefault(readme, '')),
  },
  {
    $id: 'TemplateCreateInput',
    description:
      'A template for pods gets 20 GB of storage unless `volumeInGb` says otherwise; one for endpoints has none.',
  },
);

const FIXED = ['id', 'isRunpod', 'category', 'isServerless'] as const;

export const TemplateUpdateInput = closed(
  {
    ...V1_CONTAINER,
    ...repeated([...FIXED, ...SHOWN]),
    name: Type.Optional(name),
    isPublic: Type.Optional(isPublic),
    readme: Type.Optional(readme),
  },
  { $id: 'TemplateUpdateInput', description: 'Only the given fields change.' },
);

export const V1Template = Type.Object(
  {
    id: Type.String(),
    name,
    ...SHOWN_CONTAINER,
    category,
    isPublic,
    isServerless,
    readme,
    isRunpod: Type.Boolean({ description: 'One of the installation’s own.' }),
    earned: Type.Number({ description: 'Always 0.' }),
    runtimeInMin: Type.Integer({ description: 'Always 0.' }),
  },
  { $id: 'Template' },
);
export const V1Templates = Type.Array(ref(V1Template), { $id: 'Templates' });

export function toNewTemplate(body: Static<typeof TemplateCreateInput>): NewTemplate {
  const forEndpoints = body.isServerless ?? false;
  const path = givenPath(body.volumeMountPath);
  const sizeGb = body.volumeInGb === undefined && !forEndpoints ? V1_DEFAULTS.volumeInGb : (body.volumeInGb ?? 0);
  return {
    ...CONTAINER_DEFAULTS,
    diskGb: V1_DEFAULTS.containerDiskInGb,
    ports: forEndpoints ? [] : V1_DEFAULTS.ports,
    image: body.imageName,
    ...toContainer(body),
    name: body.name,
    persistentMount: sizeGb === 0 ? null : { sizeGb, path: path ?? DEFAULT_MOUNT_PATH },
    isServerless: forEndpoints,
    isPublic: body.isPublic ?? false,
    category: body.category ?? 'NVIDIA',
    clientSettings: {
      ...(body.readme === undefined ? {} : { readme: body.readme }),
      ...(path === undefined ? {} : { volumeMountPath: path }),
    },
  };
}

/** Maps what differs from the template as it is. Throws `badRequest`. */
export function toTemplateChange(given: Static<typeof TemplateUpdateInput>, before: Template): Partial<NewTemplate> {
  const body = changedMembers(given, showTemplate(before), { fixed: FIXED, shown: SHOWN });
  checkPath(body.volumeMountPath);
  const { name: newName, readme: newReadme, volumeInGb, volumeMountPath } = body;
  const kept = {
    ...(newReadme === undefined ? {} : { readme: newReadme }),
    ...(volumeMountPath === undefined ? {} : { volumeMountPath }),
  };
  const isMountGiven = volumeInGb !== undefined || volumeMountPath !== undefined;
  return {
    ...toContainer(body, before.args),
    ...(newName === undefined ? {} : { name: newName }),
    ...(body.isPublic === undefined ? {} : { isPublic: body.isPublic }),
    ...(isMountGiven ? { persistentMount: changeMount(body, before) } : {}),
    ...(Object.keys(kept).length === 0 ? {} : { clientSettings: { ...before.clientSettings, ...kept } }),
  };
}

function changeMount(
  { volumeInGb, volumeMountPath }: Static<typeof TemplateUpdateInput>,
  { persistentMount: mount, clientSettings }: Template,
): Template['persistentMount'] {
  const sizeGb = volumeInGb === undefined ? (mount?.sizeGb ?? 0) : (volumeInGb ?? 0);
  const path = volumeMountPath ?? mount?.path ?? clientSettings.volumeMountPath ?? DEFAULT_MOUNT_PATH;
  return sizeGb === 0 ? null : { sizeGb, path };
}

export function showTemplate(template: Template): Static<typeof V1Template> {
  const { persistentMount: mount, clientSettings: kept } = template;
  return {
    id: template.id,
    name: template.name,
    ...showContainer(template),
    volumeInGb: mount?.sizeGb ?? 0,
    volumeMountPath: mount?.path ?? kept.volumeMountPath ?? '',
    category: template.category,
    isPublic: template.isPublic,
    isServerless: template.isServerless,
    readme: kept.readme ?? '',
    isRunpod: template.mark === 'OFFICIAL',
    earned: 0,
    runtimeInMin: 0,
  };
}
