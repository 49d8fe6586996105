import { Failure } from '../core/errors.ts';
import { isBuiltIn } from '../domain/templates/built-in-templates.ts';
import type { NewTemplate } from '../domain/templates/change-template.ts';
import type { Template, TemplateCategory, TemplateClientSettings } from '../domain/templates/template.ts';
import { type EnvironmentVariable, toEnv, toEnvironmentVariables, toId, toPorts } from './container-wire.ts';
import { readNumber, readOneOf, readText } from './inputs.ts';

/** Any field may be null. A field with a default in the schema is null only if the document says so. */
export interface TemplateInput {
  id?: string | null;
  name: string;
  imageName: string;
  containerDiskInGb?: number | null;
  volumeInGb?: number | null;
  volumeMountPath?: string | null;
  dockerArgs?: string | null;
  env?: (EnvironmentVariable | null)[] | null;
  ports?: string | null;
  portsConfig?: { port?: unknown; name?: string | null }[] | null;
  readme?: string | null;
  isServerless?: boolean | null;
  isPublic?: boolean | null;
  containerRegistryAuthId?: string | null;
  category?: string | null;
  config?: unknown;
  startSsh?: boolean | null;
  startJupyter?: boolean | null;
  startScript?: string | null;
  advancedStart?: boolean | null;
}

const DEFAULT_DISK_GB = 20;
/** Where the public API mounts a volume without a path. */
export const DEFAULT_MOUNT_PATH = '/workspace';
const CATEGORIES: Record<string, TemplateCategory> = { NVIDIA: 'NVIDIA', AMD: 'AMD', CPU: 'CPU' };
const KEPT = [
  'readme',
  'startScript',
  'advancedStart',
  'config',
  'portsConfig',
  'volumeMountPath',
] as const satisfies (keyof TemplateClientSettings)[];

/** Maps a whole template: omitted fields get their defaults, also in an update. Throws `badRequest`. */
export function toNewTemplate(input: TemplateInput): NewTemplate {
  const isServerless = input.isServerless ?? false;
  return {
    name: readText(input.name, 'name'),
    image: readText(input.imageName, 'imageName'),
    args: input.dockerArgs ?? '',
    diskGb: readNumber(input.containerDiskInGb, 'containerDiskInGb', { min: 1, fallback: DEFAULT_DISK_GB }),
    ports: toPorts(input.ports),
    env: toEnv(input.env),
    registryId: toId(input.containerRegistryAuthId),
    persistentMount: toMount(input, isServerless),
    isServerless,
    isPublic: input.isPublic ?? false,
    category: readOneOf(input.category, 'category', CATEGORIES, 'NVIDIA'),
    startSsh: input.startSsh ?? null,
    startJupyter: input.startJupyter ?? null,
    clientSettings: toClientSettings(input),
  };
}

function toMount(input: TemplateInput, isServerless: boolean): Template['persistentMount'] {
  const sizeGb = readNumber(input.volumeInGb, 'volumeInGb', { min: 0, fallback: 0 });
  if (isServerless && sizeGb !== 0) {
    throw new Failure('badRequest', 'volumeInGb: must be 0 for a serverless template');
  }
  const path = input.volumeMountPath || DEFAULT_MOUNT_PATH;
  if (!path.startsWith('/')) throw new Failure('badRequest', "volumeMountPath: must begin with '/'");
  return sizeGb === 0 ? null : { sizeGb, path };
}

function toClientSettings(input: TemplateInput): TemplateClientSettings {
  const given = KEPT.filter((name) => input[name] !== undefined && input[name] !== null);
  const envNames = (input.env ?? []).flatMap((variable) => variable?.key ?? []);
  return {
    ...Object.fromEntries(given.map((name) => [name, input[name]])),
    ...(envNames.length > 1 ? { envNames } : {}),
  };
}

/** Maps to the type PodTemplate. */
export function toPodTemplate(template: Template) {
  const { clientSettings: kept, persistentMount: mount } = template;
  return {
    id: template.id,
    name: template.name,
    imageName: template.image,
    dockerArgs: template.args,
    containerDiskInGb: template.diskGb,
    volumeInGb: mount?.sizeGb ?? 0,
    volumeMountPath: mount?.path ?? kept.volumeMountPath ?? '',
    ports: template.ports.join(','),
    portsConfig: kept.portsConfig ?? [],
    env: toEnvironmentVariables(template.env, kept.envNames),
    containerRegistryAuthId: template.registryId,
    readme: kept.readme ?? '',
    isServerless: template.isServerless,
    isPublic: template.isPublic,
    isRunpod: isBuiltIn(template),
    category: template.category,
    config: kept.config ?? null,
    startSsh: template.startSsh ?? false,
    startJupyter: template.startJupyter ?? false,
    startScript: kept.startScript ?? '',
    advancedStart: kept.advancedStart ?? false,
    boundEndpointId: template.endpointId,
    createdAt: template.createdAt.toISOString(),
  };
}
