import type { Static } from 'typebox';
import { CONTAINER_DEFAULTS } from '../../domain/endpoints/endpoint.ts';
import type { NewTemplate } from '../../domain/templates/change-template.ts';
import type { Template } from '../../domain/templates/template.ts';
import { toContainer, toContainerResponse } from '../shared/container-wire.ts';
import type { Wire } from '../shared/wire.ts';
import {
  type CreateTemplateRequest,
  type createTemplateRequest,
  TEMPLATE_DEFAULTS,
  type TemplateResponse,
  type UpdateTemplateRequest,
} from './template-schemas.ts';

type Mounts = Static<typeof TemplateResponse>['mounts'];

/** How a revision spells templates. */
export interface TemplateWire extends Wire {
  readonly CreateRequest: ReturnType<typeof createTemplateRequest>;
  /** `startSsh` and `startJupyter` of a new template that does not mention them; null: what is made from it decides. */
  readonly startByDefault: boolean | null;
  /** Whether pods made from a template that does not mention SSH get the account's keys. */
  readonly sshByDefault: boolean;
}

export function toNewTemplate({ startByDefault }: TemplateWire, body: CreateTemplateRequest): NewTemplate {
  return {
    name: body.name,
    image: body.image,
    ...CONTAINER_DEFAULTS,
    ...toContainer(body),
    persistentMount: toPersistentMount(body.mounts ?? {}),
    isServerless: body.serverless ?? TEMPLATE_DEFAULTS.serverless,
    isPublic: body.public ?? TEMPLATE_DEFAULTS.public,
    category: body.category ?? TEMPLATE_DEFAULTS.category,
    startSsh: body.startSsh ?? startByDefault,
    startJupyter: body.startJupyter ?? startByDefault,
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

export function toTemplateResponse(
  { sshByDefault }: TemplateWire,
  template: Template,
): Static<typeof TemplateResponse> {
  const { persistentMount: mount } = template;
  return {
    id: template.id,
    name: template.name,
    ...toContainerResponse(template),
    mounts: mount === null ? {} : { persistent: { size: mount.sizeGb, path: mount.path } },
    serverless: template.isServerless,
    public: template.isPublic,
    category: template.category,
    startSsh: template.startSsh ?? sshByDefault,
    startJupyter: template.startJupyter ?? false,
    allowedCudaVersions: template.allowedCudaVersions,
  };
}
