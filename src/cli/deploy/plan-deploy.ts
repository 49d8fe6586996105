/** Plans a deploy as a diff. Pure: from podyard.yaml and the server's records. */
import { isDeepStrictEqual } from 'node:util';
import { BUILD_HOST } from '../../domain/builds/build-image.ts';
import type { Endpoint } from '../records/kinds.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { ProjectEndpoint } from './read-project.ts';

type Schedule = Schemas['ReplaceScheduleRequest'];

/** The body of a create or an update, names replaced by ids. */
export type EndpointBody = Partial<Omit<Schemas['CreateEndpointRequest'], 'templateId'>> & Pick<ProjectEndpoint, 'cpu'>;

export interface Plan {
  action: 'create' | 'change' | 'nothing';
  /** The members that differ. */
  body: EndpointBody;
  schedule: Schedule | null;
  /** For people: one line for each field, `<field>  <old> → <new>`. */
  lines: string[];
  /** Why to ask first: what would be replaced or stopped. */
  risks: string[];
}

/** The image of a build: the one that is there already, or null where one has to be built. */
export interface PlannedImage {
  image: string | null;
  /** For people: `build it with npm`. */
  how: string;
}

const DEFAULT_CPU = [{ id: 'cpu3c', vcpuCount: 2 }];

/** Returns the body that a podyard.yaml wants. Secrets are variables that name them. */
export function toBody(wanted: ProjectEndpoint, name: string, volumes: string[] | undefined): EndpointBody {
  const { build: _, schedule: __, secrets, volumes: ___, models: ____, env, ...rest } = wanted;
  const references = Object.entries(secrets ?? {}).map(([key, secret]) => [key, `{{ RUNPOD_SECRET_${secret} }}`]);
  const hasEnv = env !== undefined || secrets !== undefined;
  return {
    ...rest,
    name,
    ...(hasEnv && { env: { ...env, ...Object.fromEntries(references) } }),
    ...(volumes && { networkVolumes: volumes }),
  };
}

export function planCreate(body: EndpointBody, schedule: Schedule | undefined, { image, how }: PlannedImage): Plan {
  const isPlaced = body.gpu !== undefined || body.cpu !== undefined;
  const whole = { ...body, ...(isPlaced ? {} : { cpu: DEFAULT_CPU }), ...(image !== null && { image }) };
  const { name: _, ...shown } = whole;
  const lines = flatten('', shown).map(([field, value]) => `+ ${field}  ${textOf(field, value)}`);
  return {
    action: 'create',
    body: whole,
    schedule: schedule ?? null,
    lines: [
      ...(image === null ? [`+ image  ${how}`] : []),
      ...lines,
      ...(schedule ? [`+ schedule  ${scheduleText(schedule)}`] : []),
    ],
    risks: [],
  };
}

/** Compares only what podyard.yaml has: other fields stay as they are. Throws for what cannot change. */
export function planChange(
  before: Endpoint,
  { type, ...body }: EndpointBody,
  { wanted: schedule, now }: { wanted: Schedule | undefined; now: Schedule | null },
  { image, how }: PlannedImage,
): Plan {
  if (type !== undefined && type !== before.type) {
    throw new Error(
      `${before.name} is ${before.type}, and podyard.yaml wants ${type}: the type of an endpoint is fixed. Choose another name, or delete the endpoint first`,
    );
  }
  const wanted: EndpointBody = { ...body, ...(image !== null && { image }) };
  const changed = Object.entries(wanted).filter(([field, value]) => !isSame(field, value, before));
  const change = Object.fromEntries(changed) as EndpointBody;
  const newSchedule = schedule !== undefined && !isDeepStrictEqual(schedule, now) ? schedule : null;
  const lines = changed.flatMap(([field, value]) => diffLines(field, currentOf(field, before), value));
  if (image === null) lines.unshift(`~ image  ${before.image} → ${how}`);
  if (newSchedule) lines.push(`~ schedule  ${now ? scheduleText(now) : '-'} → ${scheduleText(newSchedule)}`);
  return {
    action: lines.length > 0 ? 'change' : 'nothing',
    body: change,
    schedule: newSchedule,
    lines,
    risks: risksOf(before, change, image === null || change.image !== undefined),
  };
}

/** A record has one of `gpu` and `cpu`, and one CPU flavor. */
function currentOf(field: string, before: Endpoint): unknown {
  if (field === 'cpu') return before.cpu ? [{ id: before.cpu.id, vcpuCount: before.cpu.vcpuCount }] : undefined;
  return before[field as keyof Endpoint] ?? undefined;
}

/** Members of an object that are not given stay, except of `env` and `gpu`, which are replaced as a whole. */
function isSame(field: string, value: unknown, before: Endpoint): boolean {
  const current = currentOf(field, before);
  if (field === 'cpu')
    return before.cpu !== null && (value as { id: string }[]).some(({ id }) => id === before.cpu?.id);
  if (field === 'gpu') return isDeepStrictEqual({ count: 1, ...(value as object) }, current);
  const isPartial = field === 'workers' || field === 'scaling';
  return isDeepStrictEqual(isPartial ? { ...(current as object), ...(value as object) } : value, current);
}

function diffLines(field: string, before: unknown, after: unknown): string[] {
  const [old, wanted] = [new Map(flatten(field, before)), new Map(flatten(field, after))];
  const isWhole = field !== 'workers' && field !== 'scaling';
  const removed = isWhole ? [...old.keys()].filter((name) => !wanted.has(name)) : [];
  const lines = [...wanted].flatMap(([name, value]) => {
    if (!old.has(name)) return [`+ ${name}  ${textOf(name, value)}`];
    const now = old.get(name);
    if (isDeepStrictEqual(now, value)) return [];
    return [isHidden(name) ? `~ ${name}  changed` : `~ ${name}  ${textOf(name, now)} → ${textOf(name, value)}`];
  });
  return [...lines, ...removed.map((name) => `- ${name}${isHidden(name) ? '' : `  ${textOf(name, old.get(name))}`}`)];
}

function risksOf(before: Endpoint, { workers, env }: EndpointBody, isNewImage: boolean): string[] {
  const risks: string[] = [];
  if (isNewImage && !before.image.startsWith(`${BUILD_HOST}/`)) {
    risks.push(`replaces ${before.image}, which no deploy has built`);
  }
  if (workers?.max === 0) risks.push('stops all workers: workers.max is 0');
  const removed = env === undefined ? [] : Object.keys(before.env).filter((name) => !Object.hasOwn(env, name));
  if (removed.length > 0) risks.push(`removes the variables ${removed.join(', ')}`);
  return risks;
}

/** A variable may hold what others must not see. */
function isHidden(field: string): boolean {
  return field.startsWith('env.');
}

function textOf(field: string, value: unknown): string {
  if (isHidden(field)) return /^\{\{ RUNPOD_SECRET_.+ \}\}$/.test(String(value)) ? String(value) : '(a value)';
  if (Array.isArray(value))
    return value.map((one) => (typeof one === 'object' ? JSON.stringify(one) : String(one))).join(', ') || '-';
  return value === null || value === '' ? '-' : String(value);
}

function scheduleText({ timeZone, floors }: Schedule): string {
  return `${floors.map(({ days, from, until, workersMin }) => `${days.join(',')} ${from}-${until} ${workersMin}`).join('; ') || '-'} (${timeZone})`;
}

function flatten(name: string, value: unknown): [name: string, value: unknown][] {
  if (value === undefined) return [];
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [[name, value]];
  return Object.entries(value).flatMap(([key, member]) => flatten(name === '' ? key : `${name}.${key}`, member));
}
