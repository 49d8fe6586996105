import { toArgs } from './command.ts';

/**
 * The public Terraform provider's own ways of writing (docs/decisions/0101-terraform.md). A body that is refused is read
 * again with these words; what they cannot say is explained.
 */
type Body = Record<string, unknown>;

/** Where a volume is mounted if the provider names no path. */
const DEFAULT_PATH = '/workspace';

/** Returns a body of an endpoint in the interface's words. */
export function readEndpoint(body: unknown): unknown {
  if (!isObject(body)) return body;
  const { networkVolumeId, networkVolumeIds, ...rest } = readContainer(body);
  const volumes = [networkVolumeId ?? [], networkVolumeIds ?? []].flat();
  if (volumes.length > 0 && rest.networkVolumes !== undefined) return body; // one of them would be lost
  return {
    ...rest,
    ...(volumes.length > 0 && { networkVolumes: [...new Set(volumes)] }),
    ...(typeof body.flashboot === 'boolean' && { flashboot: body.flashboot ? 'FLASHBOOT' : 'OFF' }),
  };
}

/** Returns a body of a pod or a template in the interface's words. */
export function readPodOrTemplate(body: unknown): unknown {
  if (!isObject(body)) return body;
  const read = readContainer(body);
  return { ...read, ...(Array.isArray(read.mounts) && { mounts: readMounts(read.mounts) }) };
}

const RENAMED = [
  ['containerRegistryAuthId', 'registry'],
  ['containerDiskInGb', 'disk'],
] as const;

/** A member that stands beside the one it means stays, and so is refused. */
function readContainer(body: Body): Body {
  const read = { ...body };
  for (const [from, to] of RENAMED) {
    if (read[from] === undefined || read[to] !== undefined) continue;
    read[to] = read[from];
    delete read[from];
  }
  const { dockerEntrypoint: entrypoint, dockerStartCmd: cmd, ...rest } = read;
  const args = isList(entrypoint) && isList(cmd) ? toArgs({ entrypoint, cmd }) : undefined;
  return args === undefined || rest.args !== undefined ? read : { ...rest, args };
}

/** Returns the object that a list of mounts means, or the list itself if something would be lost. */
function readMounts(list: unknown[]): unknown {
  const mounts: { persistent?: object; network?: object[] } = {};
  for (const mount of list) {
    if (!isObject(mount)) return list;
    const { volumeInGb: size, networkVolumeId: volumeId, volumeMountPath: path = DEFAULT_PATH, ...rest } = mount;
    const isPlain = Object.entries(rest).every(([name, value]) => name === 'volumeEncrypted' && value === false);
    if (!isPlain || (size === undefined) === (volumeId === undefined)) return list;
    if (size === undefined) mounts.network = [...(mounts.network ?? []), { volumeId, path }];
    else if (mounts.persistent === undefined) mounts.persistent = { size, path };
    else return list;
  }
  return mounts;
}

interface Word {
  place: string;
  isIn(body: Body): boolean;
  say: string;
}

const has = (name: string) => (body: Body) => body[name] !== undefined;
const left = (name: string, say: string): Word => ({ place: `/${name}`, isIn: has(name), say });

const ENDPOINT_WORDS: readonly Word[] = [
  {
    place: '/gpu/count',
    isIn: ({ gpu }) => isObject(gpu) && gpu.count === 0,
    say: 'Terraform sends 0 for a gpu_count that is not set: write gpu_count = 1',
  },
  ...['cloudType', 'computeType', 'vcpuCount'].map((name) => left(name, 'endpoints have no such member: leave it out')),
  ...['allowedCudaVersions', 'minCudaVersion'].map((name) =>
    left(name, `revision 2026-08 has it as /gpu/${name}; in Terraform leave it out`),
  ),
];
const OTHER_WORDS: readonly Word[] = [
  left(
    'bidPerGpu',
    'there are no bids: leave it out (in Terraform bid_per_gpu); a pod has its usual price, and no other takes its GPUs',
  ),
  {
    place: '/mounts',
    isIn: ({ mounts }) => Array.isArray(mounts) && mounts.some((one) => isObject(one) && one.volumeEncrypted === true),
    say: 'storage is not encrypted: leave volumeEncrypted out (in Terraform volume_encrypted), and encrypt the disk of the machine',
  },
  ...['volumeInGb', 'volumeMountPath', 'networkVolumeIds'].map((name) =>
    left(
      name,
      'storage is in `mounts`: {"persistent": {"size": 20, "path": "/workspace"}}; with Terraform, replace the pod',
    ),
  ),
  left('readme', 'templates have no readme: leave it out'),
];

/** Explains what a refused body of an endpoint has that nothing here stands for. */
export function describeEndpoint(body: unknown): string[] {
  return describe(ENDPOINT_WORDS, body);
}

/** The same for a body of a pod or a template. */
export function describePodOrTemplate(body: unknown): string[] {
  return describe(OTHER_WORDS, body);
}

function describe(words: readonly Word[], body: unknown): string[] {
  if (!isObject(body)) return [];
  return words.filter(({ isIn }) => isIn(body)).map(({ place, say }) => `${place}: ${say}`);
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list of texts, or nothing. */
function isList(value: unknown): value is string[] | undefined {
  return value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
}
