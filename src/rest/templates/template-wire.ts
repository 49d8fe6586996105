import type { Static } from 'typebox';
import { CONTAINER_DEFAULTS } from '../../domain/endpoints/endpoint.ts';
import type { NewTemplate } from '../../domain/templates/create-template.ts';
import type { Template } from '../../domain/templates/template.ts';
import { toContainer, toContainerResponse } from '../shared/container-wire.ts';
import {
  type CreateTemplateRequest,
  TEMPLATE_DEFAULTS,
  type TemplateResponse,
  type UpdateTemplateRequest,
} from './template-schemas.ts';

type Mounts = Static<typeof TemplateResponse>['mounts'];

export function toNewTemplate(body: Static<typeof CreateTemplateRequest>): NewTemplate {
  return {
    name: body.name,
    image: body.image,
    ...CONTAINER_DEFAULTS,
    ...toContainer(body),
    persistentMount: toPersistentMount(body.mounts ?? {}),
    isServerless: body.serverless ?? TEMPLATE_DEFAULTS.serverless,
    isPublic: body.public ?? TEMPLATE_DEFAULTS.public,
    category: body.category ?? TEMPLATE_DEFAULTS.category,
    startSsh: body.startSsh ?? null,
    startJupyter: body.startJupyter ?? null,
    allowedCudaVersions: body.allowedCudaVersions ?? [],
  };
}

/** Maps the fields that are present. */
export function toTemplateChange(body: Static<typeof UpdateTemplateRequest>): Partial<NewTemplate> {
  const change: Partial<NewTemplate> = toContainer(body);
  if (body.name !== undefined) change.name = body.name;
  if (body.mounts !== undefined) change.persistentMount = toPersistentMount(body.mounts);
  if (body.serverless !== undefined) change.isServerless = body.serverless;
  if (body.public !== undefined) change.isPublic = body.public;
  if (body.category !== undefined) change.category = body.category;
  if (body.startSsh !== undefined) change.startSsh = body.startSsh;
  if (body.startJupyter !== undefined) change.startJupyter = body.startJupyter;
  if (body.allowedCudaVersions !== undefined) change.allowedCudaVersions = body.allowedCudaVersions;
  return change;
}

function toPersistentMount({ persistent }: Mounts): Template['persistentMount'] {
  return persistent === undefined ? null : { sizeGb: persistent.size, path: persistent.path };
}

export function toTemplateResponse(template: Template): Static<typeof TemplateResponse> {
  const { persistentMount: mount } = template;
  return {
    id: template.id,
    name: template.name,
    ...toContainerResponse(template),
    mounts: mount === null ? {} : { persistent: { size: mount.sizeGb, path: mount.path } },
    serverless: template.isServerless,
    public: template.isPublic,
    category: template.category,
    startSsh: template.startSsh ?? false,
    startJupyter: template.startJupyter ?? false,
    allowedCudaVersions: template.allowedCudaVersions,
  };
}
